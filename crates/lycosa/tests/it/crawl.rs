//! A crawl, and everything that can be asked of it afterwards.

use std::collections::BTreeMap;

use lycosa_archive::{ReadLimits, read_segment};
use lycosa_engine::{CrawlReader, Layout};
use lycosa_simweb::{Fault, WorldConfig};
use lycosa_types::Digest;
use serde_json::Value;

use crate::binary::lycosa;
use crate::site::Site;

/// The lines of `export --format urls` by URL.
fn urls(data: &str) -> BTreeMap<String, Value> {
    let lines = lycosa(&["export", "-d", data, "-f", "urls"]).expect_code(0).json_lines();
    lines.into_iter().map(|line| (line["url"].as_str().unwrap().to_owned(), line)).collect()
}

#[test]
fn a_clean_web_is_fetched_whole_and_can_be_asked_about() {
    let site = Site::start(WorldConfig::clean(5, 8, 300));
    let data = site.data();
    let run = site.crawl(&["--delay", "0", "--json"]).expect_code(0);
    let report = run.json();
    assert_eq!(report["stopped_by"], "exhausted");
    site.expect_complete();
    assert!(!run.err.contains("--contact"), "loopback needs no contact: {}", run.err);

    let status = lycosa(&["status", &data, "--json"]).expect_code(0).json();
    assert_eq!((&status["state"], &status["waiting"]), (&"done".into(), &0.into()));
    assert_eq!(status["totals"]["pages"], report["totals"]["pages"]);
    assert_eq!(lycosa(&["report", "-d", &data, "--json"]).expect_code(0).json(), report);
    assert!(
        lycosa(&["status", "-d", &data]).expect_code(0).out.starts_with("done: nothing is left to fetch")
    );
    assert!(lycosa(&["report", &data]).expect_code(0).out.contains("fetched"));
    assert!(!site.dir.path().join("data/progress.json").exists());

    let seed = site.seed();
    let run =
        lycosa(&["why", &seed, "http://elsewhere.sim/", "nonsense", "-d", &data, "--json"]).expect_code(2);
    let answers = run.json_lines();
    assert_eq!(
        (&answers[0]["state"], &answers[0]["because"]),
        (&"done".into(), &"fetched with status 200".into())
    );
    assert_eq!(answers[1]["state"], "unknown");
    assert!(answers[2]["error"].as_str().unwrap().contains("not a url"));

    let again = site.crawl(&["--delay", "0", "--quiet"]).expect_code(0);
    assert_eq!(again.out, "");
    site.expect_complete();
}

#[test]
fn exports_agree_with_each_other_and_with_cat() {
    let mut config = WorldConfig::full(2, 30, 600);
    config.crawl_delay_s = 0;
    let site = Site::start(config);
    let data = site.data();
    let lie = site.server.world().fault_urls(Fault::EncodingLie).remove(0);
    let more = [
        &lie,
        "--delay",
        "0",
        "--quiet",
        "--set",
        "politeness.max_tries=1",
        "--set",
        "traps.max_queries_per_path=20",
    ];
    // Some hosts' robots.txt fails to the end: they wait for the next run.
    site.crawl(&more).expect_code(3);
    let urls = urls(&data);
    let fetched: Vec<&Value> = urls.values().filter(|line| line["outcome"] == "fetched").collect();
    assert!(fetched.len() > 500);
    assert!(urls.values().any(|line| line["outcome"] == "redirected" && line["redirect_to"].is_string()));
    assert!(urls.values().any(|line| line["outcome"] == "robots" && line["robots_line"].as_u64() > Some(0)));
    let is_forbidden = |line: &Value| line["outcome"].as_str().is_some_and(|word| word.starts_with("robots"));
    for line in urls.values().filter(|line| line["state"] == "done" && !is_forbidden(line)) {
        assert!(line["visited_at"].is_string() && line["tries"].as_u64() >= Some(1), "{line}");
    }

    // One line for each page, and what it says is what inspect says of what cat prints.
    let pages = lycosa(&["export", "-d", &data, "-f", "jsonl"]).expect_code(0).json_lines();
    assert_eq!(pages.len(), fetched.len());
    assert!(pages.iter().any(|page| page["links"].as_array().unwrap().len() > 20 && page["text"] != ""));
    for page in &pages {
        assert_eq!(page["digest"], urls[page["url"].as_str().unwrap()]["digest"]);
    }

    // What comes back from the archive is what was judged when it was fetched, whatever its codings.
    let reader = CrawlReader::open(Layout::new(&data)).unwrap();
    for item in reader.store.urls() {
        let (_, record) = item.unwrap();
        if let Some(digest) = record.visit.as_ref().and_then(|facts| facts.digest) {
            let body = reader.archived(&record).unwrap().decode().unwrap().payload;
            assert_eq!(Digest::of(&body), digest, "{}", record.url);
        }
    }
    drop(reader);

    // A duplicate was archived as a revisit; its body is the original's.
    let duplicate = fetched.iter().find(|line| line["duplicate_of"].is_string()).unwrap();
    let (url, first) = (duplicate["url"].as_str().unwrap(), duplicate["duplicate_of"].as_str().unwrap());
    assert_eq!(urls[first]["digest"], duplicate["digest"]);
    let body = lycosa(&["cat", url, "-d", &data]).expect_code(0).raw;
    assert_eq!(body.len() as u64, duplicate["bytes"].as_u64().unwrap());
    assert_eq!(body, lycosa(&["cat", first, "-d", &data]).expect_code(0).raw);
    let head = lycosa(&["cat", "--headers", url, "-d", &data]).expect_code(0).out;
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head:?}");
    let raw = lycosa(&["cat", "--raw", first, "-d", &data]).expect_code(0).raw;
    assert!(raw.starts_with(b"HTTP/1.1 200") && raw.len() > head.len());
    let why = lycosa(&["why", url, "-d", &data]).expect_code(0).out;
    assert!(why.contains(&format!("its content is the same as that of {first}")), "{why}");
    lycosa(&["cat", "http://elsewhere.sim/", "-d", &data]).expect_code(1);

    let package = site.dir.path().join("all.wacz");
    let path = package.to_str().unwrap();
    let told = lycosa(&["export", "-d", &data, "-f", "wacz", "-o", path, "--json"]).expect_code(0).json();
    assert_eq!(told["output"], path);
    assert!(told["pages"].as_u64() > Some(500));
    lycosa(&["export", "-d", &data, "-f", "wacz", "-o", "-"]).expect_code(2);
    let package = std::fs::read(package).unwrap();
    assert!(package.starts_with(b"PK"));
    for name in
        ["pages/pages.jsonl", "indexes/index.cdx.gz", "datapackage.json", "archive/lycosa-00001.warc.gz"]
    {
        assert!(package.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name}");
    }

    // Every answer of a server is in the WARC files, packed or not, and in the index.
    let index = lycosa(&["export", "-d", &data, "-f", "cdxj"]).expect_code(0).out;
    for name in ["all.warc.gz", "all.warc", "all.warc.zst"] {
        let file = site.dir.path().join(name);
        lycosa(&["export", "-d", &data, "-f", "warc", "-o", file.to_str().unwrap()]).expect_code(0);
        let records = read_segment(&file, ReadLimits::default()).unwrap().map(Result::unwrap);
        let answers = records.filter(|placed| matches!(placed.record.kind(), "response" | "revisit")).count();
        assert_eq!(answers, index.lines().count(), "{name}");
        assert!(answers >= fetched.len());
    }
}

#[test]
fn a_crawl_without_archive_still_knows_its_urls() {
    let site = Site::start(WorldConfig::clean(1, 1, 20));
    let data = site.data();
    site.crawl(&["--delay", "0", "--no-archive", "--quiet"]).expect_code(0);
    assert!(urls(&data).len() >= 20);
    let run = lycosa(&["cat", &site.seed(), "-d", &data]).expect_code(1);
    assert!(run.err.contains("nothing in the archive"), "{}", run.err);
    lycosa(&["export", "-d", &data, "-f", "wacz"]).expect_code(1);
    assert_eq!(lycosa(&["export", "-d", &data, "-f", "jsonl"]).expect_code(0).out, "");
}

#[test]
fn several_requests_to_an_address_that_is_asked_one_by_one_are_warned_of() {
    let site = Site::start(WorldConfig::clean(5, 1, 4));
    let held = ["--delay", "0", "--per-host", "4", "--set", "politeness.ip_delay_ms=1"];
    assert!(site.crawl(&held).expect_code(0).err.contains("--ip-delay 0"));
    let free = ["--delay", "0", "--per-host", "4"];
    assert!(!site.crawl(&free).expect_code(0).err.contains("--ip-delay"));
}

//! `lycosa index`, `search` and `eval` on a crawl.

use std::collections::{BTreeMap, BTreeSet};

use lycosa_simweb::{Lang, Lexicon, WorldConfig};
use serde_json::Value;

use crate::binary::lycosa;
use crate::site::Site;

/// Pages of one answer; the crawls of these tests are smaller.
const MANY: &str = "1000";

/// Everything in the index, by URL.
pub fn indexed(data: &str) -> BTreeSet<String> {
    let run = lycosa(&["search", "NOT qqqq", "-d", data, "-n", MANY, "--all", "--json"]).expect_code(0);
    let answer = run.json();
    let mut urls = BTreeSet::new();
    for found in answer["results"].as_array().unwrap() {
        let also = found["also_at"].as_array().unwrap().iter();
        for url in std::iter::once(&found["url"]).chain(also) {
            assert!(urls.insert(url.as_str().unwrap().to_owned()), "{url} is there twice");
        }
    }
    assert_eq!(answer["total"].as_u64(), Some(urls.len() as u64));
    urls
}

/// The pages that the crawl fetched: what is for programs, such as feeds, is fetched but not searched.
pub fn fetched(data: &str) -> BTreeSet<String> {
    let lines = lycosa(&["export", "-d", data, "-f", "urls"]).expect_code(0).json_lines();
    let is_page = |line: &&Value| !line["content_type"].as_str().unwrap_or_default().contains("xml");
    let pages = lines.iter().filter(|line| line["outcome"] == "fetched").filter(is_page);
    pages.map(|line| line["url"].as_str().unwrap().to_owned()).collect()
}

fn ask(data: &str, query: &str, more: &[&str]) -> Value {
    let mut args = vec!["search", query, "-d", data, "--json"];
    args.extend(more);
    lycosa(&args).expect_code(0).json()
}

/// Two words of a topic that pages of the world have.
fn words() -> (String, String) {
    let words = Lexicon::new(Lang::En).topic_words(0);
    (words[0].clone(), words[1].clone())
}

#[test]
fn a_crawl_is_indexed_and_searched() {
    let site = Site::start(WorldConfig::clean(8, 4, 300));
    let data = site.data();
    let none = lycosa(&["search", "x", "-d", &data]).expect_code(1);
    assert!(none.err.contains("lycosa index"), "{}", none.err);
    site.crawl(&["--delay", "0", "--quiet"]).expect_code(0);
    let made = lycosa(&["index", "-d", &data, "--json"]).expect_code(0).json();
    assert_eq!(made["indexed"], made["pages"]);
    assert_eq!(indexed(&data), fetched(&data));
    let all = lycosa(&["export", "-d", &data, "-f", "urls"]).expect_code(0).out;
    assert!(all.contains(".xml\"") && !indexed(&data).iter().any(|url| url.ends_with(".xml")), "{all}");
    // Nothing is left to do, and a rebuild makes the same.
    let again = lycosa(&["index", "-d", &data, "--json"]).expect_code(0).json();
    assert_eq!((&again["indexed"], &again["unchanged"]), (&Value::from(0), &made["pages"]));
    lycosa(&["index", "-d", &data, "--rebuild"]).expect_code(0);
    assert_eq!(indexed(&data), fetched(&data));

    let (one, two) = words();
    let answer = ask(&data, &format!("{one} {two}"), &["--explain", "-n", "5"]);
    assert!(answer["total"].as_u64() > Some(5));
    for found in answer["results"].as_array().unwrap() {
        let parts = &found["explanation"];
        let number = |name: &str| parts[name].as_f64().unwrap();
        let score = (number("words") + number("nearness")) * number("rank_factor") * number("depth_factor");
        assert!((score - found["score"].as_f64().unwrap()).abs() < 1e-3 * score, "{found}");
        assert!(parts["detail"].is_object());
        assert!(found["snippet_html"].as_str().unwrap().contains("<mark>"), "{found}");
    }
    let hosts: BTreeMap<&str, u64> = answer["facets"]["site"]
        .as_array()
        .unwrap()
        .iter()
        .map(|facet| (facet["value"].as_str().unwrap(), facet["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(hosts.values().sum::<u64>(), answer["total"].as_u64().unwrap());
    let (host, pages) = hosts.iter().next().unwrap();
    let narrowed = ask(&data, &format!("{one} {two} site:{host}"), &[]);
    assert_eq!(narrowed["total"].as_u64(), Some(*pages));

    let text = lycosa(&["search", &one, "-d", &data, "--explain", "-n", "1"]).expect_code(0).out;
    assert!(text.contains("1. ") && text.contains("score ") && text.contains("rarity"), "{text}");
    let html = lycosa(&["search", &one, "-d", &data, "--html", "-n", "2"]).expect_code(0).out;
    assert!(html.contains("<ol class=\"results\">") && html.matches("<li>").count() == 2, "{html}");
    let wrong = lycosa(&["search", "(web", "-d", &data]).expect_code(2);
    assert!(wrong.err.contains("never closed") && wrong.err.contains('^'), "{}", wrong.err);
}

#[test]
fn slips_are_noticed_and_words_completed() {
    let site = Site::start(WorldConfig::clean(9, 3, 200));
    let data = site.data();
    site.crawl(&["--delay", "0", "--quiet", "--index"]).expect_code(0);
    let (one, _) = words();
    let slip: String = one.chars().take(2).chain(one.chars().skip(3)).collect();
    assert_eq!(ask(&data, &slip, &[])["did_you_mean"], Value::from(one.clone()));
    let typed = format!("title:{}", &one[..4]);
    let lines = lycosa(&["search", &typed, "-d", &data, "--suggest"]).expect_code(0).out;
    assert!(lines.lines().any(|line| line == format!("title:{one}")), "{lines}");
    let json = lycosa(&["search", &typed, "-d", &data, "--suggest", "--json"]).expect_code(0).json();
    assert_eq!(json["suggestions"].as_array().unwrap().len(), lines.lines().count());
}

#[test]
fn an_index_made_on_the_way_is_completed_afterwards() {
    let site = Site::start(WorldConfig::clean(10, 4, 250));
    let data = site.data();
    let first = site.crawl(&["--delay", "0", "--index", "--max-pages", "60"]).expect_code(3);
    let pages = format!("indexed {} pages", fetched(&data).len());
    assert!(first.out.contains(&pages), "{pages}: {}", first.out);
    assert_eq!(indexed(&data), fetched(&data));
    // The setting is the crawl's own from now on.
    lycosa(&["crawl", "-d", &data, "--max-pages", "0", "--quiet"]).expect_code(0);
    assert_eq!(indexed(&data), fetched(&data));
    let (one, _) = words();
    let query = format!("anchor:{one}");
    let before = ask(&data, &query, &[])["total"].as_u64().unwrap();
    let done = lycosa(&["index", "-d", &data, "--json"]).expect_code(0).json();
    assert_eq!(done["pages"].as_u64(), Some(fetched(&data).len() as u64));
    let after = ask(&data, &query, &[])["total"].as_u64().unwrap();
    assert!(after >= before, "links found later count too: {after} of {before}");
    lycosa(&["index", "-d", &data, "--rebuild"]).expect_code(0);
    assert_eq!(ask(&data, &query, &[])["total"].as_u64(), Some(after), "a rebuild makes the same");
    let refused = lycosa(&["crawl", "-d", &data, "--index", "--no-archive"]).expect_code(2);
    assert!(refused.err.contains("--no-archive"), "{}", refused.err);
}

#[test]
fn copies_are_one_result() {
    let mut world = WorldConfig::clean(11, 6, 400);
    world.features.odd_pages = true;
    let site = Site::start(world);
    let data = site.data();
    site.crawl(&["--delay", "0", "--quiet", "--index", "--set", "judging.skip_mirrors=false"]).expect_code(0);
    let answer = ask(&data, "NOT qqqq", &["-n", MANY, "--all"]);
    let results = answer["results"].as_array().unwrap();
    let copies: usize = results.iter().map(|found| found["also_at"].as_array().unwrap().len()).sum();
    assert!(copies > 0, "the world has copies");
    assert_eq!(results.len() + copies, answer["total"].as_u64().unwrap() as usize);
    let copied = results.iter().find(|found| !found["also_at"].as_array().unwrap().is_empty()).unwrap();
    let (page, copy) = (copied["url"].as_str().unwrap(), copied["also_at"][0].as_str().unwrap());
    let text = lycosa(&["search", "NOT qqqq", "-d", &data, "-n", MANY, "--all"]).expect_code(0).out;
    assert!(text.contains("also at ") && text.contains(copy) && page != copy, "{text}");
}

#[test]
fn judgements_are_measured() {
    let site = Site::start(WorldConfig::clean(12, 3, 150));
    let data = site.data();
    site.crawl(&["--delay", "0", "--quiet", "--index"]).expect_code(0);
    let (one, two) = words();
    let answer = ask(&data, &format!("{one} AND {two}"), &["-n", MANY, "--all"]);
    let relevant: Vec<&str> =
        answer["results"].as_array().unwrap().iter().map(|found| found["url"].as_str().unwrap()).collect();
    assert!(!relevant.is_empty());
    let queries = site.dir.path().join("queries.txt");
    let qrels = site.dir.path().join("qrels.txt");
    std::fs::write(&queries, format!("1 {one} AND {two}\n2 \"{one} {two}\" OR ({one} {two})\n")).unwrap();
    let judged: String =
        relevant.iter().flat_map(|url| [format!("1 0 {url} 1\n"), format!("2 0 {url} 2\n")]).collect();
    std::fs::write(&qrels, judged).unwrap();
    let (queries, qrels) = (queries.to_str().unwrap(), qrels.to_str().unwrap());
    let args = ["eval", "--queries", queries, "--qrels", qrels, "-d", &data, "--operators"];
    let json = lycosa(&[&args[..], &["--json"]].concat()).expect_code(0).json();
    let first = &json["queries"][0]["figures"];
    assert_eq!((first["recall"].as_f64(), first["precision"].as_f64()), (Some(1.0), Some(1.0)));
    assert_eq!(first["average_precision"].as_f64(), Some(1.0));
    // Pages with all the words are ahead of nearly all others, though operators promise no such order.
    assert!(json["queries"][1]["figures"]["average_precision"].as_f64() > Some(0.9), "{json}");
    let table = lycosa(&args).expect_code(0).out;
    assert!(table.contains("P@10") && table.contains("mean"), "{table}");
    std::fs::write(queries, "broken").unwrap();
    assert!(lycosa(&args).expect_code(1).err.contains("line 1 of the queries"));
}

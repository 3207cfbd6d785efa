//! Links, ranks and seeds of a crawl.

use std::collections::{BTreeMap, BTreeSet};

use lycosa_simweb::{Expect, TruthOptions, WorldConfig};
use serde_json::Value;

use crate::binary::{lycosa, lycosa_reading};
use crate::site::Site;

fn crawled(config: WorldConfig) -> Site {
    let site = Site::start(config);
    site.crawl(&["--delay", "0", "--quiet"]).expect_code(0);
    site
}

/// Links between fetched pages as the synthetic web has them, without repeats.
fn true_links(site: &Site) -> BTreeMap<String, BTreeSet<String>> {
    let truth = site.server.world().truth(&TruthOptions::default());
    let urls: Vec<String> = truth.entries().iter().map(|entry| truth.url(entry)).collect();
    let mut links: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (entry, url) in truth.entries().iter().zip(&urls) {
        if entry.expect == Expect::Page {
            links.entry(url.clone()).or_default();
        }
    }
    truth.for_each_edge(|from, to| {
        links.entry(urls[from as usize].clone()).or_default().insert(urls[to as usize].clone());
    });
    links
}

fn urls(links: &Value) -> BTreeSet<String> {
    links.as_array().unwrap().iter().map(|link| link["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn links_are_those_of_the_web_in_both_directions() {
    let site = crawled(WorldConfig::clean(5, 8, 300));
    let data = site.data();
    let truth = true_links(&site);
    for page in [site.seed(), truth.keys().nth(100).unwrap().clone()] {
        let answer =
            lycosa(&["links", &page, "-d", &data, "--json", "--limit", "100000"]).expect_code(0).json();
        // The truth passes over some links of a page to itself.
        let others =
            |links: &Value| urls(links).into_iter().filter(|url| *url != page).collect::<BTreeSet<_>>();
        let without_itself = |links: &BTreeSet<String>| {
            links.iter().filter(|url| **url != page).cloned().collect::<BTreeSet<_>>()
        };
        assert_eq!(others(&answer["out"]), without_itself(&truth[&page]), "{page}");
        let linking: BTreeSet<String> =
            truth.iter().filter(|(_, to)| to.contains(&page)).map(|(from, _)| from.clone()).collect();
        assert_eq!(others(&answer["in"]), without_itself(&linking), "{page}");
        assert_eq!(answer["in_links"], urls(&answer["in"]).len());
        assert_eq!(answer["out_links"], urls(&answer["out"]).len());
        assert!(answer["visited"].as_bool().unwrap());
        for link in answer["out"].as_array().unwrap() {
            let within = |name: &str, most: u64| (1..=most).contains(&link[name].as_u64().unwrap());
            assert!(within("visibility", 3) && within("position", 3) && within("distance", 5), "{link}");
            let same_host = link["url"].as_str().unwrap().split('/').nth(2) == page.split('/').nth(2);
            assert_eq!(link["distance"] == 1, same_host, "{link}");
        }
    }
    let text = lycosa(&["links", &site.seed(), "-d", &data, "--in", "--limit", "2"]).expect_code(0).out;
    assert!(text.contains("is linked from") && text.contains("more; --limit"), "{text}");
    assert!(!text.contains("links to "), "{text}");
    let run = lycosa(&["links", "http://elsewhere.sim/", "-d", &data]).expect_code(1);
    assert!(run.err.contains("no link leads to"), "{}", run.err);
    lycosa(&["links", "http://a.test/", "--in", "--out", "-d", &data]).expect_code(2);
}

#[test]
fn ranks_favour_what_is_linked_and_are_kept() {
    let site = crawled(WorldConfig::clean(5, 8, 300));
    let data = site.data();
    let answer = lycosa(&["rank", &data, "--json", "--top", "5"]).expect_code(0).json();
    let top = answer["top"].as_array().unwrap();
    assert_eq!(top.len(), 5);
    assert!(top.windows(2).all(|pair| pair[0]["rank"].as_f64() >= pair[1]["rank"].as_f64()));
    assert!(top[0]["rank"].as_f64() > Some(2.0) && top[0]["in_links"].as_u64() > Some(20), "{top:?}");
    assert_eq!((&answer["weighted"], &answer["damping"]), (&true.into(), &0.85.into()));
    assert!(answer["rounds"].as_u64() > Some(5));
    // Asked again nothing is computed; asked otherwise it starts from what is there, and the order may differ.
    assert_eq!(lycosa(&["rank", "-d", &data, "--json", "--top", "5"]).expect_code(0).json(), answer);
    let plain = lycosa(&["rank", &data, "--json", "--plain", "--damping", "0.5"]).expect_code(0).json();
    assert_eq!((&plain["weighted"], &plain["damping"]), (&false.into(), &0.5.into()));
    assert_ne!(plain["top"][0]["rank"], answer["top"][0]["rank"]);
    let text = lycosa(&["rank", &data]).expect_code(0).out;
    assert!(text.contains(top[0]["url"].as_str().unwrap()), "{text}");
    lycosa(&["rank", &data, "--damping", "1"]).expect_code(2);
    lycosa(&["rank", &data, "--svg", "x.svg"]).expect_code(2);
    let run = lycosa(&["rank", &data, &data]).expect_code(2);
    assert!(run.err.contains("--curve"), "{}", run.err);
}

#[test]
fn curves_compare_crawls() {
    let site = crawled(WorldConfig::clean(5, 8, 300));
    let data = site.data();
    let svg = site.dir.path().join("curve.svg");
    let svg = svg.to_str().unwrap();
    let lines = lycosa(&["rank", &data, "--curve", "--svg", svg, "--json"]).expect_code(0).json();
    let [own, ceiling] = lines.as_array().unwrap().as_slice() else { panic!("{lines}") };
    assert_eq!((&own["name"], &ceiling["name"]), (&"data".into(), &"ceiling".into()));
    let masses = |line: &Value| -> Vec<f64> {
        line["gathered"].as_array().unwrap().iter().map(|at| at["mass"].as_f64().unwrap()).collect()
    };
    let (own, ceiling) = (masses(own), masses(ceiling));
    assert!(own.is_sorted() && (own[8] - 1.0).abs() < 1e-9);
    assert!(own.iter().zip(&ceiling).all(|(own, ceiling)| own <= &(ceiling + 1e-9)));
    let drawing = std::fs::read_to_string(svg).unwrap();
    assert!(drawing.matches("<polyline").count() == 2 && drawing.contains(">ceiling<"));
    let judged = lycosa(&["rank", &data, "--curve", "--of", &data, "--json"]).expect_code(0).json();
    assert_eq!(judged, lines);
    assert!(lycosa(&["rank", &data, "--curve"]).expect_code(0).out.contains("average rank"));
}

#[test]
fn seeds_are_few_and_reach_everything() {
    let site = crawled(WorldConfig::clean(5, 8, 300));
    let data = site.data();
    let run = lycosa(&["seeds", "--from", &data]).expect_code(0);
    let host = |url: &str| url.split('/').nth(2).unwrap().to_owned();
    let hosts: BTreeSet<String> = run.out.lines().map(host).collect();
    assert_eq!(hosts.len(), 8);
    assert!(run.err.contains("(100.0 %)"), "{}", run.err);
    let three = lycosa(&["seeds", "--from", &data, "-n", "3"]).expect_code(0).out;
    assert_eq!(three.lines().count(), 3);
    assert_eq!(three.lines().map(host).collect::<BTreeSet<_>>().len(), 3);
    let many = lycosa(&["seeds", "--from", &data, "--per-host", "2", "--json"]).expect_code(0).json_lines();
    assert!(many.len() >= 16 && many[0]["rank"].as_f64() > many[15]["rank"].as_f64());

    // Piped into a crawl they find what the first crawl found.
    let again = site.dir.path().join("again");
    let again = again.to_str().unwrap();
    let mut args =
        vec!["crawl", "-", "-d", again, "--scope", "any", "--delay", "0", "--ip-delay", "0", "--quiet"];
    args.push("--no-requisites");
    args.extend(site.net());
    lycosa_reading(&args, three.as_bytes()).expect_code(0);
    let known = |data: &str| -> BTreeSet<String> {
        let lines = lycosa(&["export", "-d", data, "-f", "urls"]).expect_code(0).json_lines();
        lines.iter().filter(|line| line["outcome"] == "fetched").map(|line| line["url"].to_string()).collect()
    };
    assert_eq!(known(again), known(&data));
}

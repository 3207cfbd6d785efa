//! A crawl becomes files whose links lead to each other.

use std::collections::BTreeSet;
use std::path::Path;

use crate::binary::lycosa;
use crate::site::Site;
use lycosa_simweb::WorldConfig;

fn files(dir: &Path, found: &mut BTreeSet<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path(), found),
            false => drop(found.insert(entry.path())),
        }
    }
}

#[test]
fn a_crawl_becomes_a_mirror_that_is_written_once() {
    let site = Site::start(WorldConfig::clean(7, 3, 60));
    site.crawl(&["--delay", "0", "--quiet"]).expect_code(0);
    let data = site.data();
    let out = site.dir.path().join("mirror");
    let out_arg = out.to_str().unwrap();
    let args = ["mirror", "--from", &data, "--out", out_arg, "--delete", "--json"];
    let first = lycosa(&args).expect_code(0).json();
    let mut found = BTreeSet::new();
    files(&out, &mut found);
    // The pages, the page of what is missing, and perhaps the page at the top.
    let extra = found.len() as u64 - first["files"].as_u64().unwrap();
    assert!(first["files"].as_u64().unwrap() > 10 && (1..=2).contains(&extra), "{first}");
    assert!(first["local_links"].as_u64().unwrap() > 10, "{first}");
    let again = lycosa(&args).expect_code(0).json();
    assert_eq!((&again["unchanged"], &again["removed"]), (&first["files"], &serde_json::json!(0)));
}

//! `lycosa robots`.

use lycosa_simweb::{RobotsKind, WorldConfig};

use crate::binary::{lycosa, lycosa_reading};
use crate::site::Site;

const FILE: &str = "User-agent: mybot\nDisallow: /private\nAllow: /private/open\nCrawl-delay: 2\n\nUser-agent: *\nDisallow: /\nSitemap: https://a.test/s.xml\n";

fn file() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("robots.txt");
    std::fs::write(&path, FILE).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

#[test]
fn the_line_that_decides_is_named() {
    let (_dir, path) = file();
    let urls = ["https://a.test/private/x", "/private/open", "https://a.test/", "no url"];
    let mut args = vec!["robots", &path, "--agent", "mybot"];
    args.extend(urls);
    let run = lycosa(&args).expect_code(0);
    let expected = "\
forbidden  https://a.test/private/x  (line 2: Disallow: /private)
allowed    /private/open  (line 3: Allow: /private/open)
allowed    https://a.test/  (no line forbids it)
";
    assert!(run.out.starts_with(expected), "{}", run.out);
    assert!(run.out.lines().last().unwrap().starts_with("invalid    no url  (not a url"), "{}", run.out);
    args.push("--json");
    let lines = lycosa(&args).expect_code(0).json_lines();
    assert_eq!((&lines[0]["allowed"], &lines[0]["line"]), (&false.into(), &2.into()));
    assert_eq!((&lines[2]["allowed"], &lines[2]["line"]), (&true.into(), &serde_json::Value::Null));
    assert!(lines[3]["allowed"].is_null());
}

#[test]
fn urls_come_from_standard_input_too() {
    let (_dir, path) = file();
    let run = lycosa_reading(&["robots", &path, "--json"], b"/a\nhttps://a.test/robots.txt\n").expect_code(0);
    let allowed: Vec<bool> = run.json_lines().iter().map(|line| line["allowed"].as_bool().unwrap()).collect();
    assert_eq!(allowed, [false, true], "lycosa is everyone here; robots.txt itself may always be asked for");
    let whole = lycosa(&["robots", &path, "--agent", "MyBot", "--json"]).expect_code(0).json();
    assert_eq!((&whole["rules"], &whole["crawl_delay_ms"]), (&2.into(), &2000.into()));
    assert_eq!(whole["sitemaps"][0], "https://a.test/s.xml");
    let piped =
        lycosa_reading(&["robots", "-", "--agent", "mybot", "/private"], FILE.as_bytes()).expect_code(0);
    assert!(piped.out.starts_with("forbidden"), "{}", piped.out);
}

#[test]
fn a_site_is_asked_for_its_file() {
    let site = Site::start(WorldConfig::full(1, 60, 600));
    let world = site.server.world();
    let closed = lycosa(&["robots", &format!("http://{}", site.server.addr), "/x"]).expect_code(1);
    assert!(closed.err.contains("--allow-net"), "{}", closed.err);
    let host = world.robots_hosts(RobotsKind::ServerError).next().unwrap();
    let url = format!("http://{}", world.hosts()[host.0 as usize].name);
    let mut args = vec!["robots", &url, "/x"];
    args.extend(site.net());
    let run = lycosa(&args).expect_code(0);
    assert!(run.out.starts_with("forbidden  /x  (robots.txt cannot be read"), "{}", run.out);
    args.insert(2, "http://elsewhere.sim/");
    let run = lycosa(&args).expect_code(0);
    assert!(run.out.contains("does not speak for http://elsewhere.sim"), "{}", run.out);
}

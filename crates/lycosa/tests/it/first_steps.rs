//! What a new user runs into: seeds that cannot be fetched, words that are no URLs.

use std::net::TcpListener;

use crate::binary::lycosa;
use crate::serving::{Pages, Serving, html, response};

const QUICK: [&str; 8] =
    ["--delay", "0", "--ip-delay", "0", "--set", "politeness.retry_ms=10", "--set", "politeness.max_tries=1"];

fn crawl(seed: &str, data: &str, more: &[&str]) -> crate::binary::Run {
    let mut args = vec!["crawl", seed, "-d", data];
    args.extend(QUICK);
    args.extend(more);
    lycosa(&args)
}

#[test]
fn seeds_that_all_failed_are_named_with_advice_and_the_code_is_one() {
    let mut pages = Pages::new();
    pages.insert("/robots.txt".into(), response("200 OK", b"", b"User-agent: *\nDisallow: /private\n"));
    pages.insert("/private/".into(), html(b"<p>secret"));
    pages.insert("/moved".into(), response("302 Found", b"Location: http://other.example/\r\n", b""));
    let site = Serving::start(pages);
    let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let open = ["--allow-net", "127.0.0.0/8"];
    let refused_url = format!("http://{refused}/");
    let tls_url = format!("https://{}/", site.addr);
    for (name, seed, options, words) in [
        ("private", site.url("/"), &[][..], &["private network", "--allow-net 127.0.0.0/8"][..]),
        ("missing", site.url("/no"), &open[..], &["404", "typing error"]),
        ("robots", site.url("/private/"), &open, &["robots.txt forbids it in line 2", "--ignore-robots"]),
        ("refused", refused_url, &open, &["connect-refused", "check the port"]),
        ("tls", tls_url, &open, &["no TLS port", "try http://"]),
        ("moved", site.url("/moved"), &open, &["http://other.example/", "dns-no-address", "--resolve"]),
    ] {
        let data = dir.path().join(name);
        let data = data.to_str().unwrap();
        for quiet in [&[][..], &["-q"]] {
            let run = crawl(&seed, data, &[options, quiet].concat()).expect_code(1);
            for word in words {
                assert!(run.err.contains(word), "{name}: {word}: {}", run.err);
            }
            assert!(run.err.contains(&seed), "{name}: {}", run.err);
            assert!(!run.out.contains("done: nothing is left"), "{name}: {}", run.out);
        }
        let report = lycosa(&["report", data, "--json"]).expect_code(0).json();
        assert_eq!((&report["seeds"]["seeds"], &report["seeds"]["failed"]), (&1.into(), &1.into()), "{name}");
    }
}

#[test]
fn the_same_command_with_the_missing_option_tries_failed_seeds_again() {
    let mut pages = Pages::new();
    pages.insert("/".into(), html(b"<title>home</title><a href='/a'>a</a>"));
    pages.insert("/a".into(), html(b"<title>a</title>"));
    let site = Serving::start(pages);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    crawl(&site.url("/"), data, &[]).expect_code(1);
    let run = crawl(&site.url("/"), data, &["--allow-net", "127.0.0.0/8", "--json"]).expect_code(0);
    assert_eq!(run.json()["totals"]["pages"], 2);
    // What was fetched is not asked for again.
    let run = crawl(&site.url("/"), data, &["--json"]).expect_code(0);
    assert_eq!(run.json()["run"]["pages"], 0);
    // Without naming the seed, too, while the crawl has nothing.
    let other = dir.path().join("other");
    let other = other.to_str().unwrap();
    crawl(&site.url("/"), other, &[]).expect_code(1);
    lycosa(&["crawl", "-d", other, "--allow-net", "127.0.0.0/8", "-q"]).expect_code(0);
}

#[test]
fn one_seed_of_several_that_failed_is_named_in_the_summary() {
    let mut pages = Pages::new();
    pages.insert("/".into(), html(b"<title>home</title>"));
    let site = Serving::start(pages);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let missing = site.url("/no");
    let run = crawl(&site.url("/"), data.to_str().unwrap(), &["--allow-net", "127.0.0.0/8", &missing]);
    let run = run.expect_code(0);
    assert!(run.out.contains("1 of 2 seeds led to no page") && run.out.contains(&missing), "{}", run.out);
}

#[test]
fn a_mistyped_seeds_file_is_not_taken_for_a_host() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    for word in ["nofile.txt", "notaurl", "./seeds", dir.path().to_str().unwrap()] {
        let run = lycosa(&["crawl", word, "-d", data]).expect_code(2);
        assert!(run.err.contains("file") && run.err.contains(&format!("https://{word}")), "{}", run.err);
        assert!(!std::path::Path::new(data).exists());
    }
    let site = Serving::start(Pages::new());
    crawl(&site.url("/"), data, &["--allow-net", "127.0.0.0/8"]).expect_code(1);
    for word in ["nofile.txt", "notaurl"] {
        let run = lycosa(&["submit", word, "-d", data]).expect_code(2);
        assert!(run.err.contains("if it is a host, write https://"), "{}", run.err);
    }
    assert!(!dir.path().join("data/inbox").exists());
    // In a file with seeds, the line is named.
    let list = dir.path().join("list");
    std::fs::write(&list, "# seeds\nnotaurl\n").unwrap();
    let run = lycosa(&["submit", list.to_str().unwrap(), "-d", data]).expect_code(2);
    assert!(run.err.contains("line 2"), "{}", run.err);
}

//! `lycosa canon`.

use crate::binary::{lycosa, lycosa_reading};

#[test]
fn one_line_out_for_each_line_in() {
    let input = b"HTTP://Example.ORG:80/a/../b?utm_source=x&q=1#top\n\nmailto:a@b\nhttp://\xff/\nhttps://www.b\xc3\xbccher.example/%7euser\n";
    let run = lycosa_reading(&["canon"], input).expect_code(0);
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", run.out);
    assert_eq!(lines[0], "http://example.org/b?q=1  partition 16  domain example.org");
    assert_eq!(lines[1], "mailto:a@b  error: the scheme \"mailto\" is not crawled; only http and https are");
    assert!(lines[2].contains("  error: not a url"), "{}", lines[2]);
    assert!(lines[3].starts_with("https://www.xn--bcher-kva.example/~user  "), "{}", lines[3]);
}

#[test]
fn scope_is_judged_as_a_crawl_would() {
    let urls =
        ["https://www.example.org/a", "https://example.org/private/x", "https://other.org/", "nonsense"];
    let mut args = vec![
        "canon",
        "--json",
        "--seed",
        "https://example.org/",
        "--scope",
        "domain",
        "--exclude",
        "*private*",
    ];
    args.extend(urls);
    let lines = lycosa(&args).expect_code(0).json_lines();
    assert_eq!(lines[0]["in_scope"], true);
    assert_eq!(lines[1]["reason"], "it matches --exclude *private*");
    assert_eq!((&lines[2]["in_scope"], &lines[2]["rejection"]["scope"]), (&false.into(), &"domain".into()));
    assert!(lines[3]["url"].is_null() && lines[3]["in_scope"].is_null() && lines[3]["error"].is_string());
    assert_eq!(lines[0]["partition"], lycosa(&args).json_lines()[0]["partition"], "partitions are stable");
    let plain = lycosa(&["canon", "--json", urls[0]]).expect_code(0).json_lines();
    assert!(plain[0]["in_scope"].is_null(), "nothing to judge by");
}

#[test]
fn relative_urls_need_a_base() {
    let run = lycosa(&["canon", "--base", "https://example.org/docs/x", "../about?b=1"]).expect_code(0);
    assert!(run.out.starts_with("https://example.org/about?b=1  "), "{}", run.out);
    lycosa(&["canon", "--base", "about", "x"]).expect_code(2);
}

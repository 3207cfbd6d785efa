//! `lycosa inspect`.

use lycosa_simweb::WorldConfig;

use crate::binary::{lycosa, lycosa_reading};
use crate::site::Site;

const PAGE: &str = r#"<!doctype html><html lang="en"><head><meta charset="iso-8859-1"><title>Wolf spiders</title>
<meta name="description" content="Hunters"><meta name="robots" content="noindex">
<link rel="canonical" href="/spiders"><link rel="stylesheet" href="s.css"></head>
<body><h1>Lycosa</h1><p>They <b><i><a href="hunt?utm_source=x" rel="nofollow">hunt</a></i></b> at night.</p>
<p>No webs at all, not even small ones, so say <a href="https://www.example.org/b">others</a>; write
to <a href="mailto:a@example.org">us</a>.</p><img src="l.png" alt="A spider"></body></html>"#;

#[test]
fn everything_is_in_the_json() {
    let args = ["inspect", "-", "--base", "https://example.org/animals/", "--json"];
    let page = lycosa_reading(&args, PAGE.as_bytes()).expect_code(0).json();
    assert_eq!((&page["charset"], &page["charset_source"]), (&"windows-1252".into(), &"meta".into()));
    assert_eq!((&page["title"], &page["language"]), (&"Wolf spiders".into(), &"en".into()));
    assert_eq!(page["robots"], serde_json::json!(["noindex"]));
    assert_eq!(page["canonical"], "https://example.org/spiders");
    assert_eq!(page["headings"], serde_json::json!([{ "level": 1, "text": "Lycosa" }]));
    assert_eq!(
        page["text"],
        "Lycosa\nThey hunt at night.\nNo webs at all, not even small ones, so say others; write to us."
    );
    assert_eq!((&page["tags"]["a"], &page["tags"]["p"]), (&3.into(), &2.into()));
    assert_eq!(page["truncated"], serde_json::json!([]));
    let anchors: Vec<_> =
        page["links"].as_array().unwrap().iter().filter(|link| link["kind"] == "anchor").collect();
    let expected = serde_json::json!({
        "url": "https://example.org/animals/hunt", "href": "hunt?utm_source=x", "kind": "anchor", "anchor": "hunt",
        "visibility": 3, "position": 3, "distance": 1, "rel": ["nofollow"], "download": false,
    });
    assert_eq!(anchors[0], &expected);
    assert_eq!((&anchors[1]["distance"], &anchors[1]["position"]), (&3.into(), &1.into()));
    assert!(anchors[2]["url"].is_null() && anchors[2]["href"] == "mailto:a@example.org");
    let image = page["links"].as_array().unwrap().iter().find(|link| link["kind"] == "image").unwrap();
    assert_eq!(image["anchor"], "A spider");
}

#[test]
fn text_links_and_the_short_form() {
    let text = lycosa_reading(&["inspect", "-", "--text"], PAGE.as_bytes()).expect_code(0);
    assert!(text.out.starts_with("Lycosa\nThey hunt at night.\n"), "{}", text.out);
    let links = lycosa_reading(&["inspect", "-", "--links"], PAGE.as_bytes()).expect_code(0);
    assert!(
        links.out.contains("v3 p3 d- anchor     hunt?utm_source=x \"hunt\" rel=nofollow\n"),
        "{}",
        links.out
    );
    let short = lycosa_reading(&["inspect", "-"], PAGE.as_bytes()).expect_code(0).out;
    for part in [
        "charset      windows-1252 (meta)",
        "title        Wolf spiders",
        "6 links (3 anchor, ",
        "19 words of text",
    ] {
        assert!(short.contains(part), "{part} is missing in\n{short}");
    }
    lycosa(&["inspect", "-", "--text", "--links"]).expect_code(2);
}

#[test]
fn any_bytes_are_a_page() {
    for body in [&b""[..], b"\x00\x01\x02", b"<", b"\xff\xfe<\x00", &[b'<'; 5000], b"%PDF-1.4"] {
        lycosa_reading(&["inspect", "-", "--json"], body).expect_code(0).json();
        lycosa_reading(&["inspect", "-"], body).expect_code(0);
    }
}

#[test]
fn the_content_type_decides_before_the_page() {
    let args = ["inspect", "-", "--json", "--content-type", "text/html; charset=koi8-r"];
    let page = lycosa_reading(&args, PAGE.as_bytes()).expect_code(0).json();
    assert_eq!((&page["charset"], &page["charset_source"]), (&"KOI8-R".into(), &"header".into()));
    let sitemap = b"<?xml version='1.0'?><urlset><url><loc>http://a.test/x</loc></url></urlset>";
    let listing = lycosa_reading(&["inspect", "-", "--json", "--content-type", "text/xml"], sitemap).json();
    assert_eq!(
        (&listing["kind"], &listing["links"][0]["url"]),
        (&"sitemap".into(), &"http://a.test/x".into())
    );
}

#[test]
fn a_page_is_fetched_by_its_url() {
    let site = Site::start(WorldConfig::clean(1, 2, 20));
    let seed = site.seed();
    let mut args = vec!["inspect", &seed, "--json"];
    args.extend(site.net());
    let page = lycosa(&args).expect_code(0).json();
    assert_eq!((&page["url"], &page["status"]), (&seed.as_str().into(), &200.into()));
    assert!(page["links"].as_array().unwrap().iter().any(|link| link["distance"] == 1));
}

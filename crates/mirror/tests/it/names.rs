//! Ten thousand hostile URLs: none outside the directory, no two in one place, each told by its path.

use std::collections::{HashMap, HashSet};

use lycosa_mirror::{path_of, url_of};
use lycosa_types::{CanonRules, CanonUrl};
use proptest::prelude::*;

fn canon(raw: &str) -> Option<CanonUrl> {
    let rules =
        CanonRules { tracking_parameters: vec![], session_parameters: vec![], ..CanonRules::default() };
    CanonUrl::parse(raw, &rules).ok()
}

fn path(raw: &str) -> String {
    path_of(&canon(raw).unwrap(), None)
}

#[test]
fn names_are_as_on_the_server_where_they_can_be() {
    for (url, expected) in [
        ("https://a.org/", "a.org/index.html"),
        ("http://a.org/", "a.org~http/index.html"),
        ("http://a.org:8080/x.html", "a.org~http~8080/x.html"),
        ("https://a.org:8443/x.html", "a.org~8443/x.html"),
        ("https://a.org/index.html", "a.org/index!x.html"),
        ("https://a.org/docs/", "a.org/docs/index.html"),
        ("https://a.org/docs", "a.org/docs!f"),
        ("https://a.org/docs/x.css", "a.org/docs/x.css"),
        ("https://a.org/v1.2/x.css", "a.org/v1.2!d/x.css"),
        ("https://a.org/x.html?a=1&b=/", "a.org/x.html!3fa=1&b=!2f"),
        ("https://a.org/?q", "a.org/!3fq!f"),
        ("https://a.org/README", "a.org/README!uf3!f"),
        ("https://a.org/Main.html", "a.org/Main!u1.html"),
        ("https://a.org/con.txt", "a.org/!63on.txt"),
        ("https://a.org/a//b", "a.org/a/!d/b!f"),
        ("https://a.org/x%20y", "a.org/x%20y!f"),
        ("https://a.org/...", "a.org/..!2e"),
    ] {
        assert_eq!(path(url), expected, "{url}");
    }
    let adjusted = |url: &str, extension| path_of(&canon(url).unwrap(), Some(extension));
    assert_eq!(adjusted("https://a.org/docs", "html"), "a.org/docs!e.html");
    assert_eq!(adjusted("https://a.org/x.php?a", "html"), "a.org/x.php!3fa!e.html");
    assert_eq!(adjusted("https://a.org/x.htm", "html"), "a.org/x.htm");
}

/// Small pieces that make names collide, leave the directory or offend a file system.
const PIECES: &[&str] = &[
    "a",
    "A",
    "b",
    "/",
    "/",
    "//",
    ".",
    "..",
    "%2e%2e",
    "%2F",
    "%5C",
    "\\",
    "%00",
    "%0a",
    " ",
    "%20",
    ":",
    "*",
    "\"",
    "<",
    "|",
    "?",
    "?x",
    "&",
    "=",
    "con",
    "CON",
    "nul.",
    "com1.txt",
    "lpt9",
    "!",
    "!2f",
    "!f",
    "!d",
    "!u1",
    "!x",
    "!e.html",
    "!long",
    "~",
    "index.html",
    "INDEX.HTML",
    ".html",
    "é",
    "e\u{301}",
    "\u{212a}",
    "%C3%A9",
    "%c3%a9",
    "%zz",
    "%",
    "-",
    ";v=1",
    "'",
    "$",
    "@",
    "^",
    "`",
    "{",
    "}",
    ".htaccess",
    "...",
    "x.y",
    "\u{202e}",
    "😀",
    "ß",
    "ss",
    "I",
    "ı",
];

fn hostile(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let origin = [
        "http://a.test",
        "https://a.test",
        "https://A.test:8443",
        "http://[::1]:80",
        "http://[::1]",
        "https://con",
    ][next(6)];
    let mut url = format!("{origin}/");
    for _ in 0..next(9) {
        url.push_str(PIECES[next(PIECES.len())]);
    }
    if number.is_multiple_of(97) {
        url.push_str(&PIECES[next(PIECES.len())].repeat(4000 / 4));
    }
    url
}

#[test]
fn ten_thousand_hostile_urls_stay_inside_apart_and_known() {
    let urls: HashSet<CanonUrl> = (0..30_000).filter_map(|number| canon(&hostile(number))).collect();
    assert!(urls.len() > 10_000, "{}", urls.len());
    let mut files: HashMap<String, &CanonUrl> = HashMap::new();
    let mut dirs: HashSet<String> = HashSet::new();
    for url in &urls {
        let path = path_of(url, None);
        assert!(path.is_ascii() && path.len() < 330, "{url} {path}");
        let mut dir = String::new();
        let segments: Vec<&str> = path.split('/').collect();
        for (at, segment) in segments.iter().enumerate() {
            assert!(!segment.is_empty() && *segment != "." && *segment != "..", "{url} {path}");
            assert!(segment.len() <= 255 && !segment.ends_with(['.', ' ']), "{url} {path}");
            assert!(
                segment.bytes().all(|b| b > b' ' && b != 127 && !br#"\:*?"<>|"#.contains(&b)),
                "{url} {path}"
            );
            let stem = segment.split('.').next().unwrap().to_ascii_lowercase();
            assert!(!["con", "nul", "aux", "prn", "com1", "lpt9"].contains(&stem.as_str()), "{url} {path}");
            dir.push_str(&segment.to_ascii_lowercase());
            if at + 1 < segments.len() {
                dirs.insert(dir.clone());
                dir.push('/');
            }
        }
        if let Some(other) = files.insert(path.to_ascii_lowercase(), url) {
            panic!("{other} and {url} both have {path}");
        }
        match url_of(&path) {
            Some(back) => assert_eq!(back, url.as_str(), "{path}"),
            None => assert!(path.contains("/!long/"), "{url} {path}"),
        }
    }
    let both: Vec<_> = files.keys().filter(|file| dirs.contains(*file)).collect();
    assert!(both.is_empty(), "files that are directories: {both:?}");
}

#[test]
fn an_added_extension_keeps_them_apart() {
    let urls: HashSet<CanonUrl> = (0..30_000).filter_map(|number| canon(&hostile(number))).collect();
    let mut files: HashMap<String, &CanonUrl> = HashMap::new();
    for url in &urls {
        let path = path_of(url, Some("html"));
        if let Some(other) = files.insert(path.to_ascii_lowercase(), url) {
            panic!("{other} and {url} both have {path}");
        }
        assert!(url_of(&path).is_none_or(|back| back == url.as_str()), "{path}");
    }
}

proptest! {
    #[test]
    fn any_path_leads_back(text in "\\PC{0,60}") {
        if let Some(url) = canon(&format!("https://a.test/{text}")) {
            let path = path_of(&url, None);
            if let Some(back) = url_of(&path) {
                prop_assert_eq!(back, url.as_str());
            } else {
                prop_assert!(path.contains("/!long/"));
            }
        }
    }

    #[test]
    fn paths_of_nobody_are_no_fault(path in "\\PC{0,60}") {
        let _ = url_of(&path);
    }
}

//! One form for one thing, another for another, and parts as they are.

use super::*;
use proptest::prelude::*;

fn canon(raw: &str) -> String {
    CanonUrl::parse(raw, &CanonRules::default()).map_or_else(|e| format!("error: {e}"), CanonUrl::into_string)
}

#[test]
fn one_spelling_for_one_thing() {
    for (raw, expected) in [
        ("HTTP://Example.ORG:80", "http://example.org/"),
        ("https://example.org:443/a/./b/../c#top", "https://example.org/a/c"),
        ("http://example.org./%7euser/%e4%2f", "http://example.org/~user/%E4%2F"),
        ("http://user:secret@example.org/", "http://example.org/"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://example.org/?", "http://example.org/"),
        ("http://example.org/?utm_source=x&a=1&UTM_Medium=y&a=1&a=2&&", "http://example.org/?a=1&a=2"),
        ("http://example.org/x;jsessionid=AB12?PHPSESSID=1&q=2", "http://example.org/x?q=2"),
        ("http://example.org/?sid=12", "http://example.org/?sid=12"),
        ("http://example.org/?sid=0123456789abcdef0123", "http://example.org/"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://example.org/a/..;jsessionid=1/b", "http://example.org/b"),
        ("http://example.org/100%", "http://example.org/100%"),
    ] {
        assert_eq!(canon(raw), expected, "{raw}");
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    assert!(canon("mailto:a@example.org").contains("mailto"));
    assert!(canon("example.org").contains("http://"));
    assert!(canon(&format!("http://e.org/{}", "x".repeat(9000))).contains("bytes long"));
    assert!(canon("http://./").contains("error"), "{}", canon("http://./"));
}

#[test]
fn parts() {
    let url = CanonUrl::parse("https://www.a.co.uk:8443/x/y?q=1", &CanonRules::default()).unwrap();
    assert_eq!((url.host(), url.port(), url.domain()), ("www.a.co.uk", 8443, "a.co.uk"));
    assert_eq!((url.origin(), url.authority()), ("https://www.a.co.uk:8443", "www.a.co.uk:8443"));
    assert_eq!((url.path(), url.query()), ("/x/y", Some("q=1")));
    let v6 = CanonUrl::parse("http://[::1]/", &CanonRules::default()).unwrap();
    assert_eq!((v6.host(), v6.port(), v6.domain()), ("[::1]", 80, "[::1]"));
    let v4 = CanonUrl::parse("http://127.0.0.1:81/", &CanonRules::default()).unwrap();
    assert_eq!((v4.host(), v4.port(), v4.domain()), ("127.0.0.1", 81, "127.0.0.1"));
}

/// What differs stays different: merging two pages loses one of them.
#[test]
fn parameters_of_the_path_are_kept_unless_they_name_a_session() {
    for kept in [
        "http://e.org/a;page=1",
        "http://e.org/a;page=2",
        "http://e.org/a;v;w=",
        "http://e.org/a;b=1/c;d=2",
        "http://e.org/a;sid=12",
        "http://e.org/a;sid=abcdefghijklmnopq",
        // A session's name counts behind `;` alone.
        "http://e.org/jsessionid=1/x;y",
        "http://e.org/sid=0123456789abcdef;x",
    ] {
        assert_eq!(canon(kept), kept);
    }
    assert_eq!(canon("http://e.org/a;x=1;JSESSIONID=AB;y=2/b"), "http://e.org/a;x=1;y=2/b");
    assert_eq!(canon("http://e.org/a;sid=0123456789abcdef/b"), "http://e.org/a/b");
    assert_eq!(canon("http://e.org/a;jsessionid/b"), "http://e.org/a/b");
    assert_eq!(canon("http://e.org/a;cfid=1;cftoken=2;page=3"), "http://e.org/a;page=3");
}

#[test]
fn only_listed_names_are_dropped_from_a_query() {
    for kept in [
        "http://e.org/?utm=1",
        "http://e.org/?ut=1",
        "http://e.org/?xutm_source=1",
        "http://e.org/?gclidx=1",
        "http://e.org/?xgclid=1",
        "http://e.org/?utm%C3%A4=1",
        "http://e.org/?sidx=0123456789abcdef",
        // `sid` with 15 characters, without a digit, with another character.
        "http://e.org/?sid=0123456789abcde",
        "http://e.org/?sid=abcdefghijklmnopqrst",
        "http://e.org/?sid=0123456789abcde-f",
        "http://e.org/?sid",
        "http://e.org/?=",
        "http://e.org/?a",
        "http://e.org/?a=1&b=1&A=1",
    ] {
        assert_eq!(canon(kept), kept);
    }
    for dropped in ["utm_=1", "GCLID", "jsessionid=1", "AspSessionIdQWERTY=1", "sid=0123456789abcdef", "&&"] {
        assert_eq!(canon(&format!("http://e.org/?{dropped}")), "http://e.org/");
        assert_eq!(canon(&format!("http://e.org/?x=1&{dropped}&y=2")), "http://e.org/?x=1&y=2");
    }
    assert_eq!(canon("http://e.org/?a=1&a=1&a=12&b=1&a=1"), "http://e.org/?a=1&a=12&b=1");
}

#[test]
fn rules_that_are_switched_are_followed() {
    let raw = "http://e.org/?b=2&a=2&utm_x=1&a=1&b=2";
    let with = |drop_repeated, sort_query| {
        let rules = CanonRules { drop_repeated, sort_query, ..CanonRules::default() };
        CanonUrl::parse(raw, &rules).unwrap().into_string()
    };
    assert_eq!(with(true, false), "http://e.org/?b=2&a=2&a=1");
    assert_eq!(with(false, false), "http://e.org/?b=2&a=2&a=1&b=2");
    // By name alone: values keep their order.
    assert_eq!(with(true, true), "http://e.org/?a=2&a=1&b=2");
    assert_eq!(with(false, true), "http://e.org/?a=2&a=1&b=2&b=2");
    let bare = CanonRules {
        tracking_parameters: Vec::new(),
        session_parameters: Vec::new(),
        ..CanonRules::default()
    };
    let kept = "http://e.org/a;jsessionid=1?utm_x=1&sid=0123456789abcdef";
    assert_eq!(CanonUrl::parse(kept, &bare).unwrap().as_str(), kept);
}

#[test]
fn escapes_are_decoded_where_that_changes_nothing() {
    for (path, expected) in [
        ("%41%7a%30%2D%2e%5f%7E", "Az0-._~"),
        ("%2f%3b%3d%26%25%2b", "%2F%3B%3D%26%25%2B"),
        ("%af%Fa", "%AF%FA"),
        ("%", "%"),
        ("%4", "%4"),
        ("%zz%+1%4g", "%zz%+1%4g"),
        ("%%41x%", "%Ax%"),
        ("x%c3%a4y", "x%C3%A4y"),
    ] {
        assert_eq!(canon(&format!("http://e.org/{path}")), format!("http://e.org/{expected}"));
        assert_eq!(canon(&format!("http://e.org/?{path}")), format!("http://e.org/?{expected}"));
    }
}

/// `A`, escaped so many times over.
fn escaped(times: usize) -> String {
    let escape = |c: char| if c == '%' { "%".to_owned() } else { format!("%{:02X}", u32::from(c)) };
    (0..times).fold("A".to_owned(), |text, _| text.chars().map(escape).collect())
}

#[test]
fn escapes_within_escapes_are_followed_for_four_rounds() {
    for times in 0..=4 {
        assert_eq!(canon(&format!("http://e.org/{}", escaped(times))), "http://e.org/A", "{times}");
    }
    let refused = CanonUrl::parse(&format!("http://e.org/{}", escaped(5)), &CanonRules::default());
    assert_eq!(refused, Err(UrlError::Unstable));
}

#[test]
fn a_url_may_be_as_long_as_the_limit_before_and_after() {
    let parse = |raw: &str| CanonUrl::parse(raw, &CanonRules::default());
    let of = |bytes: usize| format!("http://e.org/{}", "x".repeat(bytes - "http://e.org/".len()));
    assert_eq!(parse(&of(8192)).unwrap().as_str().len(), 8192);
    assert_eq!(parse(&of(8193)), Err(UrlError::TooLong(8193)));
    // Short as it was written, long as it is spelt: each letter becomes six bytes.
    let letters = |count: usize| format!("http://e.org/xxxxx{}", "\u{e4}".repeat(count));
    assert_eq!(parse(&letters(1362)).unwrap().as_str().len(), 18 + 6 * 1362);
    assert_eq!(parse(&format!("{}xx", letters(1362))).unwrap().as_str().len(), 8192);
    assert_eq!(parse(&format!("{}xxx", letters(1362))), Err(UrlError::TooLong(8193)));
}

#[test]
fn each_refusal_is_the_one_it_should_be() {
    let refused = |raw: &str| CanonUrl::parse(raw, &CanonRules::default()).unwrap_err();
    for (raw, reason) in [
        ("http://", UrlError::NoHost),
        ("http://./", UrlError::NoHost),
        // Not the host `x`, which a second reading would take it for.
        ("http://./x", UrlError::NoHost),
        ("ftp://e.org/", UrlError::Scheme("ftp".to_owned())),
        ("data:x", UrlError::Scheme("data".to_owned())),
        ("http://e.org:99999/", UrlError::Syntax("invalid port")),
        ("http://xn--a/", UrlError::Syntax("invalid international host name")),
        ("http://[::1/", UrlError::Syntax("invalid host or address")),
        ("/x", UrlError::Syntax("relative, and there is no base; write it with http:// or https://")),
    ] {
        assert_eq!(refused(raw), reason, "{raw}");
    }
}

#[test]
fn parts_of_plain_secure_and_numbered_hosts() {
    let of = |raw: &str| CanonUrl::parse(raw, &CanonRules::default()).unwrap();
    for (raw, is_https, authority, host, port, domain) in [
        ("http://www.e.org/", false, "www.e.org", "www.e.org", 80, "e.org"),
        ("https://www.e.org/", true, "www.e.org", "www.e.org", 443, "e.org"),
        ("http://e.org:443/", false, "e.org:443", "e.org", 443, "e.org"),
        ("https://e.org:80/", true, "e.org:80", "e.org", 80, "e.org"),
        ("http://localhost/", false, "localhost", "localhost", 80, "localhost"),
        ("http://[::1]:8080/", false, "[::1]:8080", "[::1]", 8080, "[::1]"),
        ("https://[2001:db8::1]/", true, "[2001:db8::1]", "[2001:db8::1]", 443, "[2001:db8::1]"),
        ("https://10.0.0.1:81/", true, "10.0.0.1:81", "10.0.0.1", 81, "10.0.0.1"),
    ] {
        let url = of(raw);
        assert_eq!((url.is_https(), url.authority(), url.host()), (is_https, authority, host), "{raw}");
        assert_eq!((url.port(), url.domain(), url.path_and_query()), (port, domain, "/"), "{raw}");
        assert_eq!(url.query(), None);
        assert_eq!(format!("{}/", url.origin()), raw);
        assert_eq!(url.host_key(), HostKey::of(raw.trim_end_matches('/')));
        assert_eq!(
            (url.key(), url.to_string(), format!("{url:?}")),
            (UrlKey::of(raw), raw.to_owned(), format!("{raw:?}"))
        );
    }
    let url = of("http://e.org/a?b?c");
    assert_eq!((url.path(), url.query(), url.path_and_query()), ("/a", Some("b?c"), "/a?b?c"));
}

proptest! {
    #[test]
    fn canonical_twice_is_canonical_once(
        raw in "(http|https|HTTP)://[a-zA-Z0-9.-]{1,12}(:[0-9]{1,5})?[/a-zA-Z0-9%.;=~?&# äß-]{0,60}"
    ) {
        let rules = CanonRules::default();
        if let Ok(once) = CanonUrl::parse(&raw, &rules) {
            let twice = CanonUrl::parse(once.as_str(), &rules);
            prop_assert_eq!(twice.as_ref(), Ok(&once));
        }
    }

    #[test]
    fn any_string_is_a_canonical_url_or_a_refusal_that_says_why(raw in "(https?:/?/?)?.{0,80}") {
        match CanonUrl::parse(&raw, &CanonRules::default()) {
            Ok(url) => {
                prop_assert!(url.as_str().starts_with("http://") || url.as_str().starts_with("https://"), "{}", url);
                prop_assert!(url.as_str().bytes().all(|b| b.is_ascii_graphic() && b != b'#'), "{}", url);
                prop_assert!(!url.host().is_empty() && url.path().starts_with('/'), "{}", url);
                prop_assert_eq!(format!("{}{}", url.origin(), url.path_and_query()), url.as_str());
            }
            Err(error) => prop_assert!(error.to_string().len() > 10),
        }
    }
}

//! What a reader sees after a replacement is what was asked for, whatever characters it has.

use lycosa_rewrite::{Language, Verdict, list, rewrite};

const HOSTILE: &[&str] = &[
    "a\"b'c",
    "a&b",
    "a&amp;b",
    "</style>",
    "-->",
    "]]>",
    "a b",
    "a\\b",
    "(a)",
    "\u{e9}\u{1f600}",
    "a,b",
    "a)b",
    "<x>",
    "a;b",
    "&quot;",
];

#[test]
fn replacements_are_read_as_they_were_meant() {
    for (language, input) in [
        (Language::Html, "<a href=\"x\">"),
        (Language::Html, "<a href='x'>"),
        (Language::Html, "<a href=x>"),
        (Language::Html, "<a href>"),
        (Language::Html, "<style>a{b:url(x)}</style>"),
        (Language::Html, "<style>a{b:url('x')}</style>"),
        (Language::Html, "<p style='a:url(x)'>"),
        (Language::Html, "<p style=\"a:url('x')\">"),
        (Language::Html, "<p style=a:url(x)>"),
        (Language::Html, "<svg><style>a{b:url(x)}</style></svg>"),
        (Language::Html, "<iframe srcdoc='<p style=a:url(x)>'></iframe>"),
        (Language::Xml, "<loc>x</loc>"),
        (Language::Xml, "<a href='x'/>"),
        (Language::Css, "@import 'x'"),
        (Language::Css, "a{b:url(\"x\")}"),
        (Language::Manifest, "{\"src\":\"x\"}"),
    ] {
        for wanted in HOSTILE {
            let mut out = Vec::new();
            rewrite(language, input.as_bytes(), &mut out, &mut |_| Verdict::Replace((*wanted).to_owned()));
            let mut found = Vec::new();
            list(language, &out, &mut |reference| {
                found.push(String::from_utf8_lossy(reference.value).into_owned());
            });
            assert_eq!(found, [*wanted], "{input} -> {}", String::from_utf8_lossy(&out));
        }
    }
}

/// Where a language has no escapes, replacements are percent-encoded: one reference stays one.
#[test]
fn lists_and_refreshes_stay_whole() {
    for input in ["<img srcset='x 1x, x 2x'>", "<a ping='x x'>", "<img srcset='x'><img srcset=x>"] {
        for wanted in HOSTILE {
            let mut out = Vec::new();
            rewrite(Language::Html, input.as_bytes(), &mut out, &mut |_| {
                Verdict::Replace((*wanted).to_owned())
            });
            let counts = list(Language::Html, &out, &mut |_| ());
            assert_eq!(counts.references, 2, "{input} -> {}", String::from_utf8_lossy(&out));
        }
    }
    let input = b"<img srcset='a 1x, b 2x'>";
    let mut out = Vec::new();
    let counts = rewrite(Language::Html, input, &mut out, &mut |_| Verdict::Replace(String::new()));
    assert_eq!((out.as_slice(), counts.unfit, counts.replaced), (input.as_slice(), 2, 0));
}

//! Laws: nothing replaced, nothing changed; twice is once; linear work on hostile input.

use lycosa_rewrite::{Language, Verdict, list, rewrite};
use proptest::prelude::*;

use crate::rewritten;

const LANGUAGES: [Language; 4] = [Language::Html, Language::Xml, Language::Css, Language::Manifest];

const PIECES: &[&str] = &[
    "<a href=",
    "\"x\"",
    "'y'",
    "z",
    ">",
    "</a>",
    "<style>",
    "</style>",
    "url(",
    ")",
    "@import ",
    "'q'",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<svg>",
    "</svg>",
    "<script>",
    "</script>",
    " style=",
    "\"a:url(b)\"",
    "<iframe srcdoc=",
    "&quot;",
    "&amp;",
    "&#39;",
    "\\",
    "\\41 ",
    "{",
    "}",
    ";",
    "<base href=",
    " srcset=",
    "\"a 1x, b 2x\"",
    "<img",
    " ",
    "\n",
    "=",
    "/",
    "/>",
    "<loc>",
    "</loc>",
    "\"src\":",
    "\"i\"",
    "\u{e9}",
    "<meta http-equiv=refresh content=",
    "'1;url=x'",
    "<description>",
    "&lt;a href=k&gt;",
    "(",
    "'",
    "\"",
    "integrity=i ",
    "image-set(",
    "<?xml-stylesheet href='s'?>",
    "<p ",
    "@font-face",
    "/*",
    "*/",
    "<title>",
    "<foreignObject>",
];

fn document() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..40);
    prop_oneof![
        4 => pieces.prop_map(|pieces| pieces.concat().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_replaced_nothing_changed(input in document()) {
        for language in LANGUAGES {
            let mut out = Vec::new();
            rewrite(language, &input, &mut out, &mut |_| Verdict::Keep);
            prop_assert_eq!(&out, &input);
        }
    }

    #[test]
    fn twice_is_once(input in document()) {
        for language in LANGUAGES {
            let once = rewritten(language, &input);
            let twice = rewritten(language, &once);
            prop_assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once), "{:?}", language);
        }
    }
}

/// Shapes that make careless readers look at bytes again and again.
#[test]
fn work_is_linear_on_hostile_input() {
    const SHAPES: &[&str] = &[
        "<",
        "<!--",
        "<!",
        "<?",
        "</",
        "<a ",
        "<a href=",
        "<a href='",
        "<script>",
        "<style>",
        "<script><!--<script>",
        "<![CDATA[",
        "<svg>",
        "<svg><![CDATA[",
        "url(",
        "url('",
        "@import '",
        "\\",
        "/*",
        "(",
        "image-set(",
        "'",
        "\"",
        "&",
        "&#x",
        "&#1",
        "&amp",
        "<iframe srcdoc='",
        "<iframe srcdoc=&lt;iframe&#32;srcdoc=",
        "<img srcset='a,",
        "<img srcset=',,,",
        "<title>",
        "<loc>",
        "<description>&lt;",
        "--",
        "<!-->",
        "<a a",
        "<a href=x href=x ",
        "\"src\":\"",
        "\"src\" ",
        "{\"",
        "<base href=b>",
        "-",
        "</script",
        "<textarea></",
        "<p style='",
        "<meta http-equiv=refresh content='1;",
        "<link rel='a a a ",
        "\\000041",
        "<svg><p>",
        " x=y",
        "<?xml-stylesheet ",
        "<!DOCTYPE [",
        "a=",
        "url( ",
        "url(\\",
    ];
    for language in LANGUAGES {
        for shape in SHAPES {
            for start in ["", "<a ", "<style>", "<svg><style>", "<iframe srcdoc=\"", "<link "] {
                let input = format!("{start}{}", shape.repeat(60_000 / shape.len()));
                let counts = list(language, input.as_bytes(), &mut |_| ());
                let most = 12 * input.len() as u64 + 1000;
                assert!(
                    counts.work <= most,
                    "{language:?} {start}{shape}…: {} for {}",
                    counts.work,
                    input.len()
                );
            }
        }
    }
}

#[test]
fn documents_in_documents_end_somewhere_and_are_counted() {
    let mut input = "<a href=x>".to_owned();
    for _ in 0..6 {
        input =
            format!("<iframe srcdoc=\"{}\"></iframe>", input.replace('&', "&amp;").replace('"', "&quot;"));
    }
    let counts = list(Language::Html, input.as_bytes(), &mut |_| ());
    assert_eq!((counts.references, counts.too_deep), (0, 1));
}

#[test]
fn other_encodings_stay() {
    let input = b"\xff\xfe<\0a\0 \0h\0r\0e\0f\0=\0x\0>\0";
    let mut out = Vec::new();
    let counts = rewrite(Language::Html, input, &mut out, &mut |_| Verdict::Remove);
    assert_eq!((out.as_slice(), counts.unreadable), (input.as_slice(), true));
    // Bytes that are no UTF-8 stay around a replacement.
    assert_eq!(
        rewritten(Language::Html, b"\xe9<a title=\xe9 href=x>\xe8"),
        b"\xe9<a title=\xe9 href=\"R/x\">\xe8"
    );
}

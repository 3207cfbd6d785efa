//! Random sequences of HTML fragments: our view equals the oracle's.

use crate::oracle::{actual, expected, has_foreign};
use proptest::prelude::*;

const FRAGMENTS: &[&str] = &[
    "<a href=x>",
    "<a href='y&amp;z'>",
    "<A HREF=\"q?a=1&copy=2\">",
    "</a>",
    "<a href=",
    "<a\nhref\n=\n'v w'>",
    "<area href=m>",
    "<p>",
    "</p>",
    "<div class=\"c\">",
    "</div>",
    "<b>",
    "</b>",
    "<i/>",
    "<br/>",
    "<br>",
    "</br>",
    "<h1>",
    "</h1>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<pre>",
    "</pre>",
    "<x-y>",
    "</x-y>",
    "<X\0Y>",
    "<é>",
    "<aé>",
    "<img src=i alt='>'>",
    "<script>",
    "</script>",
    "</script ",
    "<!--<script>",
    "<!--",
    "-->",
    "--!>",
    "--",
    "->",
    ">",
    "<",
    "</",
    "<!",
    "<?",
    "<!>",
    "<!->",
    "<!doctype html>",
    "<!DOCTYPE",
    "<![CDATA[",
    "]]>",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "</titlex>",
    "<textarea>",
    "</textarea>",
    "<xmp>",
    "</xmp>",
    "<iframe>",
    "</iframe>",
    "<noembed>",
    "</noembed>",
    "<noframes>",
    "</noframes>",
    "<plaintext>",
    "<noscript>",
    "</noscript>",
    "<template>",
    "</template>",
    "<body>",
    "</body>",
    "<head>",
    "</head>",
    "<html lang=en>",
    "</html>",
    "<meta charset=utf-8>",
    "<base href=/b>",
    "<link rel=canonical href=/c>",
    "\"",
    "'",
    "=",
    "/",
    " ",
    "\n",
    "\t",
    "\r\n",
    "\0",
    "&",
    "&amp",
    "&amp;",
    "&lt",
    "&#",
    "&#x",
    "&#65",
    "&#x80;",
    "&#0;",
    "&notit;",
    "&notin",
    "&NotEqualTilde;",
    "&;",
    ";",
    "#",
    "x",
    "word",
    "é",
    "日本",
    "-",
    "!",
    "script",
    "a=b",
    "&eacute",
    "&hearts;",
    "\u{feff}",
    "\u{1f600}",
];

const FOREIGN: &[&str] = &[
    "<svg>",
    "</svg>",
    "<svg/>",
    "<math>",
    "</math>",
    "<foreignObject>",
    "</foreignObject>",
    "<desc>",
    "</desc>",
    "<path/>",
    "<g>",
    "</g>",
    "<title>",
    "</title>",
    "<style>",
    "</style>",
    "<script>",
    "</script>",
    "<p>",
    "<mi>",
    "</mi>",
    "<![CDATA[",
    "]]>",
    "<a href=s>",
    "x",
    "<rect>",
    "<div>",
    "<span>",
    "</p>",
    "</br>",
];

fn page(fragments: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(fragments), 1..30).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(4_000)))]

    #[test]
    fn html_is_seen_as_a_browser_sees_it(html in page(FRAGMENTS)) {
        prop_assert!(!has_foreign(&html));
        prop_assert_eq!(actual(&html), expected(&html));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2_000)))]

    /// A well-formed drawing between random HTML leaves no trace in how the rest is read.
    #[test]
    fn drawings_do_not_disturb(
        before in page(&["<p>", "x", "<b>", "<div>", "</div>", " ", "<a href=1>"]),
        inside in prop::collection::vec(prop::sample::select(&[
            "<title>t</title>", "<style>a<b></b></style>", "<script><g></g></script>", "<![CDATA[<p>]]>", "<path d='M0'/>",
            "<desc><p>y</p></desc>", "<foreignObject><title>z<i></title></foreignObject>", "<a href=s>t</a>", "<rect></rect>",
        ][..]), 0..8),
        after in page(FRAGMENTS),
    ) {
        let html = format!("{before}<svg>{}</svg>{after}", inside.concat());
        let (ours, theirs) = (actual(&html), expected(&html));
        prop_assert_eq!(ours.tags, theirs.tags);
        prop_assert_eq!(ours.hrefs, theirs.hrefs);
    }

    /// Broken drawings are read somehow: without a tree we cannot always tell where they end (see `oracle`).
    #[test]
    fn broken_drawings_are_read(html in page(FOREIGN)) {
        prop_assert!(actual(&html).tags.len() <= html.matches('<').count());
    }
}

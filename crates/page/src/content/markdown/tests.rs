//! Markdown is read back by a CommonMark parser: what comes out is what went in, whatever that was.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::inline::destination;
use crate::tree::Tree;
use crate::{ContentReader, Extract, Limits, Scanner};

fn markdown(body: &str) -> String {
    let filler =
        "<p>Wolf spiders hunt alone, at night, and carry their eggs with them, wherever they go.</p>";
    let html = format!("<nav><a href=/>Home</a></nav><article>{filler}{body}{filler}</article>");
    let mut page = Extract::new();
    Scanner::new(Limits::default()).scan(&html, &mut page);
    let all = ContentReader::default().markdown(&html, &page);
    let plain = "Wolf spiders hunt alone, at night, and carry their eggs with them, wherever they go.";
    let inner = all.strip_prefix(plain).and_then(|s| s.strip_suffix(plain));
    inner.unwrap_or(&all).trim().to_owned()
}

#[test]
fn blocks() {
    assert_eq!(markdown("<h2>Eyes</h2><p>Eight of them.</p>"), "## Eyes\n\nEight of them.");
    assert_eq!(
        markdown("<ul><li>one of them, and more words<li>two of them, and more words</ul>"),
        "- one of them, and more words\n- two of them, and more words"
    );
    assert_eq!(
        markdown("<blockquote><p>They see well, all of them do, in the dark.</p></blockquote>"),
        "> They see well, all of them do, in the dark."
    );
    assert_eq!(markdown("<pre>let a = 1;\nlet b = a;</pre>"), "```\nlet a = 1;\nlet b = a;\n```");
}

#[test]
fn inline_marks_and_escapes() {
    assert_eq!(
        markdown("<p>A <b>bold</b> and <i>soft</i> word, with <a href='/x'>a link</a>, and more words.</p>"),
        "A **bold** and *soft* word, with [a link](/x), and more words."
    );
    assert_eq!(
        markdown("<p>Stars * and _lines_ and [brackets], which mean nothing, in <code>a*b</code>.</p>"),
        "Stars \\* and \\_lines\\_ and \\[brackets\\], which mean nothing, in `a*b`."
    );
}

/// What a parser reads: words, addresses of links, addresses and words of images, and raw HTML, of which there must be none.
#[derive(Debug, Default, PartialEq)]
struct ReadBack {
    words: Vec<String>,
    links: Vec<String>,
    images: Vec<(String, String)>,
    html: Vec<String>,
}

fn read_back(markdown: &str) -> ReadBack {
    let mut read = ReadBack::default();
    let mut text = String::new();
    let mut image: Option<(String, String)> = None;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        let to = image.as_mut().map_or(&mut text, |(_, alt)| alt);
        match event {
            Event::Text(words) | Event::Code(words) => to.push_str(&words),
            Event::SoftBreak | Event::HardBreak => to.push(' '),
            Event::Start(Tag::Link { dest_url, .. }) => read.links.push(dest_url.into_string()),
            Event::Start(Tag::Image { dest_url, .. }) => {
                image = Some((dest_url.into_string(), String::new()))
            }
            Event::End(TagEnd::Image) => read.images.extend(image.take()),
            Event::Html(html) | Event::InlineHtml(html) => read.html.push(html.into_string()),
            Event::Start(Tag::Emphasis | Tag::Strong) | Event::End(TagEnd::Emphasis | TagEnd::Strong) => {}
            Event::End(TagEnd::Link) => {}
            _ => to.push(' '),
        }
    }
    read.words = words(&text);
    read
}

fn words(text: &str) -> Vec<String> {
    let text = text.replace('\0', "\u{fffd}");
    text.split([' ', '\t', '\n', '\r', '\u{b}', '\u{c}'])
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The Markdown of all of a page, and its text.
fn whole(html: &str) -> (String, String) {
    let mut page = Extract::new();
    Scanner::new(Limits::default()).scan(html, &mut page);
    let mut tree = Tree::default();
    tree.build(&page);
    (super::write(html, &page, &tree, |_| true), page.text.clone())
}

#[test]
fn a_fence_in_code_does_not_end_it() {
    let (markdown, _) = whole("<pre>a\n```\n<script>alert(1)</script>\n````\nb</pre><p>after</p>");
    let read = read_back(&markdown);
    assert_eq!((read.html.len(), read.words.last().unwrap().as_str()), (0, "after"), "{markdown}");
    assert!(markdown.starts_with("`````\n"), "{markdown}");
}

#[test]
fn addresses_stay_what_they_are() {
    for (href, expected) in [
        ("/wiki/Rust_(language)", Some("/wiki/Rust_(language)")),
        ("/a(b", Some("/a(b")),
        ("/a)b", Some("/a)b")),
        ("/a b", Some("/a%20b")),
        ("/a\n<img src=x onerror=alert(1)>", Some("/a<img%20src=x%20onerror=alert(1)>")),
        ("/a\\*b_c", Some("/a\\*b_c")),
        ("/?a=1&amp;lt;=2", Some("/?a=1&lt;=2")),
        ("/x|y", Some("/x|y")),
        ("mailto:a@b.example", Some("mailto:a@b.example")),
        ("HTTPS://a.example/", Some("HTTPS://a.example/")),
        ("javascript:alert(1)", None),
        (" java\nscript:alert(1)", None),
        ("data:text/html,x", None),
        ("vbscript:x", None),
        ("", None),
    ] {
        let (markdown, _) = whole(&format!("<p>see <a href='{}'>this</a> and</p>", href));
        let read = read_back(&markdown);
        assert_eq!(read.links.first().map(String::as_str), expected, "{markdown}");
        assert_eq!((read.words.join(" ").as_str(), read.html.len()), ("see this and", 0), "{markdown}");
        let (markdown, _) = whole(&format!("<p>see</p><img src='{}' alt='a]b(c'>", href));
        let read = read_back(&markdown);
        assert_eq!(
            read.images.first().map(|(src, alt)| (src.as_str(), alt.as_str())),
            expected.map(|src| (src, "a]b(c"))
        );
        assert!(read.html.is_empty(), "{markdown}");
    }
    assert_eq!(destination("/\u{9b}\u{202e}").as_deref(), Some("/%C2%9B%E2%80%AE"));
}

fn text() -> impl Strategy<Value = String> {
    let bit = prop::sample::select(vec![
        "a",
        "word",
        "2",
        "1.",
        "12)",
        "*",
        "**",
        "_",
        "__",
        "`",
        "``",
        "```",
        "~~~",
        "[",
        "]",
        "](",
        "(",
        ")",
        "<",
        ">",
        "<b>",
        "<script>",
        "-->",
        "&",
        "&amp;",
        "&#27;",
        "#",
        "##",
        "|",
        "| --- |",
        "---",
        "===",
        "!",
        "![",
        "\\",
        "\\\\",
        "+",
        "-",
        "=",
        ":",
        "\"",
        "'",
        " ",
        "  ",
        "    ",
        "\n",
        "\n\n",
        "\t",
        "http://x.example/",
        "\u{a0}",
        "\u{e9}",
        "\u{201d}",
        "\u{200b}",
        "[x]: /y",
        "*a*",
    ]);
    prop::collection::vec(bit, 0..8).prop_map(|bits| bits.concat())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// HTML of a part of a page, with the addresses of its links.
type Part = (String, Vec<String>);

fn inline() -> impl Strategy<Value = Part> {
    let plain = text().prop_map(|text| (escaped(&text), Vec::new()));
    let code = text().prop_map(|text| (format!("<code>{}</code>", escaped(&text)), Vec::new()));
    let link = (text(), text()).prop_map(|(href, text)| {
        (format!("<a href=\"{}\">{}</a>", escaped(&href), escaped(&text)), vec![href])
    });
    let leaf = prop_oneof![4 => plain, 1 => code, 2 => link, 1 => Just(("<br>".to_owned(), Vec::new()))];
    leaf.prop_recursive(3, 12, 4, |inner| {
        (prop::sample::select(vec!["b", "i", "em", "strong", "span"]), prop::collection::vec(inner, 0..4))
            .prop_map(|(tag, parts)| wrapped(tag, parts))
    })
}

fn wrapped(tag: &str, parts: Vec<Part>) -> Part {
    let (html, links): (Vec<String>, Vec<Vec<String>>) = parts.into_iter().unzip();
    (format!("<{tag}>{}</{tag}>", html.concat()), links.concat())
}

fn block() -> impl Strategy<Value = Part> {
    let line = |tags: Vec<&'static str>| {
        (prop::sample::select(tags), prop::collection::vec(inline(), 0..5))
            .prop_map(|(tag, parts)| wrapped(tag, parts))
    };
    let pre = text().prop_map(|text| (format!("<pre>{}</pre>", escaped(&text)), Vec::new()));
    let row = prop::collection::vec(line(vec!["td", "th"]), 0..4).prop_map(|cells| wrapped("tr", cells));
    let table = prop::collection::vec(row, 0..4).prop_map(|rows| wrapped("table", rows));
    let leaf = prop_oneof![
        4 => line(vec!["p", "h1", "h2", "h3", "div"]), 1 => pre, 1 => table, 1 => Just(("<hr>".to_owned(), Vec::new()))
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        let item = prop::collection::vec(inner.clone(), 0..3).prop_map(|parts| wrapped("li", parts));
        let list = (prop::sample::select(vec!["ul", "ol"]), prop::collection::vec(item, 0..4))
            .prop_map(|(tag, items)| wrapped(tag, items));
        let quotation = prop::collection::vec(inner, 0..3).prop_map(|parts| wrapped("blockquote", parts));
        prop_oneof![list, quotation]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]
    #[test]
    fn a_parser_reads_back_the_texts_and_links_that_went_in(parts in prop::collection::vec(block(), 0..5)) {
        let (html, links): (Vec<String>, Vec<Vec<String>>) = parts.into_iter().unzip();
        let (markdown, text) = whole(&html.concat());
        let read = read_back(&markdown);
        prop_assert_eq!(&read.html, &Vec::<String>::new(), "{}", &markdown);
        prop_assert_eq!(&read.words, &words(&text), "{}", &markdown);
        let links: Vec<String> = links.concat().iter().filter_map(|href| destination(href)).collect();
        prop_assert_eq!(&read.links, &links, "{}", &markdown);
    }
}

/// Work stays linear in the page, whatever is opened and never closed: this ends at once or not in a day.
#[test]
fn many_marks_in_one_line_cost_no_more_than_their_number() {
    for bit in [
        "<b></b>",
        "<b>x</b>",
        "<b>",
        "<a href=/x>",
        "<a href=/x></a>",
        "<i><a href=/>x</i></a>",
        "`",
        "<code>x</code><b>",
    ] {
        let (markdown, _) = whole(&format!("<p>words {}</p>", bit.repeat(60_000)));
        assert!(!markdown.is_empty());
    }
}

//! What is taken from well-formed and from odd pages.

use lycosa_page::{DateKind, Extract, Limits, LinkKind, PageLimit, Rel, Scanner, TagId, TagKind};

fn scan(html: &str) -> Extract {
    scan_with(html, Limits::default())
}

fn scan_with(html: &str, limits: Limits) -> Extract {
    let mut page = Extract::new();
    Scanner::new(limits).with_agent("lycosa").scan(html, &mut page);
    page
}

/// Kind, address, words, visibility, position.
fn links(page: &Extract) -> Vec<(LinkKind, &str, &str, u8, u8)> {
    page.links.iter().map(|l| (l.kind, page.href(l), page.anchor(l), l.visibility, l.position)).collect()
}

#[test]
fn text_has_one_line_per_block() {
    let page = scan(
        "<h1> A <i>b</i>c</h1>\n<p>one\n two<br>three<ul><li>x<li>y</ul><table><tr><td>1</td><td>2<tr><th>3</table>z",
    );
    assert_eq!(page.text, "A bc\none two\nthree\nx\ny\n1 2\n3\nz");
    let page = scan(
        "a<script>no</script><style>no</style><!-- no --><noscript>no</noscript><template>no</template><svg><text>no</text></svg>b",
    );
    assert_eq!(page.text, "ab");
    assert_eq!(scan("<pre>fn main() {\n    x\n\n}</pre>y\nz").text, "fn main() {\nx\n}\ny z");
    assert_eq!(scan("<p>a&nbsp;b &lt;c&gt; &eacute;&#x20ac;</p>").text, "a\u{a0}b <c> é€");
    assert_eq!(scan("<math><mi>x</mi><mo>+</mo></math>").text, "x+");
    assert_eq!(scan("<svg><foreignObject><p>seen</foreignObject><desc>not</desc></svg>").text, "seen");
    assert_eq!(scan("<title>t</title><textarea>no</textarea><xmp><b> &amp;\nx</xmp>").text, "<b> &amp;\nx");
}

#[test]
fn anchors_know_their_words_and_looks() {
    let page = scan(
        "<a href=1>plain</a> <b><a href=2>bold</a></b> <a href=3><em>slanted</em></a> <strong><a href=4>x <i>both</i></a></strong> \
         <a name=n>none</a> <a href=5><img src=i.png alt='a picture'></a>",
    );
    let seen: Vec<_> = links(&page).into_iter().map(|(k, h, a, v, _)| (k, h, a, v)).collect();
    assert_eq!(
        seen,
        [
            (LinkKind::Anchor, "1", "plain", 1),
            (LinkKind::Anchor, "2", "bold", 2),
            (LinkKind::Anchor, "3", "slanted", 2),
            (LinkKind::Anchor, "4", "x both", 3),
            (LinkKind::Anchor, "5", "a picture", 1),
            (LinkKind::Image, "i.png", "a picture", 1),
        ]
    );
}

#[test]
fn anchors_know_their_third() {
    let page = scan("<a href=1>aaaa</a> bbbb <a href=2>cccc</a> dddd <a href=3>eeee</a> ffff");
    assert_eq!(links(&page).iter().map(|l| l.4).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(links(&scan("<a href=1></a>"))[0].4, 3);
    let page = scan("<p>words words words</p><a href=x></a>");
    assert_eq!(links(&page)[0].4, 1, "a link behind all words is in the last third");
}

#[test]
fn nested_and_open_anchors_end() {
    let page = scan("<a href=1>x<template></a></template>y</a>");
    assert_eq!(page.anchor(&page.links[0]), "xy");
    let page = scan("<a href=1>a<a href=2>b</a>c</a>d<a href=3>e<p>f");
    let words: Vec<_> = page.links.iter().map(|l| page.anchor(l)).collect();
    assert_eq!(words, ["a", "b", "e\nf"]);
}

#[test]
fn links_of_all_kinds() {
    let page = scan(
        "<link rel=canonical href=/c><link rel='alternate nofollow' type='application/rss+xml' title=Feed href=/f>\
         <link rel=alternate hreflang=de href=/de><link rel=stylesheet href=/s.css><link rel=next href=/2><link rel=prev href=/0>\
         <link rel='shortcut icon' href=/i><link rel=preload href=/no><script src=/s.js></script><meta http-equiv=Refresh content='3; URL=/r'>\
         <iframe src=/fr></iframe><frame src=/fs><area href=/ar alt=Area><img srcset=' a.png 1x, b.png 2x'><video src=v.mp4></video>\
         <object data=o.bin></object><input type=image src=in.png><input type=text src=no><img src='data:image/png;base64,AAAA'>",
    );
    use LinkKind::*;
    let seen: Vec<_> = links(&page).into_iter().map(|(k, h, ..)| (k, h)).collect();
    assert_eq!(
        seen,
        [
            (Canonical, "/c"),
            (Feed, "/f"),
            (Alternate, "/de"),
            (Stylesheet, "/s.css"),
            (Next, "/2"),
            (Prev, "/0"),
            (Icon, "/i"),
            (Script, "/s.js"),
            (Refresh, "/r"),
            (Frame, "/fr"),
            (Frame, "/fs"),
            (Area, "/ar"),
            (Image, "a.png"),
            (Media, "v.mp4"),
            (Media, "o.bin"),
            (Image, "in.png"),
        ]
    );
    assert_eq!(page.canonical_href(), Some("/c"));
    assert!(page.links[1].rel.has(Rel::NOFOLLOW) && page.anchor(&page.links[1]) == "Feed");
    assert_eq!(page.meta.refresh.map(|r| r.delay_s), Some(3));
    assert_eq!(page.navigation().count(), 4);
}

#[test]
fn rel_and_download() {
    let page = scan("<a rel='ugc NOFOLLOW' download href=x>y</a><a href=z>w</a>");
    assert!(
        page.links[0].rel.has(Rel::NOFOLLOW) && page.links[0].rel.has(Rel::UGC) && page.links[0].download
    );
    assert!(!page.links[1].rel.has(Rel::NOFOLLOW) && !page.links[1].download);
}

#[test]
fn metadata() {
    let page = scan(
        "<html lang=pt-BR><head><title> A &amp;\n B </title><title>no</title><base href=/b/><base href=/no/>\
         <meta property='og:description' content=social><meta name=Description content=' own  words '><meta name=keywords content='a, b'>\
         <meta name=author content=Ann><meta name=generator content=G><meta property=article:published_time content=2024-01-02>\
         <meta itemprop=dateModified content=2024-02-03><meta name=robots content=noarchive><meta name=Lycosa content=nofollow>\
         <meta name=otherbot content=noindex><time datetime=2024-03-04>x</time><script type='application/ld+json'>{\"a\":1}</script>",
    );
    let arena = |s: lycosa_page::Span| s.of(&page.arena).to_owned();
    assert_eq!((page.title(), page.lang(), page.base_href()), ("A & B", "pt-BR", Some("/b/")));
    assert_eq!(
        (arena(page.meta.description), arena(page.meta.keywords)),
        ("own words".into(), "a, b".into())
    );
    assert_eq!((arena(page.meta.author), arena(page.meta.generator)), ("Ann".into(), "G".into()));
    let dates: Vec<_> = page.meta.dates.iter().map(|d| (d.kind, arena(d.value))).collect();
    assert_eq!(
        dates,
        [(DateKind::Published, "2024-01-02".into()), (DateKind::Modified, "2024-02-03".into())]
    );
    assert!(page.meta.robots.noarchive && page.meta.robots.nofollow && !page.meta.robots.noindex);
    assert_eq!(page.times.iter().map(|t| arena(*t)).collect::<Vec<_>>(), ["2024-03-04"]);
    assert_eq!(page.json_ld.len(), 1);
}

#[test]
fn json_ld_is_a_span_of_the_source() {
    let html = "<script type=application/ld+json>{\"x\":\"</b>\"}</script>";
    assert_eq!(scan(html).json_ld[0].of(html), "{\"x\":\"</b>\"}");
}

#[test]
fn headings_and_their_words() {
    let page = scan("<h1>One</h1>a<h3>Two <b>b</b><h2>Three</h6>c<h4></h4><h5>open");
    let seen: Vec<_> = page.headings.iter().map(|h| (h.level, h.text.of(&page.text))).collect();
    assert_eq!(seen, [(1, "One"), (3, "Two b"), (2, "Three"), (5, "open")]);
}

#[test]
fn the_tag_sequence_of_the_golden_example() {
    let page =
        scan("<html><head><title>t</title></head><body><h1>h</h1><p>a</p><p>b</p><p>c</p></body></html>");
    let names: Vec<_> = page.start_tags().map(|t| page.tag_name(t)).collect();
    assert_eq!(names, ["html", "head", "title", "body", "h1", "p", "p", "p"]);
    let firsts: String = names.iter().filter_map(|n| n.chars().next()).collect();
    let lasts: String = names.iter().filter_map(|n| n.chars().next_back()).collect();
    assert_eq!((firsts.as_str(), lasts.as_str()), ("hhtbhppp", "ldey1ppp"));
}

#[test]
fn events_place_tags_in_the_text() {
    let page = scan("<p>one <b>two</b><x-y/></p>");
    let seen: Vec<_> = page.events.iter().map(|e| (page.tag_name(e.tag), e.kind, e.text_at)).collect();
    assert_eq!(
        seen,
        [
            ("p", TagKind::Start, 0),
            ("b", TagKind::Start, 3),
            ("b", TagKind::End, 7),
            ("x-y", TagKind::StartSelfClosing, 7),
            ("p", TagKind::End, 7),
        ]
    );
}

#[test]
fn events_lead_back_to_the_source() {
    let html = "<p>x</p>é<DIV ID=a Class='b &amp; c' class=d>y</DIV>";
    let page = scan(html);
    let div = page.events.iter().find(|e| e.tag == TagId::DIV).unwrap();
    assert_eq!((div.attribute(html, "class"), div.attribute(html, "id")), (Some("b &amp; c"), Some("a")));
    assert_eq!((div.attribute(html, "role"), page.events[0].attribute(html, "id")), (None, None));
    assert!(page.events.iter().all(|e| html[e.source_at as usize..].starts_with('<')));
}

/// A page like the last needs no more memory than the last.
#[test]
fn buffers_are_kept() {
    let html =
        "<title>t</title><h1>a</h1><p>text <a href=/x>y</a> <x-y><time datetime=1><meta name=date content=2>"
            .repeat(20);
    let mut scanner = Scanner::new(Limits::default());
    let mut page = Extract::new();
    let capacities = |p: &Extract| {
        [
            p.text.capacity(),
            p.arena.capacity(),
            p.links.capacity(),
            p.events.capacity(),
            p.headings.capacity(),
            p.meta.dates.capacity(),
            p.times.capacity(),
            p.custom_tags.capacity(),
        ]
    };
    scanner.scan(&html, &mut page);
    let first = capacities(&page);
    scanner.scan(&html, &mut page);
    assert!(first.iter().all(|c| *c > 0) && capacities(&page) == first);
}

#[test]
fn custom_tags_are_numbered_up_to_the_limit() {
    let limits = Limits { max_custom_tags: 2, ..Limits::default() };
    let page = scan_with("<x-a><X-B><x-c><x-a>", limits);
    let names: Vec<_> = page.start_tags().map(|t| page.tag_name(t)).collect();
    assert_eq!(names, ["x-a", "x-b", "?", "x-a"]);
    assert!(page.truncated.get(PageLimit::CustomTags) == 1 && page.events[2].tag == TagId::UNNAMED);
}

#[test]
fn limits_are_told() {
    let limits =
        Limits { max_links: 2, max_headings: 1, max_tag_events: 4, max_title_bytes: 3, ..Limits::default() };
    let page = scan_with(
        "<title>abcdef</title><h1>a</h1><h2>b</h2><a href=1></a><a href=2></a><a href=3></a>",
        limits,
    );
    let reached: Vec<_> = page.truncated.reached().collect();
    let expected =
        [(PageLimit::Links, 1), (PageLimit::TagEvents, 8), (PageLimit::Headings, 1), (PageLimit::Title, 1)];
    assert_eq!(reached, expected);
    assert_eq!((page.links.len(), page.headings.len(), page.events.len(), page.title()), (2, 1, 4, "abc"));
    let page =
        scan_with("<p>some text <a href=x>here</a>", Limits { max_text_bytes: 6, ..Limits::default() });
    assert!(page.truncated.get(PageLimit::Text) == 1 && page.text == "some t" && page.truncated.any());
    let page = scan_with("<p>é<b>", Limits { max_html_bytes: 4, ..Limits::default() });
    assert!(page.truncated.get(PageLimit::Html) == 5 && page.text.is_empty());
    assert!(!scan("<p>a").truncated.any());
}

/// A page that reaches the limit, and the limits under which it does.
fn beyond(limit: PageLimit) -> (String, Limits) {
    let all = Limits::default();
    match limit {
        PageLimit::Html => ("<p>abc".to_owned(), Limits { max_html_bytes: 4, ..all }),
        PageLimit::Links => ("<a href=1></a><a href=2></a>".to_owned(), Limits { max_links: 1, ..all }),
        PageLimit::Text => ("<p>some text".to_owned(), Limits { max_text_bytes: 4, ..all }),
        PageLimit::Attributes => ("<a href=123456>".to_owned(), Limits { max_attribute_bytes: 4, ..all }),
        PageLimit::Arena => ("<a href=123456>".to_owned(), Limits { max_arena_bytes: 4, ..all }),
        PageLimit::TagEvents => ("<p><p><p>".to_owned(), Limits { max_tag_events: 2, ..all }),
        PageLimit::CustomTags => ("<x-a><x-b>".to_owned(), Limits { max_custom_tags: 1, ..all }),
        PageLimit::Headings => ("<h1>a</h1><h1>b</h1>".to_owned(), Limits { max_headings: 1, ..all }),
        PageLimit::Title => ("<title>abcdef</title>".to_owned(), Limits { max_title_bytes: 3, ..all }),
        PageLimit::Meta => {
            let dates = "<time datetime=2020-01-01></time>".repeat(3);
            (dates, Limits { max_meta_items: 2, ..all })
        }
        PageLimit::ForeignDepth => {
            ("<svg><foreignObject><svg>".to_owned(), Limits { max_foreign_depth: 2, ..all })
        }
    }
}

#[test]
fn every_limit_of_a_page_counts_what_it_leaves_out() {
    for limit in PageLimit::ALL {
        let (html, limits) = beyond(limit);
        assert!(scan_with(&html, limits).truncated.get(limit) > 0, "{}", limit.name());
        assert_eq!(scan(&html).truncated.get(limit), 0, "{}", limit.name());
    }
}

#[test]
fn an_index_page_of_34_954_links_gives_all_of_them() {
    let html: String = (0..34_954).map(|n| format!("<a href=/entry/number/{n}>Entry {n}</a>\n")).collect();
    let page = scan(&html);
    assert_eq!(page.links.len(), 34_954);
    assert!(!page.truncated.any());
}

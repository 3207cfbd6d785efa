//! Laws that hold for every input: nothing panics, spans lie in their buffers, limits hold.

use lycosa_page::{Extract, Limits, Rel, RobotsDirectives, Scanner, Span, charset, sitemap, sniff};
use proptest::prelude::*;

const SOUP: &[&str] = &[
    "<a href='/x'>",
    "</a>",
    "<title>",
    "<h2>",
    "</h2>",
    "<svg>",
    "<template>",
    "&",
    "&amp;",
    "<!--",
    "-->",
    "<meta name=robots content=none>",
    "<meta http-equiv=refresh content='0;url=/r'>",
    "<script type=application/ld+json>",
    "</script>",
    "é",
    "日",
    " ",
    "\n",
    "<p>",
    "<x-1>",
    "<x-2>",
    "<time datetime=1>",
    "<img srcset='a 1x, b 2x'>",
    "words and more",
    "<",
    ">",
    "\"",
    "<b>",
    "<i>",
    "<?xml encoding='big5'?>",
    "\0",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(SOUP), 0..60).prop_map(|parts| parts.concat())
}

fn inside(span: Span, buffer: &str) -> bool {
    buffer.get(span.range()).is_some()
}

fn check(page: &Extract, source: &str, limits: &Limits) {
    assert!(page.text.len() <= limits.max_text_bytes && page.arena.len() <= limits.max_arena_bytes);
    assert!(page.links.len() <= limits.max_links && page.events.len() <= limits.max_tag_events);
    assert!(page.headings.len() <= limits.max_headings && page.custom_tags.len() <= limits.max_custom_tags);
    assert!(page.title().len() <= limits.max_title_bytes && inside(page.title, &page.arena));
    for link in &page.links {
        assert!(
            inside(link.href, &page.arena)
                && inside(link.label, &page.arena)
                && inside(link.anchor, &page.text)
        );
        assert!((1..=3).contains(&link.visibility) && (1..=3).contains(&link.position));
        assert!(page.href(link).len() <= limits.max_attribute_bytes * 3);
    }
    for heading in &page.headings {
        assert!(
            (1..=6).contains(&heading.level) && inside(heading.text, &page.text) && !heading.text.is_empty()
        );
    }
    assert!(page.events.is_sorted_by_key(|e| e.text_at));
    assert!(page.events.iter().all(|e| page.text.is_char_boundary(e.text_at as usize)));
    assert!(page.json_ld.iter().all(|s| inside(*s, source)));
    assert!(page.times.iter().chain(&page.custom_tags).all(|s| inside(*s, &page.arena)));
    assert!(!page.text.starts_with([' ', '\n']) && !page.text.ends_with([' ', '\n']));
    for pair in ["  ", " \n", "\n ", "\n\n", "\t", "\r"] {
        assert!(!page.text.contains(pair), "{:?} in {:?}", pair, page.text);
    }
}

fn tight() -> impl Strategy<Value = Limits> {
    (0usize..200, 0usize..20, 0usize..10).prop_map(|(bytes, many, few)| Limits {
        max_html_bytes: bytes * 4,
        max_links: few,
        max_text_bytes: bytes,
        max_attribute_bytes: many,
        max_arena_bytes: bytes,
        max_tag_events: many,
        max_custom_tags: few.min(2),
        max_headings: few,
        max_title_bytes: many,
        max_meta_items: few,
        max_foreign_depth: few,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(1_000)))]

    #[test]
    fn any_bytes_are_a_page(body in prop::collection::vec(any::<u8>(), 0..600), header in prop::option::of(".{0,40}")) {
        let decoded = charset::decode(&body, header.as_deref());
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(&decoded.text, &mut page);
        check(&page, &decoded.text, &Limits::default());
        sniff(header.as_deref(), &body);
        sitemap::parse(&decoded.text);
    }

    #[test]
    fn limits_hold(html in soup(), limits in tight()) {
        let mut page = Extract::new();
        Scanner::new(limits).scan(&html, &mut page);
        check(&page, &html, &limits);
    }

    #[test]
    fn mutated_pages_are_read(html in soup(), cut in any::<prop::sample::Index>(), with in any::<u8>()) {
        let mut body = html.into_bytes();
        if !body.is_empty() {
            let at = cut.index(body.len());
            body[at] = with;
        }
        let decoded = charset::decode(&body, None);
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(&decoded.text, &mut page);
        check(&page, &decoded.text, &Limits::default());
    }

    /// What a page leaves behind in the buffers does not show in the next.
    #[test]
    fn pages_do_not_mix(first in soup(), second in soup()) {
        let mut scanner = Scanner::new(Limits::default());
        let (mut reused, mut fresh) = (Extract::new(), Extract::new());
        scanner.scan(&first, &mut reused);
        scanner.scan(&second, &mut reused);
        Scanner::new(Limits::default()).scan(&second, &mut fresh);
        prop_assert_eq!(format!("{reused:?}"), format!("{fresh:?}"));
    }

    #[test]
    fn small_parsers_take_anything(value in "\\PC{0,80}", header in "[a-z:, _-]{0,60}") {
        let mut directives = RobotsDirectives::default();
        directives.merge_meta(&value);
        directives.merge_header(&header, "lycosa");
        Rel::parse(&value);
        charset::decode(b"x", Some(&value));
    }

    #[test]
    fn any_xml_is_read(parts in prop::collection::vec(prop::sample::select(&[
        "<urlset>", "<url>", "<loc>", "http://a/", "</loc>", "</url>", "<rss>", "<item>", "<link>", "</link>", "</item>", "<feed>", "<entry>",
        "<link href='h'/>", "</entry>", "<![CDATA[", "]]>", "<!--", "-->", "&amp;", "<x", "'", ">", "é", "<guid>http://b",
    ][..]), 0..40)) {
        let text = parts.concat();
        if let Some(listing) = sitemap::parse(&text) {
            prop_assert!(listing.entries.iter().all(|e| !e.loc.is_empty()));
        }
    }
}

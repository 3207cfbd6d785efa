//! Laws of judging: prints do not see case, white space and punctuation; shared stretches are found wherever they
//! stand; digests change with what they cover; nothing panics and every record survives storage.

use lycosa_page::{
    ContentReader, Extract, HostTemplate, Judger, Keywords, Likeness, Limits, Look, Print, PrintIndex,
    Scanner, Signatures, Verdict, WinnowConfig, WinnowHash, Winnower, compare,
};
use proptest::prelude::*;

const SOUP: &[&str] = &[
    "<p>",
    "</p>",
    "<div class='ad banner'>",
    "<div class=article-body>",
    "</div>",
    "<ul><li>",
    "<table><tr><td>",
    "</table>",
    "<svg><g/>",
    "<h2>",
    "</h2>",
    "<a href='/x?sid=1'>",
    "</a>",
    "<pre>",
    "<code>",
    "<b>",
    "<img src=a.png alt=b>",
    "Views: 12 ",
    "2026-11-15 ",
    "words, and more, of them ",
    "ago ",
    "é日 ",
    "<blockquote>",
    "<script type=application/ld+json>{\"@type\":\"Article\"}</script>",
    "<x-1>",
    "<!--",
    "-->",
    "&amp;",
    "\n",
    "<aside>",
    "<footer>",
    "<br>",
    "<td>",
    "<p hidden>",
    "*_`[|",
    "<article>",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(SOUP), 0..80).prop_map(|parts| parts.concat())
}

fn scan(html: &str) -> Extract {
    let mut page = Extract::new();
    Scanner::new(Limits::default()).scan(html, &mut page);
    page
}

fn sign(html: &str) -> Signatures {
    Judger::default().sign(html, &scan(html), None)
}

fn prose() -> impl Strategy<Value = String> {
    prop::collection::vec("[a-zé]{1,9}", 1..120).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(400)))]

    #[test]
    fn any_page_is_judged(old in soup(), new in soup()) {
        let (a, b) = (sign(&old), sign(&new));
        let report = compare(&a, &b, None);
        prop_assert_eq!(report.verdict == Verdict::Unchanged, old == new);
        prop_assert!((0.0..=1.0).contains(&report.share));
        let packed = postcard::to_stdvec(&a).unwrap();
        prop_assert_eq!(&postcard::from_bytes::<Signatures>(&packed).unwrap(), &a);
        prop_assert!(packed.len() < 32 << 10);
        let mut template = HostTemplate::default();
        template.learn(&a, &b);
        compare(&a, &b, Some(&template));
        prop_assert_eq!(compare(&a, &a, Some(&template)).verdict, Verdict::Unchanged);
    }

    /// What is called noise or unchanged has the same tree outside advertisements, and every digest covers its part.
    #[test]
    fn digests_cover_what_they_say(old in soup(), new in soup()) {
        let (a, b) = (sign(&old), sign(&new));
        let (p, q) = (scan(&old), scan(&new));
        prop_assert_eq!(a.text == b.text, p.text == q.text);
        prop_assert_eq!(a.body == b.body, old == new);
        let names = |p: &Extract| p.start_tags().map(|t| p.tag_name(t).to_owned()).collect::<Vec<_>>();
        if names(&p) != names(&q) {
            prop_assert_ne!(a.structure, b.structure);
        }
    }

    #[test]
    fn any_content_is_read(html in soup(), url in prop::option::of("http://[a-z]{1,5}/[0-9/-]{0,20}")) {
        let page = scan(&html);
        let mut reader = ContentReader::default();
        let content = reader.read(&html, &page, url.as_deref());
        prop_assert!(content.text.len() <= page.text.len() + page.events.len());
        prop_assert_eq!(&reader.main_text(&html, &page), &content.text);
        reader.markdown(&html, &page);
        // Buffers of one page do not show in the next.
        prop_assert_eq!(ContentReader::default().read(&html, &page, url.as_deref()), content);
    }

    #[test]
    fn prints_ignore_white_space_case_and_punctuation(text in prose(), gaps in prop::collection::vec(0usize..6, 1..40), md5: bool) {
        let hash = if md5 { WinnowHash::Md5 } else { WinnowHash::Fast };
        let mut winnower = Winnower::new(WinnowConfig { k: 8, w: 6, hash });
        let plain = winnower.minutiae(&text).to_vec();
        let mut noisy = String::new();
        for (i, c) in text.chars().enumerate() {
            noisy.push_str(["", " ", "\n", ", ", " - ", "!\u{a0}"][gaps[i % gaps.len()]]);
            if i % 3 == 0 { noisy.extend(c.to_uppercase()) } else { noisy.push(c) }
        }
        prop_assert_eq!(winnower.minutiae(&noisy), plain);
    }

    /// Any match of W + K − 1 characters is found, wherever it stands in either text.
    #[test]
    fn long_matches_are_found(shared in "[a-z]{13}", a in "[a-z]{0,60}", b in "[a-z]{0,60}", c in "[a-z]{0,60}", d in "[a-z]{0,60}") {
        let mut winnower = Winnower::new(WinnowConfig { k: 6, w: 8, hash: WinnowHash::Fast });
        let one = winnower.minutiae(&format!("{a}{shared}{b}")).to_vec();
        let two = winnower.minutiae(&format!("{c}{shared}{d}")).to_vec();
        prop_assert!(Likeness::of(&one, &two).common > 0);
    }

    /// Moving paragraphs keeps the minutiae that lie inside them.
    #[test]
    fn moved_paragraphs_keep_their_minutiae(paragraphs in prop::collection::vec("[a-z]{40,90}", 2..8), turn in 1usize..7) {
        let config = WinnowConfig { k: 6, w: 8, hash: WinnowHash::Fast };
        let mut winnower = Winnower::new(config);
        let mut inside = Vec::new();
        for paragraph in &paragraphs {
            inside.extend_from_slice(winnower.minutiae(paragraph));
        }
        let mut moved = paragraphs.clone();
        moved.rotate_left(turn % paragraphs.len());
        for order in [&paragraphs, &moved] {
            let all = winnower.minutiae(&order.join("\n"));
            prop_assert!(inside.iter().all(|m| all.binary_search(m).is_ok()));
        }
    }

    #[test]
    fn the_same_page_is_found_again(texts in prop::collection::vec(prose(), 1..30)) {
        let mut winnower = Winnower::new(WinnowConfig::default());
        let mut index = PrintIndex::new(64);
        let prints: Vec<Print> = texts.iter().enumerate().map(|(id, t)| Print::new(id as u64, winnower.minutiae(t))).collect();
        prints.iter().for_each(|p| index.insert(p));
        for print in &prints {
            let found = index.lookup(print, 0.99, 64);
            prop_assert!(found.iter().any(|c| c.id == print.id && c.resemblance == 1.0));
        }
        let alike = Keywords::of(&texts[0], None).similarity(&Keywords::of(&texts[0], None));
        prop_assert!(alike > 0.999);
    }

    #[test]
    fn any_bytes_are_an_image(body in prop::collection::vec(any::<u8>(), 0..300), kind in 0usize..5) {
        let heads: [&[u8]; 5] = [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"\xff\xd8\xff\xe0"];
        let _ = Look::of(&[heads[kind], &body].concat());
    }
}

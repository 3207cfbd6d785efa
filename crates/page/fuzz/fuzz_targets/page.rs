//! Any bytes as a page: decoded, scanned, every span inside its buffer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lycosa_page::{Extract, Limits, Scanner, charset, sniff};

fuzz_target!(|body: &[u8]| {
    sniff(None, body);
    let decoded = charset::decode(body, None);
    let mut page = Extract::new();
    let mut scanner = Scanner::new(Limits::default());
    scanner.scan(&decoded.text, &mut page);
    for link in &page.links {
        assert!(page.arena.get(link.href.range()).is_some() && page.text.get(link.anchor.range()).is_some());
        assert!((1..=3).contains(&link.position) && (1..=3).contains(&link.visibility));
    }
    assert!(page.headings.iter().all(|h| page.text.get(h.text.range()).is_some()));
    assert!(page.json_ld.iter().all(|s| decoded.text.get(s.range()).is_some()));
    assert!(page.events.iter().all(|e| page.text.is_char_boundary(e.text_at as usize)));
});

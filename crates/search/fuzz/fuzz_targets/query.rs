//! Any text as a query: it parses or is refused at a place in it, and what is parsed reads back as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lycosa_search::language::Language;
use lycosa_search::parse;
use lycosa_search::query::MAX_QUERY_BYTES;
use lycosa_search::snippet::{Snippet, Wanted};

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(node) => {
            let written = node.to_string();
            // The canonical text may be longer than what was typed, and so beyond the limit.
            if written.len() <= MAX_QUERY_BYTES {
                assert_eq!(parse(&written).as_ref(), Ok(&node), "{written}");
            }
            let languages = [Language::NONE, Language::of_tag("en")];
            let html = Snippet::of(text, languages[1], &Wanted::of(&node, &languages)).html();
            let bare = html.replace("<mark>", "").replace("</mark>", "");
            assert!(!bare.contains(['<', '>', '"', '\'']));
        }
        Err(error) => {
            let pointed = error.pointed(text);
            assert!(!pointed.is_empty() && !error.to_string().is_empty());
        }
    }
});

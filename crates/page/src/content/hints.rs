//! What the words of `class`, `id`, `role` and `itemprop` say about an element.

use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What an element is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hints(u8);

impl Hints {
    /// Named like the text of an article (`article-body`, `entry-content`, `itemprop=articleBody`).
    pub const BODY: Hints = Hints(1);
    /// Named like something that holds content.
    pub const GOOD: Hints = Hints(2);
    /// Named like something beside the content: comments, menus, related pages, advertisements.
    pub const BAD: Hints = Hints(4);
    /// Not shown to the reader.
    pub const HIDDEN: Hints = Hints(8);
    /// Named like a part of an article that is not its text: captions, bylines, share buttons.
    pub const TRIM: Hints = Hints(16);

    pub fn has(self, other: Hints) -> bool {
        self.0 & other.0 != 0
    }

    pub fn add(&mut self, other: Hints) {
        self.0 |= other.0;
    }
}

/// Words that mark what stands beside the content.
const BAD: &str = "ad ads adsense advert advertisement advertising banner breadcrumb breadcrumbs carousel combx \
    comment commentlist comments community complementary consent cookie cookies copyright dialog \
    disclaimer disqus extra foot footer footnav gallery gdpr hidden legends login masthead menu \
    menus modal most nav navbar navigation newsletter outbrain overlay pager pagination paywall \
    popular popup prevnext print promo promos promoted promotion recirc recirculation recommend \
    recommendations recommended register related relatedposts remark replies reply respond rss \
    screenreader search share sharedaddy sharing shoutbox sidebar signup skip skyscraper social \
    sponsor sponsored subscribe subscription supplemental taboola tags teaser toolbar tooltip \
    trending widget widgets";

/// Words that mark parts of an article that are not its text.
const TRIM: &str = "author authors bio button buttons byline caption credit credits dateline figcaption follow icon \
    infobox meta metadata postmeta published tag taglist timestamp toc";

/// Words that mark content.
const GOOD: &str = "article articlebody blog body content entry hentry main page post story text";

/// Pairs of neighbouring words that mark the text of an article.
const BODY: &str = "article-body article-content article-text blog-content body-content body-text content-body \
    entry-body entry-content main-content news-body news-content news-text page-content post-body \
    post-content post-entry post-text rich-text single-content story-body story-content story-text \
    td-content";

/// Every word with what it means.
static WORDS: LazyLock<HashMap<&'static [u8], Hints, FixedState>> = LazyLock::new(|| {
    let mut words: HashMap<&[u8], Hints, FixedState> = HashMap::default();
    for (list, hint) in [(BAD, Hints::BAD), (TRIM, Hints::TRIM), (GOOD, Hints::GOOD), (JOINED, Hints::BODY)] {
        for word in list.split(' ') {
            words.entry(word.as_bytes()).or_default().add(hint);
        }
    }
    words
});

/// Pairs written as one word.
const JOINED: &str = "articlebody articlecontent entrycontent postbody postcontent storybody";

/// Adds what the words of one attribute say.
pub(super) fn read(value: &str, hints: &mut Hints) {
    let mut before = [0u8; 24];
    let mut before_len = 0;
    for_each_word(value, |word| {
        if let Some(&meaning) = WORDS.get(word) {
            hints.add(meaning);
        }
        let last = &before[..before_len];
        let pair =
            |p: &str| p.split_once('-').is_some_and(|(a, b)| a.as_bytes() == last && b.as_bytes() == word);
        let can_end_pair = matches!(word, b"body" | b"content" | b"text" | b"entry");
        if can_end_pair && !last.is_empty() && BODY.split(' ').any(pair) {
            hints.add(Hints::BODY);
        }
        before_len = word.len().min(before.len());
        before[..before_len].copy_from_slice(&word[..before_len]);
    });
}

/// Calls `f` with each word in small letters, cut at what is no letter and at capitals after small ones.
fn for_each_word(value: &str, mut f: impl FnMut(&[u8])) {
    let mut word = [0u8; 24];
    let mut len = 0;
    let mut small = false;
    for byte in value.bytes().chain([b' ']).take(512) {
        let camel = small && byte.is_ascii_uppercase();
        if (!byte.is_ascii_alphabetic() || camel) && len > 0 {
            f(&word[..len]);
            len = 0;
        }
        if byte.is_ascii_alphabetic() && len < word.len() {
            word[len] = byte.to_ascii_lowercase();
            len += 1;
        }
        small = byte.is_ascii_lowercase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(value: &str) -> Hints {
        let mut hints = Hints::default();
        read(value, &mut hints);
        hints
    }

    #[test]
    fn words_are_found_in_any_spelling() {
        assert!(hints("ArticleBody").has(Hints::BODY) && hints("js post_content x").has(Hints::BODY));
        assert!(hints("siteSidebar left").has(Hints::BAD) && !hints("shadow addon").has(Hints::BAD));
        assert!(!hints("content").has(Hints::BODY) && hints("content").has(Hints::GOOD));
    }
}

//! Links as a page states them: not yet absolute, not yet judged.

use super::span::Span;

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `<a href>`, also inside SVG.
    Anchor,
    /// `<area href>`.
    Area,
    /// `<frame src>`, `<iframe src>`.
    Frame,
    /// `<img src>`, else the first of `srcset`; `<input type=image src>`; SVG `<image href>`.
    Image,
    /// `<video>`, `<audio>`, `<source>`, `<track>`, `<embed src>`, `<object data>`.
    Media,
    /// `<link rel=alternate>` of an RSS, Atom or JSON feed.
    Feed,
    /// `<link rel=alternate>` of anything else: translations, print versions.
    Alternate,
    Canonical,
    Next,
    Prev,
    /// `<link rel=index>` and other relations to pages of the same work: contents, first, last, up, chapter …
    Navigation,
    Stylesheet,
    Icon,
    Script,
    /// `<meta http-equiv=refresh>` with an address.
    Refresh,
}

impl LinkKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anchor => "anchor",
            Self::Area => "area",
            Self::Frame => "frame",
            Self::Image => "image",
            Self::Media => "media",
            Self::Feed => "feed",
            Self::Alternate => "alternate",
            Self::Canonical => "canonical",
            Self::Next => "next",
            Self::Prev => "prev",
            Self::Navigation => "navigation",
            Self::Stylesheet => "stylesheet",
            Self::Icon => "icon",
            Self::Script => "script",
            Self::Refresh => "refresh",
        }
    }
}

/// The words of `rel`, as flags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Rel(u16);

impl Rel {
    pub const NOFOLLOW: Rel = Rel(1);
    pub const UGC: Rel = Rel(2);
    pub const SPONSORED: Rel = Rel(4);
    pub const NOOPENER: Rel = Rel(8);
    pub const NOREFERRER: Rel = Rel(16);
    pub const ALTERNATE: Rel = Rel(32);
    pub const CANONICAL: Rel = Rel(64);
    pub const NEXT: Rel = Rel(128);
    pub const PREV: Rel = Rel(256);
    pub const STYLESHEET: Rel = Rel(512);
    pub const ICON: Rel = Rel(1024);
    pub const EXTERNAL: Rel = Rel(2048);
    pub const TAG: Rel = Rel(4096);
    pub const AUTHOR: Rel = Rel(8192);
    pub const BOOKMARK: Rel = Rel(16384);

    /// Any of [`Self::NAVIGATION_WORDS`].
    pub const NAVIGATION: Rel = Rel(32768);

    /// Relations to pages of the same work, of HTML 3.2 and 4 and of those that wrote more of them.
    const NAVIGATION_WORDS: [&'static str; 17] = [
        "index",
        "contents",
        "toc",
        "start",
        "first",
        "begin",
        "last",
        "end",
        "up",
        "top",
        "home",
        "chapter",
        "section",
        "subsection",
        "appendix",
        "glossary",
        "help",
    ];

    const WORDS: [(&'static str, Rel); 16] = [
        ("nofollow", Self::NOFOLLOW),
        ("ugc", Self::UGC),
        ("sponsored", Self::SPONSORED),
        ("noopener", Self::NOOPENER),
        ("noreferrer", Self::NOREFERRER),
        ("alternate", Self::ALTERNATE),
        ("canonical", Self::CANONICAL),
        ("next", Self::NEXT),
        ("prev", Self::PREV),
        ("previous", Self::PREV),
        ("stylesheet", Self::STYLESHEET),
        ("icon", Self::ICON),
        ("external", Self::EXTERNAL),
        ("tag", Self::TAG),
        ("author", Self::AUTHOR),
        ("bookmark", Self::BOOKMARK),
    ];

    /// Reads a `rel` value; unknown words are ignored.
    pub fn parse(value: &str) -> Self {
        let mut rel = Rel(0);
        for word in value.split_ascii_whitespace() {
            if let Some((_, flag)) = Self::WORDS.iter().find(|(w, _)| word.eq_ignore_ascii_case(w)) {
                rel.0 |= flag.0;
            } else if Self::NAVIGATION_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)) {
                rel.0 |= Self::NAVIGATION.0;
            }
        }
        rel
    }

    /// Whether any of the flags of `other` is set.
    pub fn has(self, other: Rel) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags as a number, for storage.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// The words whose flags are set, each once.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::WORDS.into_iter().filter(move |(w, f)| *w != "previous" && self.has(*f)).map(|(w, _)| w)
    }
}

/// One link. Spans named so point into [`crate::Extract::arena`] or [`crate::Extract::text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRef {
    /// The address as written, references decoded, white space trimmed, tabs and line ends removed (arena).
    pub href: Span,
    /// The anchor's words (text); empty at its place for links without any.
    pub anchor: Span,
    /// Images and areas: `alt`. Others: `title`, else the `alt` of the first image inside the anchor (arena).
    pub label: Span,
    pub rel: Rel,
    pub kind: LinkKind,
    /// 3 bold and italic, 2 either, 1 neither.
    pub visibility: u8,
    /// Where its first word stands in the visible text: 3 first third, 2 middle, 1 last.
    pub position: u8,
    /// It carries a `download` attribute.
    pub download: bool,
}

/// The third of the text that `offset` lies in, counted down from 3.
pub(crate) fn position(offset: u32, text_len: usize) -> u8 {
    let third = (u64::from(offset) * 3).checked_div(text_len as u64).unwrap_or(0);
    3 - third.min(2) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds() {
        assert_eq!(position(0, 0), 3);
        assert_eq!((position(0, 9), position(2, 9), position(3, 9)), (3, 3, 2));
        assert_eq!((position(5, 9), position(6, 9), position(9, 9)), (2, 1, 1));
    }

    #[test]
    fn rel_words() {
        let rel = Rel::parse(" NoFollow\tugc whatever previous");
        assert!(rel.has(Rel::NOFOLLOW) && rel.has(Rel::UGC) && rel.has(Rel::PREV) && !rel.has(Rel::NEXT));
        assert_eq!(rel.words().collect::<Vec<_>>(), ["nofollow", "ugc", "prev"]);
    }
}

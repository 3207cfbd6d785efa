//! What is judged of a page: its signatures, its prints, its main content.

use lycosa_page::{Content, ContentKind, Signatures, WinnowConfig, WinnowHash};
use serde::Serialize;

use crate::command::compare::picture::Picture;
use crate::command::compare::reading::Reading;
use crate::figures::{clip, count, plural};
use crate::table::Table;

/// Minutiae that are shown.
const SHOWN_PRINTS: usize = 8;
const SHORT_PRINTS: usize = 2;
const SHOWN_STRING: usize = 80;
const SHOWN_LEVELS: usize = 16;
const SHOWN_TEXT: usize = 300;
/// Characters of the structure strings in the JSON form.
const KEPT_STRING: usize = 512;

#[derive(Debug, Serialize)]
pub struct Judgement {
    pub signatures: SignatureView,
    pub prints: Prints,
    pub main: MainContent,
    /// What an image shows; null for anything else.
    pub picture: Option<Picture>,
}

/// Signatures as they are kept, digests in hexadecimal.
#[derive(Debug, Serialize)]
pub struct SignatureView {
    pub structure_one: TagStringsView,
    pub structure_two: LevelsView,
    pub text_one: f64,
    pub text_two: f64,
    pub digests: Digests,
}

#[derive(Debug, Serialize)]
pub struct TagStringsView {
    /// Start tags.
    pub tags: u32,
    /// First and last characters of their names, as many as are kept.
    pub first: String,
    pub last: String,
}

#[derive(Debug, Serialize)]
pub struct LevelsView {
    /// Elements on each level.
    pub level_sizes: Vec<u32>,
}

#[derive(Debug, Serialize)]
pub struct Digests {
    pub source: String,
    pub tag_strings: String,
    pub structure: String,
    pub structure_without_ads: String,
    pub text: String,
    pub main: Option<String>,
    pub links: String,
    pub images: String,
}

#[derive(Debug, Serialize)]
pub struct Prints {
    pub k: usize,
    pub w: usize,
    pub hash: &'static str,
    pub count: usize,
    /// The smallest few.
    pub smallest: Vec<String>,
}

/// The article without what surrounds it.
#[derive(Debug, Serialize)]
pub struct MainContent {
    pub title: String,
    pub author: Option<String>,
    pub published: Option<String>,
    pub modified: Option<String>,
    pub language: Option<String>,
    pub text: String,
}

impl Judgement {
    /// Judges the page that was scanned last, from `source`.
    pub fn of(
        reading: &mut Reading,
        source: &str,
        url: Option<&str>,
        config: WinnowConfig,
        picture: Option<Picture>,
    ) -> Self {
        let content = reading.content(source, url);
        let signed = reading.judger.sign(source, &reading.page, Some(&content.text));
        let minutiae = reading.judger.minutiae();
        let prints = Prints {
            k: config.k,
            w: config.w,
            hash: match config.hash {
                WinnowHash::Fast => "fast",
                WinnowHash::Md5 => "md5",
            },
            count: minutiae.len(),
            smallest: minutiae.iter().take(SHOWN_PRINTS).map(|&minutia| hex(minutia)).collect(),
        };
        Self { signatures: SignatureView::new(&signed), prints, main: MainContent::new(content), picture }
    }

    /// Rows for people.
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        let signed = &self.signatures;
        if let Some(picture) = &self.picture {
            table.row_if_any("picture", picture.line());
            return table;
        }
        table.row("structure I", plural(signed.structure_one.tags.into(), "start tag", "start tags"));
        table.row_if_any("  first", clip(&signed.structure_one.first, SHOWN_STRING));
        table.row_if_any("  last", clip(&signed.structure_one.last, SHOWN_STRING));
        let sizes = &signed.structure_two.level_sizes;
        let shown: Vec<String> = sizes.iter().take(SHOWN_LEVELS).map(u32::to_string).collect();
        let more = if sizes.len() > SHOWN_LEVELS { " …" } else { "" };
        table.row_if_any("structure II", format!("{}{more}", shown.join(" ")));
        table.row("text I, II", format!("{:.3}, {:.6}", signed.text_one, signed.text_two));
        let digests = &signed.digests;
        table.row("digests", format!("structure {}, text {}", digests.structure, digests.text));
        let prints = &self.prints;
        let (k, w, hash) = (prints.k, prints.w, prints.hash);
        let listed = plural(prints.count as u64, "minutia", "minutiae");
        let few = prints.smallest.iter().take(SHORT_PRINTS).map(String::as_str).collect::<Vec<_>>().join(" ");
        table.row("prints", format!("{listed} (K {k}, W {w}, {hash}) {few}").trim_end());
        let main = &self.main;
        let words = main.text.split_whitespace().count() as u64;
        table.row("main content", format!("{} words: {}", count(words), clip(&main.title, SHOWN_STRING)));
        for (name, value) in [
            ("  author", &main.author),
            ("  published", &main.published),
            ("  modified", &main.modified),
            ("  language", &main.language),
        ] {
            table.row_if_any(name, clip(value.as_deref().unwrap_or_default(), SHOWN_STRING));
        }
        table.row_if_any("  text", clip(&main.text, SHOWN_TEXT));
        table
    }
}

impl SignatureView {
    fn new(signed: &Signatures) -> Self {
        Self {
            structure_one: TagStringsView {
                tags: signed.tags,
                first: clip(&signed.first, KEPT_STRING),
                last: clip(&signed.last, KEPT_STRING),
            },
            structure_two: LevelsView { level_sizes: signed.levels.iter().map(|level| level.size).collect() },
            text_one: signed.text_code.one(),
            text_two: signed.text_code.two(),
            digests: Digests {
                source: hex(signed.body),
                tag_strings: hex(signed.tag_strings),
                structure: hex(signed.structure),
                structure_without_ads: hex(signed.quiet_structure),
                text: hex(signed.text),
                main: signed.main.map(hex),
                links: hex(signed.links),
                images: hex(signed.images),
            },
        }
    }
}

impl MainContent {
    fn new(content: Content) -> Self {
        let Content { text, title, author, published, modified, language } = content;
        Self { title, author, published, modified, language, text }
    }
}

/// The image behind a body, if it is one.
pub fn picture_of(kind: ContentKind, body: &[u8]) -> Option<Picture> {
    (kind == ContentKind::Image).then(|| Picture::read(body).1)
}

fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

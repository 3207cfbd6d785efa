//! References of pages, style sheets, SVG, feeds, sitemaps and web manifests: found and, on request, replaced.
//!
//! A document is read once from front to back. For every reference a callback says whether it stays or what stands there
//! instead; every other byte stays as it was. Bad input is no error: a reader that meets the end inside a tag, a string
//! or a comment stops there, as browsers do. The work is linear in the length of the input; [`Counts::work`] tells it.
//!
//! - [`markup`]: HTML, XHTML, SVG, sitemaps and feeds; [`elements`] knows which attribute of which element refers to what;
//! - [`css`]: style sheets, `<style>` and `style=`; [`srcset`], [`refresh`], [`json`]: the smaller languages;
//! - [`decoded`]: character references taken out of a value, and the way back to the bytes of the document;
//! - [`escape`]: replacements written so that the language around them reads them as they are meant.
//!
//! Documents are bytes in an encoding that contains ASCII. UTF-16 is left alone and counted as [`Counts::unreadable`].
//! Replacements are written in ASCII, so the encoding need not be known.

mod attributes;
mod css;
mod decoded;
mod edit;
mod elements;
mod entities;
mod escape;
mod finder;
mod json;
mod markup;
mod reference;
mod refresh;
mod srcset;

pub use finder::Counts;
pub use reference::{Place, Reference, Role, Verdict};

use edit::Edit;
use finder::Finder;

/// The language of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Html,
    /// XHTML, SVG, sitemaps, RSS, Atom.
    Xml,
    Css,
    /// A web app manifest.
    Manifest,
}

impl Language {
    /// By a media type with or without parameters; `None` for types whose references this crate doesn't know.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Some(match essence.as_str() {
            "text/html" => Self::Html,
            "text/css" => Self::Css,
            "application/manifest+json" | "application/x-web-app-manifest+json" => Self::Manifest,
            "text/xml" | "application/xml" => Self::Xml,
            other if other.ends_with("+xml") => Self::Xml,
            _ => return None,
        })
    }
}

/// Asks `decide` for every reference and writes the document to `out` with the replacements made.
pub fn rewrite(
    language: Language,
    input: &[u8],
    out: &mut Vec<u8>,
    decide: &mut dyn FnMut(&Reference<'_>) -> Verdict,
) -> Counts {
    let mut edits = Vec::new();
    let counts = find(language, input, decide, &mut edits);
    edit::apply(input, &edits, out);
    counts
}

/// Tells `tell` of every reference.
pub fn list(language: Language, input: &[u8], tell: &mut dyn FnMut(&Reference<'_>)) -> Counts {
    let mut decide = |reference: &Reference<'_>| {
        tell(reference);
        Verdict::Keep
    };
    find(language, input, &mut decide, &mut Vec::new())
}

fn find(
    language: Language,
    input: &[u8],
    decide: &mut dyn FnMut(&Reference<'_>) -> Verdict,
    edits: &mut Vec<Edit>,
) -> Counts {
    let mut finder = Finder::new(decide);
    if input.starts_with(b"\xff\xfe") || input.starts_with(b"\xfe\xff") {
        finder.counts.unreadable = true;
        return finder.counts;
    }
    match language {
        Language::Html => finder.markup(input, false, edits),
        Language::Xml => finder.markup(input, true, edits),
        Language::Css => finder.css(input, css::Of::Sheet, edits),
        Language::Manifest => finder.manifest(input, edits),
    }
    finder.counts
}

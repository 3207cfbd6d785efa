//! What a page says about its article: title, author, dates, language.
//!
//! Structured data (JSON-LD) is asked first, then `<meta>`, then the visible page, then the address.

use super::day;
use super::json_ld::{self, Statement};
use crate::extract::Extract;
use crate::links::Rel;
use crate::meta::DateKind;

/// Bytes of a title or a name that are kept.
const MAX_NAME: usize = 512;
/// Shorter texts say too little about their language.
const MIN_LANGUAGE_BYTES: usize = 160;
/// Bytes of text looked at for their language.
const MAX_LANGUAGE_BYTES: usize = 4096;

/// When the article was written, as ISO 8601.
#[derive(Debug, Default)]
pub(super) struct Dates {
    pub published: Option<String>,
    pub modified: Option<String>,
}

/// What the page's structured data say, read once.
pub(super) fn statement(source: &str, page: &Extract) -> Statement {
    json_ld::read(page.json_ld.iter().map(|span| span.of(source)))
}

/// The title of the article: as meant for sharing, else the structured headline, else the heading that the page's
/// title contains, else the title without the site's name.
pub(super) fn title(page: &Extract, said: &Statement) -> String {
    let arena = &page.arena;
    let site = page.meta.site_name.of(arena);
    let social = page.meta.social_title.of(arena);
    if !social.is_empty() {
        return cut(without_site(social, site));
    }
    if let Some(headline) = said.headline.as_deref().filter(|h| !h.is_empty()) {
        return cut(headline);
    }
    let mut tops = page.headings.iter().filter(|h| h.level == 1).map(|h| h.text.of(&page.text));
    let title = page.title();
    if let Some(heading) = tops.clone().find(|h| h.len() > 2 && title.contains(h)) {
        return cut(heading);
    }
    if title.is_empty() {
        return cut(tops.next().unwrap_or(""));
    }
    cut(without_site(title, site))
}

/// `Headline | Site` → `Headline`. Without a known name, the first part is taken if it has most of the words.
fn without_site<'t>(title: &'t str, site: &str) -> &'t str {
    const MARKS: [&str; 7] = [" | ", " — ", " – ", " - ", " :: ", " » ", " · "];
    for mark in MARKS {
        if let Some((head, tail)) = title.rsplit_once(mark) {
            let named = !site.is_empty() && tail.trim().eq_ignore_ascii_case(site);
            let words = |s: &str| s.split_whitespace().count();
            if named || (words(head) >= 3 && words(head) > words(tail)) {
                return head.trim();
            }
        }
    }
    title
}

pub(super) fn author(page: &Extract, said: &Statement) -> Option<String> {
    let stated = page.meta.author.of(&page.arena).trim();
    let linked = page.links.iter().find(|l| l.rel.has(Rel::AUTHOR)).map(|l| page.anchor(l).trim());
    let names = [said.author.as_deref(), Some(stated), linked];
    let is_name =
        |n: &&str| !n.is_empty() && !n.contains("://") && !n.starts_with(['/', '@']) && n.len() <= MAX_NAME;
    names.into_iter().flatten().find(is_name).map(cut)
}

pub(super) fn dates(page: &Extract, said: &Statement, url: Option<&str>) -> Dates {
    let meta = |kind: DateKind| {
        let mut dates = page.meta.dates.iter().filter(move |d| d.kind == kind);
        dates.find_map(|d| day::read(d.value.of(&page.arena)))
    };
    let said_day = |value: &Option<String>| value.as_deref().and_then(day::read);
    let published = said_day(&said.published)
        .or_else(|| meta(DateKind::Published))
        .or_else(|| meta(DateKind::Unstated))
        .or_else(|| page.times.iter().find_map(|t| day::read(t.of(&page.arena))))
        .or_else(|| url.and_then(day::in_url));
    let modified = said_day(&said.modified).or_else(|| meta(DateKind::Modified));
    Dates { published, modified }
}

/// As the page states it, else as the text reads, if there is enough of it.
pub(super) fn language(page: &Extract, text: &str) -> Option<String> {
    let stated = page.lang().split(['-', '_', ',']).next().unwrap_or("").trim().to_ascii_lowercase();
    if matches!(stated.len(), 2 | 3) && stated.bytes().all(|b| b.is_ascii_lowercase()) {
        return Some(stated);
    }
    let sample = text.get(..text.floor_char_boundary(MAX_LANGUAGE_BYTES)).unwrap_or("");
    if sample.len() < MIN_LANGUAGE_BYTES {
        return None;
    }
    let info = whatlang::detect(sample)?;
    info.is_reliable().then(|| two_letters(info.lang().code()).to_owned())
}

/// ISO 639-1 for the three-letter codes of the detector; those without one stay.
fn two_letters(code: &'static str) -> &'static str {
    const CODES: [(&str, &str); 68] = [
        ("afr", "af"),
        ("aka", "ak"),
        ("amh", "am"),
        ("ara", "ar"),
        ("aze", "az"),
        ("bel", "be"),
        ("ben", "bn"),
        ("bul", "bg"),
        ("cat", "ca"),
        ("ces", "cs"),
        ("cmn", "zh"),
        ("cym", "cy"),
        ("dan", "da"),
        ("deu", "de"),
        ("ell", "el"),
        ("eng", "en"),
        ("epo", "eo"),
        ("est", "et"),
        ("fin", "fi"),
        ("fra", "fr"),
        ("guj", "gu"),
        ("heb", "he"),
        ("hin", "hi"),
        ("hrv", "hr"),
        ("hun", "hu"),
        ("hye", "hy"),
        ("ind", "id"),
        ("ita", "it"),
        ("jav", "jv"),
        ("jpn", "ja"),
        ("kan", "kn"),
        ("kat", "ka"),
        ("khm", "km"),
        ("kor", "ko"),
        ("lat", "la"),
        ("lav", "lv"),
        ("lit", "lt"),
        ("mal", "ml"),
        ("mar", "mr"),
        ("mkd", "mk"),
        ("mya", "my"),
        ("nep", "ne"),
        ("nld", "nl"),
        ("nob", "nb"),
        ("ori", "or"),
        ("pan", "pa"),
        ("pes", "fa"),
        ("pol", "pl"),
        ("por", "pt"),
        ("ron", "ro"),
        ("rus", "ru"),
        ("sin", "si"),
        ("slk", "sk"),
        ("slv", "sl"),
        ("sna", "sn"),
        ("spa", "es"),
        ("srp", "sr"),
        ("swe", "sv"),
        ("tam", "ta"),
        ("tel", "te"),
        ("tgl", "tl"),
        ("tha", "th"),
        ("tuk", "tk"),
        ("tur", "tr"),
        ("ukr", "uk"),
        ("urd", "ur"),
        ("uzb", "uz"),
        ("vie", "vi"),
    ];
    CODES.iter().find(|(long, _)| *long == code).map_or(code, |(_, short)| short)
}

fn cut(name: &str) -> String {
    name.get(..name.floor_char_boundary(MAX_NAME)).unwrap_or("").trim().to_owned()
}

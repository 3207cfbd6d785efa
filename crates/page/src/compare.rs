//! The cascade over two visits: structure, then text, then image; the first that fires is the verdict.
//!
//! Each step asks the papers' codes first and the exact digests behind them, and sets noise aside. The report names the
//! signal that fired, how much of the text the visits still share, and where they differ. Nothing is missed: if bytes
//! differ and no step fires, the verdict is `noise`, never `unchanged`.

use super::host_template::HostTemplate;
use super::level_order::changed_levels;
use super::line_store::Core;
use super::reason::{Explained, NoiseMode};
use super::signature::{SKETCH_SIZE, Signatures};
use super::sorting::Sorting;
use serde::{Deserialize, Serialize};

/// Places named in one report.
pub const MAX_PLACES: usize = 32;

/// What became of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Unchanged,
    /// Something differs, but it is no news.
    Noise,
    Structure,
    Text,
    Image,
    /// Only what stands around the main content changed: navigation, margins, widgets.
    Around,
}

/// What told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// All of it is equal.
    Nothing,
    /// Structure I: the strings of first and last characters.
    TagStrings,
    /// Structure II: sizes and shapes of the levels.
    Levels,
    /// Exact digest of the tree.
    StructureDigest,
    /// The set of link addresses.
    Links,
    /// Text I.
    TextOne,
    /// Text II.
    TextTwo,
    /// Exact digest of the text.
    TextDigest,
    /// The title alone.
    Title,
    /// Other images, or other labels.
    ImageAddresses,
    /// `ival` of an image.
    ImageValue,
    /// Perceptual hash of an image.
    ImageLook,
    /// Exact digest of an image.
    ImageDigest,
    /// Only noise: attributes, comments, scripts, or lines that come and go.
    Bytes,
}

/// How much changed, by the share of shingles in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// None in common.
    Complete,
    /// Less than 30 %.
    Large,
    /// 30 to 70 %.
    Medium,
    /// 70 to 99 %.
    Small,
    /// All.
    None,
}

impl Extent {
    pub fn of(share: f64) -> Self {
        match share {
            s if s <= 0.0 => Self::Complete,
            s if s < 0.3 => Self::Large,
            s if s < 0.7 => Self::Medium,
            s if s < 1.0 => Self::Small,
            _ => Self::None,
        }
    }
}

/// Where a text changed, if the main content of both visits is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The article itself.
    MainContent,
    /// Navigation, margins, lists of other pages: not the article.
    AroundMainContent,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub verdict: Verdict,
    pub signal: Signal,
    /// Estimated share of shingles in common.
    pub share: f64,
    pub extent: Extent,
    /// The text changed too (a structure change does not look further, but the report may).
    pub text_changed: bool,
    /// Where it did.
    pub place: Option<Place>,
    /// Number (from 1) of the first start tag that differs, if it is among those kept.
    pub first_tag: Option<u32>,
    /// Levels (from 1) that differ.
    pub levels: Vec<u32>,
    /// Numbers (from 1) of lines of the new page that are news, and of the old page that are gone.
    pub new_lines: Vec<u32>,
    pub old_lines: Vec<u32>,
    /// Lines that differ and are noise, or around the content.
    pub noise_lines: u32,
    /// Some of them, each with its reason.
    pub explained: Vec<Explained>,
}

/// Compares two visits by their signatures, both of this version ([`Signatures::check`]); `template` is what was learnt
/// of the host. Images are left to the image comparison, which is worth asking only if this says `unchanged` or `noise`.
pub fn compare(old: &Signatures, new: &Signatures, template: Option<&HostTemplate>) -> Comparison {
    compare_as(old, new, template, NoiseMode::Normal)
}

/// As [`compare`], with a say about what may be called noise.
pub fn compare_as(
    old: &Signatures,
    new: &Signatures,
    template: Option<&HostTemplate>,
    mode: NoiseMode,
) -> Comparison {
    let template = template.filter(|_| mode == NoiseMode::Normal);
    let mut report = Comparison {
        verdict: Verdict::Unchanged,
        signal: Signal::Nothing,
        share: 1.0,
        extent: Extent::None,
        text_changed: false,
        place: None,
        first_tag: None,
        levels: Vec::new(),
        new_lines: Vec::new(),
        old_lines: Vec::new(),
        noise_lines: 0,
        explained: Vec::new(),
    };
    if old.body == new.body && old.version == new.version {
        return report;
    }
    let text = judge_text(old, new, template, mode, &mut report);
    report.text_changed = text.is_some();
    report.place = match (old.main, new.main) {
        (Some(a), Some(b)) if report.text_changed && a == b => Some(Place::AroundMainContent),
        (Some(_), Some(_)) if report.text_changed => Some(Place::MainContent),
        _ => None,
    };
    report.share = match report.text_changed {
        // Shared minutiae cannot tell a small change from none: the digest does.
        true => share(&old.sketch, &new.sketch).min(0.999),
        false => 1.0,
    };
    report.extent = Extent::of(report.share);
    let structure = judge_structure(old, new, &mut report);
    let apart = Apart::of(old, new, template, mode, text.is_some());
    let links = (old.links != new.links).then_some(Signal::Links);
    let images = (old.images != new.images).then_some(Signal::ImageAddresses);
    let seen = [(structure, apart.structure), (links, apart.links), (images, apart.images)];
    let around = seen.iter().find_map(|&(signal, is_apart)| signal.filter(|_| is_apart));
    let [structure, links, images] = seen.map(|(signal, is_apart)| signal.filter(|_| !is_apart));
    let line_around = report.explained.iter().any(|line| line.reason.is_around());
    (report.verdict, report.signal) = match (structure, text) {
        (Some(signal), _) => (Verdict::Structure, signal),
        (None, Some(signal)) => (Verdict::Text, signal),
        (None, None) if links.is_some() => (Verdict::Structure, Signal::Links),
        (None, None) if images.is_some() => (Verdict::Image, Signal::ImageAddresses),
        (None, None) if line_around => (Verdict::Around, Signal::TextDigest),
        (None, None) => match around {
            Some(signal) => (Verdict::Around, signal),
            None if mode == NoiseMode::Off => (Verdict::Structure, Signal::Bytes),
            None => (Verdict::Noise, Signal::Bytes),
        },
    };
    if report.verdict == Verdict::Around {
        report.place = Some(Place::AroundMainContent);
    }
    report
}

/// Which of structure, links and images changed around the content alone, or as they did on most pages of the host.
#[derive(Debug, Clone, Copy)]
struct Apart {
    structure: bool,
    links: bool,
    images: bool,
}

impl Apart {
    fn of(
        old: &Signatures,
        new: &Signatures,
        template: Option<&HostTemplate>,
        mode: NoiseMode,
        text_changed: bool,
    ) -> Self {
        let none = Self { structure: false, links: false, images: false };
        if mode != NoiseMode::Normal {
            return none;
        }
        // What most pages do counts only where the text says nothing else.
        let everywhere = !text_changed && template.is_some_and(|template| template.explains_markup(old, new));
        let (Some(a), Some(b)) = (old.lines.core, new.lines.core) else { return none };
        let same = |field: fn(&Core) -> u64| everywhere || field(&a) == field(&b);
        Self {
            structure: same(|core| core.structure),
            links: same(|core| core.links),
            images: same(|core| core.images),
        }
    }
}

/// The signal that says the tree changed outside advertisements.
fn judge_structure(old: &Signatures, new: &Signatures, report: &mut Comparison) -> Option<Signal> {
    if old.structure == new.structure || old.quiet_structure == new.quiet_structure {
        return None;
    }
    report.levels = changed_levels(&old.levels, &new.levels);
    if old.tag_strings != new.tag_strings || old.tags != new.tags {
        report.first_tag = first_difference(old, new);
        Some(Signal::TagStrings)
    } else if !report.levels.is_empty() {
        Some(Signal::Levels)
    } else {
        Some(Signal::StructureDigest)
    }
}

fn first_difference(old: &Signatures, new: &Signatures) -> Option<u32> {
    let differ = |a: &str, b: &str| {
        let same = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
        (same < a.chars().count() || same < b.chars().count()).then_some(same as u32 + 1)
    };
    let (first, last) = (differ(&old.first, &new.first), differ(&old.last, &new.last));
    first.into_iter().chain(last).min()
}

/// The signal that says the text changed beyond noise.
fn judge_text(
    old: &Signatures,
    new: &Signatures,
    template: Option<&HostTemplate>,
    mode: NoiseMode,
    report: &mut Comparison,
) -> Option<Signal> {
    let mut fired = None;
    let sorting = Sorting { template, mode, in_title: false };
    if old.text != new.text {
        let noise = sorting.sort(&old.lines, &new.lines, report);
        let differs = !report.new_lines.is_empty() || !report.old_lines.is_empty();
        // Lines left out differ, or words changed places in a way that no line shows: that is text, place unknown.
        let unseen = old.lines.shapes != new.lines.shapes || old.lines.words != new.lines.words || noise == 0;
        if differs || unseen {
            fired = Some(match (old.text_code, new.text_code) {
                (a, b) if a.one().to_bits() != b.one().to_bits() => Signal::TextOne,
                (a, b) if a.two().to_bits() != b.two().to_bits() => Signal::TextTwo,
                _ => Signal::TextDigest,
            });
        }
    }
    if fired.is_none() && old.title != new.title {
        let mut title = Comparison { new_lines: Vec::new(), old_lines: Vec::new(), ..report.clone() };
        Sorting { in_title: true, ..sorting }.sort(&old.title, &new.title, &mut title);
        if !title.new_lines.is_empty() || !title.old_lines.is_empty() {
            fired = Some(Signal::Title);
        }
    }
    fired
}

/// Resemblance estimated from two sketches: the share of common values among the smallest of both.
pub fn share(a: &[u32], b: &[u32]) -> f64 {
    let (mut i, mut j, mut common, mut seen) = (0, 0, 0u32, 0u32);
    // Beyond the end of a full sketch nothing is known.
    while seen < SKETCH_SIZE as u32 {
        let (x, y) = (a.get(i), b.get(j));
        let full = |s: &[u32]| s.len() >= SKETCH_SIZE;
        match (x, y) {
            (None, None) => break,
            (None, _) if full(a) => break,
            (_, None) if full(b) => break,
            (x, y) => {
                let (take_a, take_b) = (
                    y.is_none_or(|y| x.is_some_and(|x| x <= y)),
                    x.is_none_or(|x| y.is_some_and(|y| y <= x)),
                );
                common += u32::from(take_a && take_b);
                i += usize::from(take_a);
                j += usize::from(take_b);
                seen += 1;
            }
        }
    }
    if seen == 0 { 1.0 } else { f64::from(common) / f64::from(seen) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extract, Judger, Limits, Scanner};

    fn sign(html: &str) -> Signatures {
        let mut page = Extract::new();
        Scanner::new(Limits::default()).scan(html, &mut page);
        Judger::default().sign(html, &page, None)
    }

    fn judge(old: &str, new: &str) -> (Verdict, Signal) {
        let report = compare(&sign(old), &sign(new), None);
        (report.verdict, report.signal)
    }

    #[test]
    fn the_first_step_that_fires_decides() {
        let old = "<title>t</title><p>wolf spiders hunt</p><p>Views: 12</p><img src=a.png><a href=/x>x</a>";
        assert_eq!(judge(old, old), (Verdict::Unchanged, Signal::Nothing));
        assert_eq!(judge(old, &old.replace("<p>wolf", "<p class=x>wolf")), (Verdict::Noise, Signal::Bytes));
        assert_eq!(judge(old, &old.replace("12", "13")), (Verdict::Noise, Signal::Bytes));
        assert_eq!(judge(old, &old.replace("hunt", "hunted")), (Verdict::Text, Signal::TextOne));
        assert_eq!(
            judge(old, &old.replace("wolf spiders", "spiders wolf")),
            (Verdict::Text, Signal::TextDigest)
        );
        assert_eq!(
            judge(old, &old.replace("<p>wolf", "<pre>wolf")),
            (Verdict::Structure, Signal::TagStrings)
        );
        assert_eq!(judge(old, &old.replace("<title>t", "<title>u")), (Verdict::Text, Signal::Title));
        assert_eq!(judge(old, &old.replace("a.png", "b.png")), (Verdict::Image, Signal::ImageAddresses));
        assert_eq!(judge(old, &old.replace("=/x", "=/y")), (Verdict::Structure, Signal::Links));
        assert_eq!(
            judge("<div><p>a</p></div><i>b</i>", "<div><p>a</p><i>b</i></div>"),
            (Verdict::Structure, Signal::Levels)
        );
    }

    #[test]
    fn news_around_the_main_content_is_told_from_news_in_it() {
        let visit = |beside: &str, article: &str| {
            let html = format!(
                "<body><nav><a href=/>{beside}</a></nav><div class=entry-content><p>{article}, with all that belongs to \
                 it, and more.</p><p>Updated 3 hours ago</p></div><aside><p>{beside}</p></aside>"
            );
            let mut page = Extract::new();
            Scanner::new(Limits::default()).scan(&html, &mut page);
            let main = crate::ContentReader::default().main_text(&html, &page);
            assert!(main.contains(article) && !main.contains(beside), "{main}");
            Judger::default().sign(&html, &page, Some(&main))
        };
        let old = visit("Elsewhere", "Wolf spiders hunt alone, at night");
        let told = |new: Signatures| {
            let report = compare(&old, &new, None);
            (report.verdict, report.place)
        };
        let article = "Wolf spiders hunt alone, at night";
        assert_eq!(
            told(visit("Other places", article)),
            (Verdict::Text, Some(Place::AroundMainContent)),
            "still news: nothing is lost"
        );
        assert_eq!(
            told(visit("Elsewhere", "Wolf spiders hunt alone, by day")),
            (Verdict::Text, Some(Place::MainContent))
        );
        assert_eq!(told(old.clone()), (Verdict::Unchanged, None));
    }

    #[test]
    fn links_around_the_content_are_told_apart() {
        let page = |widget: &str, main: &str, alert: &str| {
            format!(
                "<header><p>{alert}</p></header><h1>Wolf spiders</h1><p>{main}, with all that belongs to it, and more</p>\
                 <p>And so on, and on</p><aside class=recent-posts>{widget}</aside><p>price 12</p>"
            )
        };
        let old = page("<ul><li><a href=/a>First post</a></ul>", "They hunt", "Welcome");
        let told = |new: &str| judge(&old, new).0;
        let more = "<ul><li><a href=/b>Second post</a><li><a href=/a>First post</a></ul>";
        assert_eq!(told(&page(more, "They hunt", "Welcome")), Verdict::Around);
        assert_eq!(told(&page(more, "They rest", "Welcome")), Verdict::Text, "it hides no change within");
        assert_eq!(
            told(&page("<ul><li><a href=/a>First post</a></ul>", "They hunt", "Closed today")),
            Verdict::Text
        );
        let priced = page("<ul><li><a href=/a>First post, $20</a></ul>", "They hunt", "Welcome");
        assert_eq!(told(&priced), Verdict::Text, "a price is news wherever it stands");
    }

    #[test]
    fn places_are_named() {
        let report = compare(&sign("<p>a<p>b<p>c<p>d"), &sign("<p>a<p>x<p>c<p>d<p>e"), None);
        assert_eq!(
            (report.verdict, report.first_tag, &report.levels[..]),
            (Verdict::Structure, Some(5), &[1][..])
        );
        assert_eq!((&report.old_lines[..], &report.new_lines[..]), (&[2][..], &[2, 5][..]));
    }

    #[test]
    fn advertisements_are_noise() {
        let page = |ad: &str| format!("<p>news</p><div class=ad>{ad}</div><p>more</p>");
        assert_eq!(judge(&page("buy"), &page("sell <b>now</b> or never")), (Verdict::Noise, Signal::Bytes));
    }

    #[test]
    fn extents() {
        let classes = [0.0, 0.29, 0.3, 0.69, 0.7, 0.99, 1.0].map(Extent::of);
        use Extent::*;
        assert_eq!(classes, [Complete, Large, Medium, Medium, Small, Small, None]);
        assert_eq!(share(&[], &[]), 1.0);
        assert_eq!(share(&[1, 2, 3], &[2, 3, 4]), 0.5);
        let many: Vec<u32> = (0..SKETCH_SIZE as u32).collect();
        let odd: Vec<u32> = many.iter().map(|n| n * 2).collect();
        assert_eq!(share(&many, &odd), 0.5);
    }
}

//! Kinds of change on pages that people watch, each labelled news or noise, and pages that have them: in five languages
//! and three markups, no page like another. Everything follows from numbers: no clock, no chance.

#![allow(dead_code)]

mod noise;
pub mod score;
mod words;

pub use noise::NOISE;
pub use words::NEWS;

/// English, German, French, Spanish, Italian.
pub const LANGUAGES: [&str; 5] = ["en", "de", "fr", "es", "it"];
pub const MARKUPS: [&str; 3] = ["html5", "div", "table"];

/// A kind of change: its name, and what the pages say where they change, in each language. What stands in braces differs
/// from page to page and from version to version; see [`fill`].
pub struct Kind {
    pub name: &'static str,
    pub says: [&'static str; 5],
    /// Beside the content rather than in it.
    pub aside: bool,
}

/// A kind of change that reads the same in all languages.
pub const fn everywhere(name: &'static str, says: &'static str) -> Kind {
    Kind { name, says: [says; 5], aside: false }
}

pub const fn kind(name: &'static str, says: [&'static str; 5]) -> Kind {
    Kind { name, says, aside: false }
}

pub const fn beside(name: &'static str, says: [&'static str; 5]) -> Kind {
    Kind { name, says, aside: true }
}

fn mix(n: u64) -> u64 {
    let x = (n ^ (n >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

const WORDS: [[&str; 16]; 5] = [
    [
        "river", "garden", "bridge", "market", "school", "tower", "forest", "harbour", "library", "museum",
        "station", "valley", "village", "castle", "island", "mountain",
    ],
    [
        "Fluss",
        "Garten",
        "Brücke",
        "Markt",
        "Schule",
        "Turm",
        "Wald",
        "Hafen",
        "Bücherei",
        "Museum",
        "Bahnhof",
        "Tal",
        "Dorf",
        "Schloss",
        "Insel",
        "Berg",
    ],
    [
        "rivière", "jardin", "pont", "marché", "école", "tour", "forêt", "port", "musée", "gare", "vallée",
        "village", "château", "île", "montagne", "lac",
    ],
    [
        "río",
        "jardín",
        "puente",
        "mercado",
        "escuela",
        "torre",
        "bosque",
        "puerto",
        "museo",
        "estación",
        "valle",
        "pueblo",
        "castillo",
        "isla",
        "montaña",
        "lago",
    ],
    [
        "fiume", "giardino", "ponte", "mercato", "scuola", "torre", "bosco", "porto", "museo", "stazione",
        "valle", "paese", "castello", "isola", "montagna", "lago",
    ],
];

/// A word of the language, by number.
fn word(language: usize, n: u64) -> &'static str {
    WORDS[language][mix(n) as usize % 16]
}

/// What a page says where it changes. `{n}` is a number of its own, `{v}` one that changes, `{u}` one that grows, `{p}` a
/// price, `{f}` a number with decimals, `{d}` `{e}` days as numbers, `{t}` a time, `{x}` a token, `{w}` a word that changes,
/// `{o}` one of its own, `{r}` one of five texts in turn, `{q}` one that is the same on all pages, `{a}` `{b}` one of the two
/// words in turn that stand behind it up to the next brace: `{a|open|closed}`.
fn fill(template: &str, language: usize, page: u64, version: u64) -> String {
    let seed = mix(page * 1000 + version);
    let mut out = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        out.push_str(&rest[..start]);
        let end = rest[start..].find('}').map_or(rest.len(), |end| start + end);
        let hole = &rest[start + 1..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let day = |v: u64| (1 + (page + v) % 28, 1 + (page / 3 + v) % 12);
        let said = match hole.split('|').collect::<Vec<_>>()[..] {
            ["n"] => (page * 37 % 900 + 11).to_string(),
            ["v"] => (seed % 7 + (version * 8 + page * 5) % 80 + 2).to_string(),
            ["u"] => (1000 + page * 17 + version * 3).to_string(),
            ["p"] => format!("{}.{:02}", 10 + (page * 13 + version * 7) % 900, seed % 100),
            ["f"] => format!("{}.{}", 1 + (page + version) % 30, 10 + seed % 89),
            ["d"] => format!("2031-{:02}-{:02}", day(version).1, day(version).0),
            ["e"] => format!("{}.{}.2031", day(version).0, day(version).1),
            ["t"] => format!("{:02}:{:02}", 6 + (page + version) % 14, 5 * ((seed >> 8) % 12)),
            ["x"] => format!("a{:015x}", seed >> 4),
            ["w"] => format!("{}{}", word(language, seed), word(language, seed >> 7)),
            ["o"] => format!("{}-{}", word(language, page), word(language, page * 31 + 7)),
            ["r"] => {
                let n = (page + version) % 5;
                format!(
                    "{} {} {}",
                    word(language, n * 3),
                    word(language, n * 5 + 1),
                    word(language, n * 7 + 40)
                )
            }
            ["q"] => format!("{}{}", word(language, version * 77), word(language, version * 3 + 5)),
            ["a", one, other] => if version.is_multiple_of(2) { one } else { other }.to_owned(),
            ref unknown => unknown.join("|"),
        };
        out.push_str(&said);
    }
    out + rest
}

/// A page of a host in a version.
pub fn page(kind: &Kind, language: usize, markup: usize, number: u64, version: u64) -> String {
    let said = fill(kind.says[language], language, number, version);
    let own = |n: u64| {
        let of = |at: u64| word(language, number * 131 + n * 17 + at);
        (0..18).map(|at| format!("{} ", of(at))).collect::<String>()
    };
    let title = format!("{} {} {number}", word(language, number), word(language, number * 7));
    let menu: String = (0..5).map(|n| format!("<li><a href=/m{n}>{}</a>", word(language, 900 + n))).collect();
    let (within, apart) = if kind.aside { (String::new(), said) } else { (said, String::new()) };
    let (one, two, three) = (own(1), own(2), own(3));
    match markup {
        0 => format!(
            "<!doctype html><html lang={}><title>{title}</title><header><nav><ul>{menu}</ul></nav></header><main><article>\
             <h1>{title}</h1><p>{one}.</p>{within}<p>{two}.</p><p>{three}.</p></article></main><aside>{apart}</aside>\
             <footer><p>{}</p></footer></html>",
            LANGUAGES[language],
            word(language, 77),
        ),
        1 => format!(
            "<html><head><title>{title}</title></head><body><div class=menu><ul>{menu}</ul></div><div class=content><h1>{title}\
             </h1><div class=text>{one}.</div><div class=item>{within}</div><div class=text>{two}.</div><div class=text>{three}.\
             </div></div><div class=sidebar>{apart}</div><div class=footer>{}</div></body></html>",
            word(language, 77),
        ),
        _ => format!(
            "<html><title>{title}</title><table><tr><td class=nav><ul>{menu}</ul><td><h1>{title}</h1><p>{one}.<br>{two}.<p>\
             {within}<p>{three}.<td class=related>{apart}</table></html>"
        ),
    }
}

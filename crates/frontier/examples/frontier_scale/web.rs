//! A web that is only numbers: page n has one URL, hosts share the pages by a power law, links lead to new pages and to
//! known ones. Nothing of it is stored, so that 100 million URLs cost the benchmark no memory.

use std::fmt::Write as _;

use lycosa_types::UrlKey;

/// Pages found together on one host.
const RUN: u64 = 8;
const WORDS: [&str; 16] = [
    "archive", "notes", "river", "market", "winter", "paper", "garden", "signal", "harbour", "letters",
    "museum", "orchard", "report", "station", "theory", "window",
];

/// What a page links to.
#[derive(Debug, Default)]
pub struct Links {
    text: String,
    ends: Vec<u32>,
    keys: Vec<UrlKey>,
}

impl Links {
    pub fn iter(&self) -> impl Iterator<Item = (&str, UrlKey)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends).map(|(from, &to)| &self.text[from as usize..to as usize]);
        spans.zip(self.keys.iter().copied())
    }
}

/// The web as far as it was met: pages below `met` were linked to at least once.
#[derive(Debug)]
pub struct Web {
    hosts: f64,
    pages: u64,
    met: u64,
    links_per_page: u32,
    new_per_page: u32,
    random: u64,
}

impl Web {
    /// `links_per_page` links a page, one in `sightings` of them to a page nobody linked to before.
    pub fn new(pages: u64, hosts: u64, links_per_page: u32, sightings: u32) -> Self {
        let new_per_page = (links_per_page / sightings.max(1)).max(1);
        Self { hosts: hosts as f64, pages, met: 0, links_per_page, new_per_page, random: 7 }
    }

    /// The first pages, which nobody links to.
    pub fn seeds(&mut self, count: u64) -> Links {
        let mut links = Links::default();
        for _ in 0..count.min(self.pages) {
            self.add(self.met, &mut links);
            self.met += 1;
        }
        links
    }

    /// A page's links, new and known ones mixed.
    pub fn links(&mut self) -> Links {
        let count = self.links_per_page as usize;
        let mut links = Links {
            text: String::with_capacity(count * 80),
            ends: Vec::with_capacity(count),
            keys: Vec::with_capacity(count),
        };
        let new_every = self.links_per_page / self.new_per_page;
        for number in 0..self.links_per_page {
            if number % new_every == new_every - 1 && self.met < self.pages {
                self.add(self.met, &mut links);
                self.met += 1;
            } else {
                let known = self.known();
                self.add(known, &mut links);
            }
        }
        links
    }

    /// A page met before: one half anywhere, one quarter among the popular, one quarter among the latest.
    fn known(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = mix(self.random);
        let share = unit(bits);
        let number = match bits & 3 {
            0 | 1 => (share * self.met as f64) as u64,
            2 => (self.met as f64).powf(share) as u64,
            _ => self.met - ((self.met.min(100_000)) as f64 * share) as u64,
        };
        number.min(self.met.saturating_sub(1))
    }

    fn add(&self, page: u64, links: &mut Links) {
        let from = links.text.len();
        self.write_url(page, &mut links.text);
        links.keys.push(UrlKey::of(&links.text[from..]));
        links.ends.push(links.text.len() as u32);
    }

    /// The URL of a page, in canonical form: about 75 bytes.
    pub fn write_url(&self, page: u64, out: &mut String) {
        let host = self.hosts.powf(unit(mix(page / RUN))) as u64;
        let bits = mix(page ^ 0xABCD_EF01) as usize;
        let word = |shift: usize| WORDS[(bits >> shift) & 15];
        let name = WORDS[(mix(host) & 15) as usize];
        let parts = [
            "https://www.",
            name,
            "-",
            "",
            ".example/",
            word(0),
            "/",
            word(4),
            "-",
            word(8),
            "-",
            word(12),
            "-",
        ];
        for part in parts {
            if part.is_empty() {
                push_number(host, out);
            } else {
                out.push_str(part);
            }
        }
        push_number(page, out);
        out.push_str(".html");
    }
}

fn push_number(number: u64, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{number}");
}

fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// 0 to 1, from the upper bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

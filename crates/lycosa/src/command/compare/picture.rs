//! Two images, or what one shows.

use std::io::Write;

use anyhow::Result;
use lycosa_page::picture::SIDES;
use lycosa_page::{Look, PictureMark, Signal, Verdict, compare_pictures};
use serde::Serialize;

use super::word;
use crate::table::Table;

/// What is kept of an image.
#[derive(Debug, Serialize)]
pub struct Picture {
    /// Digest of its bytes.
    pub bytes: String,
    #[serde(flatten)]
    pub look: Option<Shown>,
    /// Why it could not be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Shown {
    pub width: u32,
    pub height: u32,
    /// For squares of 16, 32 and 64; as text, since they are wider than what JSON's readers keep.
    pub ival: [String; SIDES.len()],
    /// The difference hash.
    pub hash: String,
    /// Digest of the decoded pixels.
    pub pixels: String,
}

impl Picture {
    /// The same address for all: files are compared by what they hold.
    pub fn read(body: &[u8]) -> (PictureMark, Self) {
        let (mark, error) = PictureMark::of("", body);
        let shown = |look: &Look| Shown {
            width: look.width,
            height: look.height,
            ival: look.ival.map(|ival| ival.to_string()),
            hash: format!("{:016x}", look.hash),
            pixels: format!("{:016x}", look.pixels),
        };
        let picture = Self {
            bytes: format!("{:016x}", mark.bytes),
            look: mark.look.as_ref().map(shown),
            error: error.map(|error| error.to_string()),
        };
        (mark, picture)
    }

    /// `640×480, ival 1 2 3, hash 0123456789abcdef`.
    pub fn line(&self) -> String {
        match (&self.look, &self.error) {
            (Some(look), _) => {
                format!("{}×{}, ival {}, hash {}", look.width, look.height, look.ival.join(" "), look.hash)
            }
            (None, Some(error)) => error.clone(),
            (None, None) => String::new(),
        }
    }
}

/// The verdict on two images and what it rests on.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    old: &'a str,
    new: &'a str,
    kind: &'static str,
    verdict: Verdict,
    signal: Signal,
    /// Bits of the difference hash that differ, of 64.
    hash_distance: Option<u32>,
    /// Largest difference of a mean colour, of 255.
    colour_distance: Option<u8>,
    old_picture: Picture,
    new_picture: Picture,
}

impl<'a> Report<'a> {
    pub fn of(old: &'a str, new: &'a str, old_body: &[u8], new_body: &[u8]) -> Self {
        let ((before, old_picture), (after, new_picture)) =
            (Picture::read(old_body), Picture::read(new_body));
        let looks = before.look.as_ref().zip(after.look.as_ref());
        let (verdict, signal) = judge(&before, &after);
        Self {
            old,
            new,
            kind: "image",
            verdict,
            signal,
            hash_distance: looks.map(|(a, b)| a.distance(b)),
            colour_distance: looks.map(|(a, b)| a.colour_distance(b)),
            old_picture,
            new_picture,
        }
    }

    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut table = Table::new();
        table.row("verdict", word(self.verdict));
        table.row("signal", word(self.signal));
        table.row_if_any("old", self.old_picture.line());
        table.row_if_any("new", self.new_picture.line());
        if let (Some(bits), Some(colour)) = (self.hash_distance, self.colour_distance) {
            table.row("distance", format!("{bits} of 64 bits, {colour} of 255 in colour"));
        }
        Ok(writeln!(out, "{} → {}\n{}", self.old, self.new, table.text(2).trim_end())?)
    }
}

/// The verdict on two images, and what fired.
pub fn judge(old: &PictureMark, new: &PictureMark) -> (Verdict, Signal) {
    match compare_pictures(std::slice::from_ref(old), std::slice::from_ref(new)) {
        None => (Verdict::Unchanged, Signal::Nothing),
        Some(Signal::Bytes) => (Verdict::Noise, Signal::Bytes),
        Some(signal) => (Verdict::Image, signal),
    }
}

//! robots.txt to RFC 9309.
//!
//! | module | noun |
//! | --- | --- |
//! | [`mod@line`] | lines and fields |
//! | [`parse`] | bytes become [`Robots`]: the rules that concern one crawler |
//! | [`pattern`] | a path pattern with `*` and `$`, and the spelling in which paths are compared |
//! | [`policy`] | what a fetch of robots.txt means: [`RobotsPolicy`] |
//!
//! Where this reads a file otherwise than Google's parser does, it is on purpose: escapes of unreserved characters are
//! decoded before comparing, as RFC 9309 2.2.2 asks, so `/%61` and `/a` are one path and of one length; field names
//! are matched whole, where Google takes any name that begins right (`disallowed:`); a lone `%` is kept.

pub mod line;
pub mod parse;
pub mod pattern;
pub mod policy;

pub use parse::Robots;
pub use policy::{RobotsFetch, RobotsPolicy, RobotsStep};

/// Whether a path may be requested, and which line says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    pub allowed: bool,
    /// The line that decided, counted from 1; 0 where no line did.
    pub line: u32,
    /// The pattern on that line as it was written; empty where no line decided.
    pub rule: &'a str,
}

impl Decision<'_> {
    /// No line decided.
    pub(crate) const fn without_rule(allowed: bool) -> Self {
        Self { allowed, line: 0, rule: "" }
    }
}

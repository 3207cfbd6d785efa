//! Requisites: what a page needs to look as it does (style sheets, images, fonts, scripts, media). They wait and are fetched
//! like pages, but lead nowhere. The mark travels in the byte that counts redirects, through queues, logs and messages.

/// Set in the count of redirects of a URL that was found as a requisite.
const MARK: u8 = 0x80;

/// Most redirects and imports between a page and what it needs, and the most redirects a setting may allow.
pub const MAX_STEPS: u8 = MARK - 1;

/// The byte of a requisite so many redirects and imports from its page.
pub fn marked(steps: u8) -> u8 {
    MARK | steps.min(MAX_STEPS)
}

pub fn is_marked(redirects: u8) -> bool {
    redirects & MARK != 0
}

/// Redirects, and imports if it is a requisite.
pub fn steps(redirects: u8) -> u8 {
    redirects & MAX_STEPS
}

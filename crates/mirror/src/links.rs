//! A document's references, led to the other files of the mirror.

use lycosa_rewrite::{Language, Place, Reference, Role, Verdict};
use lycosa_types::join::Joiner;
use lycosa_types::{CanonRules, CanonUrl};

use crate::name::path_of;

/// The page that links to what is not in the mirror can lead to, at the top of the mirror.
pub const MISSING_PAGE: &str = "not-mirrored.html";

/// Where a link to what is not in the mirror leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// To the page on its own server.
    #[default]
    Live,
    /// To [`MISSING_PAGE`].
    Page,
}

/// References of documents, by where they lead now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    pub local: u64,
    pub live: u64,
    /// What pages need to look as they do and what is not there: these lead nowhere, not to the network.
    pub missing_requisites: u64,
}

/// Leads the references of one document.
pub struct Linker<'a> {
    pub url: &'a CanonUrl,
    /// The document's own file.
    pub path: &'a str,
    pub rules: &'a CanonRules,
    pub missing: Missing,
    /// The file of a URL, redirects followed; none if it is not in the mirror.
    pub find: &'a dyn Fn(&CanonUrl) -> Option<String>,
}

impl Linker<'_> {
    /// Writes the document to `out` with its references led to files.
    pub fn rewrite(&self, language: Language, body: &[u8], out: &mut Vec<u8>) -> LinkCounts {
        let mut counts = LinkCounts::default();
        let mut base: Option<(Vec<u8>, CanonUrl)> = None;
        lycosa_rewrite::rewrite(language, body, out, &mut |reference| {
            if let Some(written) = reference.base
                && base.as_ref().is_none_or(|(known, _)| known != written)
            {
                let joined = self.join(self.url, &String::from_utf8_lossy(written));
                base = Some((written.to_vec(), joined.unwrap_or_else(|| self.url.clone())));
            }
            let from = base.as_ref().filter(|_| reference.base.is_some()).map_or(self.url, |(_, base)| base);
            self.decide(reference, from, &mut counts)
        });
        counts
    }

    fn decide(&self, reference: &Reference<'_>, base: &CanonUrl, counts: &mut LinkCounts) -> Verdict {
        // Its effect is in the references; the policy was about other addresses; no connection is to be made.
        if matches!(reference.role, Role::Base | Role::Policy | Role::Hint) {
            return Verdict::Remove;
        }
        let value = String::from_utf8_lossy(reference.value);
        let fragment = value.find('#').map_or("", |at| &value[at..]);
        if reference.base.is_none() && (value.is_empty() || value.starts_with('#')) {
            return Verdict::Keep;
        }
        let Some(url) = self.join(base, &value) else { return Verdict::Keep };
        let sent = matches!(reference.role, Role::Form | Role::Ping);
        let found = if sent { None } else { (self.find)(&url) };
        if let Some(path) = found {
            counts.local += 1;
            if path == self.path && !fragment.is_empty() {
                return replace(&value, fragment.to_owned());
            }
            return replace(&value, relative(self.path, &path) + fragment);
        }
        let shown = reference.role.is_requisite() || reference.role == Role::Frame;
        if shown {
            counts.missing_requisites += 1;
            return replace(&value, relative(self.path, &path_of(&url, None)));
        }
        counts.live += 1;
        let is_link = matches!(reference.place, Place::Attribute { .. }) && reference.role == Role::Page;
        if is_link && self.missing == Missing::Page {
            return replace(&value, format!("{}#{url}", relative(self.path, MISSING_PAGE)));
        }
        replace(&value, format!("{url}{fragment}"))
    }

    fn join(&self, base: &CanonUrl, value: &str) -> Option<CanonUrl> {
        let mut joined = String::new();
        Joiner::new(base, self.rules).join(value, &mut joined).ok()?;
        Some(CanonUrl::from_canonical(joined))
    }
}

fn replace(value: &str, text: String) -> Verdict {
    if text == value { Verdict::Keep } else { Verdict::Replace(text) }
}

/// The reference that leads from one file of the mirror to another.
pub fn relative(from: &str, to: &str) -> String {
    let dirs = from.rfind('/').map_or("", |at| &from[..=at]);
    let mut shared = 0;
    for (at, (a, b)) in dirs.bytes().zip(to.bytes()).enumerate() {
        if a != b {
            break;
        }
        if a == b'/' {
            shared = at + 1;
        }
    }
    let ups = dirs[shared..].matches('/').count();
    // Names hold no other character that means something in a URL.
    "../".repeat(ups) + &to[shared..].replace('%', "%25")
}

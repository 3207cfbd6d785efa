//! A link's kind and the three attributes of a hyperlink: visibility, position, distance.

use serde::{Deserialize, Serialize};

use crate::CanonUrl;

/// Where on the page a link was found, and so what may be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    Anchor,
    Area,
    Frame,
    Image,
    Feed,
    Canonical,
    Stylesheet,
    Script,
    /// `<link rel=next|prev>`.
    Sequence,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// The target of an HTTP redirect.
    Redirect,
    /// An entry of a sitemap or feed.
    Listing,
}

impl LinkKind {
    /// Links that lead to another page, and so are followed by a crawl.
    pub fn leads_to_page(self) -> bool {
        !matches!(self, Self::Image | Self::Stylesheet | Self::Script)
    }
}

/// How prominent a link is on its page and how far it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkAttributes {
    /// 3 bold and italic, 2 either, 1 neither.
    pub visibility: u8,
    /// 3 first third of the page, 2 middle, 1 last.
    pub position: u8,
    /// 1 same host … 5 different domain; see [`distance`].
    pub distance: u8,
}

impl LinkAttributes {
    /// Two bits each for visibility and position, three for distance: the form in which edges are stored.
    pub fn pack(self) -> u8 {
        (self.visibility.min(3) << 5) | (self.position.min(3) << 3) | self.distance.min(5)
    }

    pub fn unpack(packed: u8) -> Self {
        Self { visibility: packed >> 5, position: (packed >> 3) & 3, distance: packed & 7 }
    }
}

/// How far a link leads: 1 same host, 2 same host name on another scheme or port, 3 same domain and one host is below
/// the other (`example.org` → `www.example.org`), 4 same registered domain, 5 another domain.
///
/// The paper names only the ends (1 and 5) and says there are cases between; these are ours.
pub fn distance(source: &CanonUrl, target: &CanonUrl) -> u8 {
    if source.origin() == target.origin() {
        return 1;
    }
    let (from, to) = (source.host(), target.host());
    if from == to {
        return 2;
    }
    if source.domain() != target.domain() {
        return 5;
    }
    let below =
        |child: &str, parent: &str| child.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'));
    if below(from, to) || below(to, from) { 3 } else { 4 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CanonRules;

    #[test]
    fn distance_grows_from_host_to_domain() {
        let url = |s| CanonUrl::parse(s, &CanonRules::default()).unwrap();
        let here = url("http://example.co.uk/a");
        for (to, expected) in [
            ("http://example.co.uk/b", 1),
            ("https://example.co.uk/a", 2),
            ("http://www.example.co.uk/", 3),
            ("http://other.co.uk/", 5),
        ] {
            assert_eq!(distance(&here, &url(to)), expected, "{to}");
        }
        assert_eq!(distance(&url("http://a.example.org/"), &url("http://b.example.org/")), 4);
    }

    #[test]
    fn packing_keeps_every_attribute() {
        for visibility in 1..=3 {
            for position in 1..=3 {
                for distance in 1..=5 {
                    let link = LinkAttributes { visibility, position, distance };
                    assert_eq!(LinkAttributes::unpack(link.pack()), link);
                }
            }
        }
    }
}

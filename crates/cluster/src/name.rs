//! Who is who: crawls, nodes and their incarnations.
//!
//! A node that starts again under its old name is somebody else: it has another incarnation, and nothing its former self
//! was allowed to do is allowed to it. Names are short and plain, because they become subjects and keys on the bus.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest name of a crawl or a node, in bytes.
pub const MAX_NAME_BYTES: usize = 48;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the name {0:?} is empty or longer than {MAX_NAME_BYTES} bytes; choose a shorter one")]
    Length(String),
    #[error("the name {0:?} has other characters than a-z, 0-9, `-` and `_`; leave them out")]
    Character(String),
    #[error("{0:?} is no node id; one looks like `name.0123456789abcdef`")]
    Incarnation(String),
}

fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(NameError::Length(name.chars().take(80).collect()));
    }
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    if name.bytes().all(plain) { Ok(()) } else { Err(NameError::Character(name.to_owned())) }
}

/// The name of a crawl: part of every subject, stream and bucket it uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CrawlName(Arc<str>);

impl CrawlName {
    pub fn new(name: &str) -> Result<Self, NameError> {
        check(name)?;
        Ok(Self(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CrawlName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One life of one node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    name: Arc<str>,
    incarnation: u64,
}

impl NodeId {
    /// `incarnation` must be new at every start of a process, and larger than those before: the time does.
    pub fn new(name: &str, incarnation: u64) -> Result<Self, NameError> {
        check(name)?;
        Ok(Self { name: name.into(), incarnation })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Whether this is a later life of the same node.
    pub fn supersedes(&self, other: &Self) -> bool {
        self.name == other.name && self.incarnation > other.incarnation
    }

    /// A number for headers and tie-breaks, the same everywhere. Over name and incarnation as one text: as a seed, the time
    /// would cancel out against the letters of a short name.
    pub fn hash(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.to_string().as_bytes())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:016x}", self.name, self.incarnation)
    }
}

impl FromStr for NodeId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let wrong = || NameError::Incarnation(text.chars().take(80).collect());
        let (name, incarnation) = text.rsplit_once('.').ok_or_else(wrong)?;
        if incarnation.len() != 16 {
            return Err(wrong());
        }
        Self::new(name, u64::from_str_radix(incarnation, 16).map_err(|_| wrong())?)
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&*self.name, self.incarnation).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, incarnation) = <(String, u64)>::deserialize(deserializer)?;
        Self::new(&name, incarnation).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_way_through_text() {
        let id = NodeId::new("node-7", 0xBEEF).unwrap();
        assert_eq!(id.to_string(), "node-7.000000000000beef");
        assert_eq!(id.to_string().parse::<NodeId>().unwrap(), id);
        assert!(NodeId::new("node-7", 0xBEF0).unwrap().supersedes(&id));
        assert!(!NodeId::new("node-8", 0xBEF0).unwrap().supersedes(&id));
    }

    #[test]
    fn lives_that_begin_together_are_told_apart_by_their_number() {
        // From the evidence of a lost page: two nodes of twenty, five milliseconds apart.
        for (a, b) in [
            ("n06.000001a1f07bdcba", "n09.000001a1f07bdcbf"),
            ("n10.000001a1f0873b34", "n15.000001a1f0873b2f"),
        ] {
            let (a, b): (NodeId, NodeId) = (a.parse().unwrap(), b.parse().unwrap());
            assert_ne!(a.hash(), b.hash(), "{a} {b}");
        }
    }

    #[test]
    fn no_two_of_many_lives_have_one_number() {
        let mut met = std::collections::HashMap::new();
        let mut clashes = std::collections::BTreeMap::new();
        let patterns = [
            "#",
            "n#",
            "n##",
            "no##",
            "node#",
            "node##",
            "node-#",
            "node-##",
            "crawl-##",
            "crawler-##",
            "lycosa-##",
            "lycosa-node-##",
            "crawler-node-##.x",
            "worker-##-of-the-large-crawl",
            "eu-#-cr",
            "web#-eu",
            "a##",
            "#ab",
            "a#b",
            "eu#",
            "abc##xyz",
        ];
        for pattern in patterns {
            met.clear();
            let pattern = pattern.replace('.', "-");
            for n in 0..20 {
                let digits = pattern.matches('#').count();
                let number = format!("{:0width$}", if digits == 1 { n % 10 } else { n }, width = digits);
                let name = pattern.replacen(&"#".repeat(digits), &number, 1);
                for ms in 0..1000u64 {
                    let id = NodeId::new(&name, 0x1a1_f07b_dc00 + ms).unwrap();
                    let other: &mut NodeId = met.entry(id.hash()).or_insert_with(|| id.clone());
                    if *other != id {
                        *clashes.entry(pattern.clone()).or_insert(0) += 1;
                    }
                }
            }
        }
        assert!(clashes.is_empty(), "{clashes:?}");
    }

    #[test]
    fn names_that_would_be_wildcards_or_paths_are_refused() {
        for bad in ["", "a.b", "a*", "a>", "a b", "A", "\u{e4}", "a/b", &"x".repeat(49)] {
            assert!(NodeId::new(bad, 1).is_err(), "{bad}");
            assert!(CrawlName::new(bad).is_err(), "{bad}");
        }
        for bad in ["node", "node.12", "node.zzzzzzzzzzzzzzzz"] {
            assert!(bad.parse::<NodeId>().is_err(), "{bad}");
        }
    }
}

//! Static answers that stand in front of DNS: `HOST:PORT:ADDRESS[:PORT]`, as with curl's `--resolve`.
//!
//! HOST is a name, `*.suffix` or `*`; PORT a number or `*`; ADDRESS an IPv4 address or an IPv6 address in brackets.
//! The most specific entry wins: exact name before longest suffix before `*`, and a named port before `*`; among equals
//! the later one. The answer is still subject to the network guard.

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

/// One static answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    host: HostPattern,
    port: Option<u16>,
    address: IpAddr,
    to_port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Any,
    /// Held with its leading dot: `.example.org`.
    Suffix(String),
    Exact(String),
}

/// Why an override cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    #[error("{0:?} lacks a part; write HOST:PORT:ADDRESS, for example example.org:80:127.0.0.1")]
    Shape(String),
    #[error("{0:?} is not a host; write a name, *.suffix or *")]
    Host(String),
    #[error("{0:?} is not a port; write 1 to 65535 or *")]
    Port(String),
    #[error("{0:?} is not an ip address; put an ipv6 address in brackets")]
    Address(String),
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        let shape = || OverrideError::Shape(text.to_owned());
        let (host, rest) = split_host(text).ok_or_else(shape)?;
        let (port, rest) = rest.split_once(':').ok_or_else(shape)?;
        let (address, to_port) = match rest.strip_prefix('[') {
            Some(inner) => {
                let (address, after) =
                    inner.split_once(']').ok_or_else(|| OverrideError::Address(rest.to_owned()))?;
                let to_port = match after {
                    "" => None,
                    _ => Some(after.strip_prefix(':').ok_or_else(shape)?),
                };
                (address, to_port)
            }
            None => match rest.split_once(':') {
                // More than one colon without brackets is an IPv6 address: let it fail as an address.
                Some((address, to_port)) if !to_port.contains(':') => (address, Some(to_port)),
                _ => (rest, None),
            },
        };
        let address = address
            .parse::<IpAddr>()
            .ok()
            .filter(|parsed| rest.starts_with('[') == parsed.is_ipv6())
            .ok_or_else(|| OverrideError::Address(address.to_owned()))?;
        Ok(Self {
            host: HostPattern::parse(host)?,
            port: parse_port(port)?,
            address,
            to_port: to_port.map_or(Ok(None), parse_port)?,
        })
    }
}

/// Splits the host off, which may be an IPv6 address in brackets.
fn split_host(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('[') {
        let end = text.find(']')? + 1;
        return Some((text.get(..end)?, text.get(end..)?.strip_prefix(':')?));
    }
    text.split_once(':')
}

/// A port, or none for `*`.
fn parse_port(text: &str) -> Result<Option<u16>, OverrideError> {
    match text {
        "*" => Ok(None),
        _ => match text.parse::<u16>() {
            Ok(port) if port > 0 => Ok(Some(port)),
            _ => Err(OverrideError::Port(text.to_owned())),
        },
    }
}

impl HostPattern {
    fn parse(text: &str) -> Result<Self, OverrideError> {
        let wrong = || OverrideError::Host(text.to_owned());
        if text == "*" {
            return Ok(Self::Any);
        }
        let host = text.trim_end_matches('.').to_ascii_lowercase();
        let (pattern, name) = match host.strip_prefix("*.") {
            Some(suffix) => (Self::Suffix(format!(".{suffix}")), suffix),
            None => (Self::Exact(host.clone()), host.as_str()),
        };
        let is_address = name.starts_with('[') && name.ends_with(']');
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if name.is_empty() || !(is_address || name.bytes().all(allowed)) {
            return Err(wrong());
        }
        Ok(pattern)
    }

    /// How specific the match is; none if there is none.
    fn rank(&self, host: &str) -> Option<usize> {
        match self {
            Self::Any => Some(0),
            Self::Suffix(suffix) => {
                let cut = host.len().checked_sub(suffix.len())?;
                let tail = host.as_bytes().get(cut..)?;
                (cut > 0 && tail.eq_ignore_ascii_case(suffix.as_bytes())).then_some(suffix.len())
            }
            Self::Exact(name) => name.eq_ignore_ascii_case(host).then_some(usize::MAX),
        }
    }
}

/// All static answers of a crawl.
#[derive(Clone, Debug, Default)]
pub struct Overrides(Vec<Override>);

impl Overrides {
    pub fn new(entries: Vec<Override>) -> Self {
        Self(entries)
    }

    /// Parses one entry per string.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, OverrideError> {
        entries.into_iter().map(str::parse).collect::<Result<Vec<_>, _>>().map(Self)
    }

    /// Where to connect for this host and port, if an entry says so.
    pub fn find(&self, host: &str, port: u16) -> Option<SocketAddr> {
        self.0
            .iter()
            .filter(|entry| entry.port.is_none_or(|own| own == port))
            .filter_map(|entry| Some(((entry.host.rank(host)?, entry.port.is_some()), entry)))
            .max_by_key(|(rank, _)| *rank)
            .map(|(_, entry)| SocketAddr::new(entry.address, entry.to_port.unwrap_or(port)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(entries: &[&str], host: &str, port: u16) -> Option<String> {
        let overrides = Overrides::parse(entries.iter().copied()).unwrap();
        overrides.find(host, port).map(|found| found.to_string())
    }

    #[test]
    fn entries_match_host_and_port() {
        assert_eq!(find(&["a.test:80:127.0.0.1"], "a.test", 80).unwrap(), "127.0.0.1:80");
        assert_eq!(find(&["a.test:80:127.0.0.1"], "A.TEST", 80).unwrap(), "127.0.0.1:80");
        assert_eq!(find(&["a.test:80:127.0.0.1"], "a.test", 81), None);
        assert_eq!(find(&["a.test:80:127.0.0.1"], "b.test", 80), None);
        assert_eq!(find(&["a.test:*:127.0.0.1:8080"], "a.test", 443).unwrap(), "127.0.0.1:8080");
        assert_eq!(find(&["*:*:[::1]:9000"], "x", 1).unwrap(), "[::1]:9000");
        assert_eq!(find(&["[::5]:80:[::1]"], "[::5]", 80).unwrap(), "[::1]:80");
        assert_eq!(find(&["a.test:80:127.0.0.1:*"], "a.test", 80).unwrap(), "127.0.0.1:80");
    }

    #[test]
    fn a_suffix_matches_below_itself_alone() {
        let entries = ["*.sim.test:*:127.0.0.1:1"];
        assert!(find(&entries, "a.sim.test", 80).is_some());
        assert!(find(&entries, "a.b.sim.test", 80).is_some());
        assert!(find(&entries, "sim.test", 80).is_none());
        assert!(find(&entries, "asim.test", 80).is_none());
        assert!(find(&entries, "é.sim.test", 80).is_some());
    }

    #[test]
    fn the_most_specific_entry_wins() {
        let entries = [
            "*:*:127.0.0.1:1",
            "a.b.test:80:127.0.0.1:5",
            "*.test:*:127.0.0.1:2",
            "*.b.test:*:127.0.0.1:3",
            "a.b.test:*:127.0.0.1:4",
            "d.test:80:127.0.0.1:6",
            "d.test:80:127.0.0.1:7",
        ];
        let port = |host, port| find(&entries, host, port).unwrap().split_once(':').unwrap().1.to_owned();
        assert_eq!(port("other", 80), "1");
        assert_eq!(port("c.test", 80), "2");
        assert_eq!(port("c.b.test", 80), "3");
        assert_eq!(port("a.b.test", 81), "4");
        assert_eq!(port("a.b.test", 80), "5");
        assert_eq!(port("d.test", 80), "7");
    }

    #[test]
    fn says_what_is_wrong() {
        use OverrideError as E;
        let error = |text: &str| text.parse::<Override>().unwrap_err();
        assert!(matches!(error("a.test"), E::Shape(_)));
        assert!(matches!(error("a.test:80"), E::Shape(_)));
        assert!(matches!(error("a.test:x:127.0.0.1"), E::Port(_)));
        assert!(matches!(error("a.test:0:127.0.0.1"), E::Port(_)));
        assert!(matches!(error("a.test:80:localhost"), E::Address(_)));
        assert!(matches!(error("a.test:80:::1"), E::Address(_)));
        assert!(matches!(error("a.test:80:[::1"), E::Address(_)));
        assert!(matches!(error("a.test:80:[::1]x"), E::Shape(_)));
        assert!(matches!(error("a.test:80:[127.0.0.1]"), E::Address(_)));
        assert!(matches!(error("a b:80:127.0.0.1"), E::Host(_)));
        assert!(matches!(error(":80:127.0.0.1"), E::Host(_)));
        assert!(matches!(error("*.:80:127.0.0.1"), E::Host(_)));
    }
}

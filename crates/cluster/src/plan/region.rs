//! Regions: networks near which nodes stand, by name, as lists of CIDRs. They say which region an address lies in; which
//! partitions a region has is the [`Partitioner`](lycosa_types::Partitioner)'s.
//!
//! Networks may overlap, also between regions: the longest prefix wins, so that an office can stand out of its country. The
//! same network in two regions is an error.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use foldhash::HashMap;
pub use lycosa_types::RegionId;

/// Most regions of a crawl.
pub const MAX_REGIONS: usize = 256;
/// Most networks, all regions together.
pub const MAX_NETWORKS: usize = 8192;
/// Longest name of a region.
pub const MAX_NAME_BYTES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    #[error("{0:?} is no network; write it as 192.0.2.0/24 or 2001:db8::/32")]
    Network(String),
    #[error("{0:?} is no name of a region; use 1 to {MAX_NAME_BYTES} of a-z, 0-9, `-` and `_`")]
    Name(String),
    #[error("region {0} has no network; add one, or remove the region")]
    Empty(String),
    #[error(
        "{network} is in region {first} and in region {second}; overlapping networks are fine, the longest prefix wins, but \
         the same one can be in one region alone: remove it from the other, or make it narrower there"
    )]
    Twice { network: String, first: String, second: String },
    #[error("{0} regions; at most {MAX_REGIONS} are possible: join some of them")]
    TooMany(usize),
    #[error("{0} networks; at most {MAX_NETWORKS} are possible: join neighbours into wider ones")]
    TooManyNetworks(usize),
    #[error(
        "{partitions} partitions cannot be shared among {regions} regions and the rest; set partitions.count to {least} or more"
    )]
    TooFewPartitions { partitions: u16, regions: usize, least: usize },
    #[error("the crawl has no region {name:?}; {}", known(.regions))]
    Unknown { name: String, regions: Vec<String> },
}

fn known(regions: &[String]) -> String {
    match regions {
        [] => "it has none: set partitions.regions when the crawl is made".to_owned(),
        names => format!("use one of {}", names.join(", ")),
    }
}

/// A network: an address and how many of its leading bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    /// IPv4 addresses are kept in their IPv6 form, so that one comparison serves both. What does not count is zero.
    bits: u128,
    length: u8,
}

fn wide(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl Cidr {
    pub fn contains(&self, address: IpAddr) -> bool {
        masked(wide(address), self.length) == self.bits
    }
}

fn masked(bits: u128, length: u8) -> u128 {
    let shift = 128u32.saturating_sub(u32::from(length));
    bits.checked_shr(shift).and_then(|kept| kept.checked_shl(shift)).unwrap_or(0)
}

impl FromStr for Cidr {
    type Err = RegionError;

    fn from_str(text: &str) -> Result<Self, RegionError> {
        let wrong = || RegionError::Network(text.chars().take(80).collect());
        let (address, length) = text.trim().split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let length: u8 = length.parse().map_err(|_| wrong())?;
        let offset = if address.is_ipv4() { 96 } else { 0 };
        if length > 128 - offset {
            return Err(wrong());
        }
        let length = length + offset;
        Ok(Self { bits: masked(wide(address), length), length })
    }
}

/// All regions of a crawl.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// In order: a region's number is its place.
    names: Vec<String>,
    /// Every network with the region it belongs to.
    networks: HashMap<Cidr, RegionId>,
    /// The lengths that prefixes have, the longest first.
    lengths: Vec<u8>,
}

impl Regions {
    /// The regions of a crawl with so many partitions, from names and lists of networks.
    pub fn new(lists: &BTreeMap<String, Vec<String>>, partitions: u16) -> Result<Self, RegionError> {
        if lists.len() > MAX_REGIONS {
            return Err(RegionError::TooMany(lists.len()));
        }
        let count = lists.values().map(Vec::len).sum();
        if count > MAX_NETWORKS {
            return Err(RegionError::TooManyNetworks(count));
        }
        if lists.len() >= usize::from(partitions) {
            let (regions, least) = (lists.len(), lists.len() + 1);
            return Err(RegionError::TooFewPartitions { partitions, regions, least });
        }
        let mut regions = Self::default();
        for (name, list) in lists {
            regions.add(name, list)?;
        }
        regions.lengths.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
        regions.lengths.dedup();
        Ok(regions)
    }

    fn add(&mut self, name: &str, list: &[String]) -> Result<(), RegionError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(plain) {
            return Err(RegionError::Name(name.chars().take(80).collect()));
        }
        if list.is_empty() {
            return Err(RegionError::Empty(name.to_owned()));
        }
        // There are at most `MAX_REGIONS`.
        let id = RegionId(self.names.len() as u16);
        self.names.push(name.to_owned());
        for text in list {
            let network: Cidr = text.parse()?;
            let before = self.networks.insert(network, id).filter(|before| *before != id);
            if let Some(first) = before.and_then(|before| self.name(before)) {
                let (network, first, second) = (text.clone(), first.to_owned(), name.to_owned());
                return Err(RegionError::Twice { network, first, second });
            }
            self.lengths.push(network.length);
        }
        Ok(())
    }

    /// The region an address lies in: that of the longest prefix.
    pub fn region_of(&self, address: IpAddr) -> Option<RegionId> {
        let bits = wide(address);
        let mut networks = self.lengths.iter().map(|&length| Cidr { bits: masked(bits, length), length });
        networks.find_map(|network| self.networks.get(&network).copied())
    }

    /// The region of this name.
    pub fn named(&self, name: &str) -> Result<RegionId, RegionError> {
        let found = self.names.iter().position(|known| known == name);
        let unknown =
            || RegionError::Unknown { name: name.chars().take(80).collect(), regions: self.names.clone() };
        found.map(|at| RegionId(at as u16)).ok_or_else(unknown)
    }

    pub fn name(&self, region: RegionId) -> Option<&str> {
        self.names.get(usize::from(region.0)).map(String::as_str)
    }

    pub fn len(&self) -> u16 {
        self.names.len() as u16
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn net(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    fn lists(regions: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        regions.iter().map(|(name, list)| ((*name).to_owned(), owned(list))).collect()
    }

    #[test]
    fn networks_hold_their_addresses_and_no_others() {
        assert!(net("192.0.2.0/24").contains("192.0.2.255".parse().unwrap()));
        assert!(net("192.0.2.77/24").contains("192.0.2.0".parse().unwrap()));
        assert!(!net("192.0.2.0/24").contains("192.0.3.0".parse().unwrap()));
        assert!(net("0.0.0.0/0").contains("8.8.8.8".parse().unwrap()));
        assert!(!net("0.0.0.0/0").contains("2001:db8::1".parse().unwrap()));
        assert!(net("2001:db8::/32").contains("2001:db8:1::".parse().unwrap()));
        assert!(net("::/0").contains("1.2.3.4".parse().unwrap()));
        assert!(net("1.2.3.4/32").contains("1.2.3.4".parse().unwrap()));
        for bad in ["192.0.2.0", "192.0.2.0/33", "::/129", "x/8", "1.2.3.4/-1"] {
            assert!(bad.parse::<Cidr>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_longest_prefix_wins() {
        let given = lists(&[
            ("country", &["10.0.0.0/8", "2001:db8::/32"]),
            ("office", &["10.1.0.0/16"]),
            ("room", &["10.1.2.0/24", "10.9.0.0/16"]),
        ]);
        let regions = Regions::new(&given, 64).unwrap();
        let name = |address: &str| {
            let region = regions.region_of(address.parse().unwrap());
            region.and_then(|region| regions.name(region))
        };
        assert_eq!(name("10.2.0.1"), Some("country"));
        assert_eq!(name("10.1.0.1"), Some("office"));
        assert_eq!(name("10.1.2.200"), Some("room"));
        assert_eq!(name("10.9.1.1"), Some("room"));
        assert_eq!(name("2001:db8::7"), Some("country"));
        assert_eq!(name("192.0.2.1"), None);
        assert_eq!(regions.named("office"), Ok(RegionId(1)));
        assert!(regions.named("garden").unwrap_err().to_string().contains("country, office, room"));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_to_do() {
        let refused = |given: &[(&str, &[&str])], partitions| {
            Regions::new(&lists(given), partitions).unwrap_err().to_string()
        };
        assert!(refused(&[("a", &["10.0.0.0"])], 64).contains("write it as"));
        assert!(refused(&[("A b", &["10.0.0.0/8"])], 64).contains("a-z"));
        assert!(refused(&[("a", &[])], 64).contains("no network"));
        let twice = refused(&[("a", &["10.0.0.0/8"]), ("b", &["10.77.0.0/8"])], 64);
        assert!(twice.contains("region a and in region b") && twice.contains("longest prefix"), "{twice}");
        assert!(refused(&[("a", &["10.0.0.0/8"]), ("b", &["11.0.0.0/8"])], 2).contains("to 3 or more"));
        let many: BTreeMap<String, Vec<String>> =
            (0..257).map(|n| (format!("r{n}"), vec![format!("10.{}.{}.0/24", n / 256, n % 256)])).collect();
        assert_eq!(Regions::new(&many, 1024).unwrap_err(), RegionError::TooMany(257));
        let wide = BTreeMap::from([("a".to_owned(), vec!["10.0.0.0/8".to_owned(); MAX_NETWORKS + 1])]);
        assert_eq!(Regions::new(&wide, 64).unwrap_err(), RegionError::TooManyNetworks(MAX_NETWORKS + 1));
        assert!(Regions::default().named("a").unwrap_err().to_string().contains("partitions.regions"));
    }

    proptest! {
        /// Against a scan of all networks.
        #[test]
        fn every_address_lies_in_the_region_of_its_longest_prefix(
            networks in prop::collection::btree_map((0u8..4, 0u8..4, 0u8..=32), 0u8..5, 0..12),
            address in (0u8..4, 0u8..4, any::<u8>(), any::<u8>()),
        ) {
            let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
            let mut seen = std::collections::BTreeSet::new();
            for ((a, b, length), region) in networks {
                let text = format!("{a}.{b}.0.0/{length}");
                let network: Cidr = text.parse().unwrap();
                if seen.insert((network.bits, network.length)) {
                    given.entry(format!("r{region}")).or_default().push(text);
                }
            }
            let regions = Regions::new(&given, 64).unwrap();
            let (a, b, c, d) = address;
            let address = IpAddr::from([a, b, c, d]);
            let all = given.iter().flat_map(|(name, list)| list.iter().map(move |text| (name, net(text))));
            let best = all.filter(|(_, net)| net.contains(address)).max_by_key(|(_, net)| net.length);
            let found = regions.region_of(address).and_then(|region| regions.name(region));
            prop_assert_eq!(found, best.map(|(name, _)| name.as_str()));
        }

        #[test]
        fn any_text_is_a_network_or_not(text in "\\PC{0,40}") {
            let _ = text.parse::<Cidr>();
        }
    }
}

//! Regions: networks near which a node stands, as lists of CIDRs, and the partitions set aside for each.
//!
//! Where regions are in use the partitions are cut into blocks, one per region and one for all the rest. A host whose
//! address lies in a region hashes into that region's block; the plan gives the block to nodes of the region as long as
//! there is one. The same host and address give the same partition on every node.

use std::net::IpAddr;
use std::str::FromStr;

use lycosa_types::PartitionId;
use serde::{Deserialize, Serialize};

/// Most regions of a crawl.
pub const MAX_REGIONS: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RegionId(pub u16);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    #[error("{0:?} is no network; write it as 192.0.2.0/24 or 2001:db8::/32")]
    Network(String),
    #[error("{0} regions; at most {MAX_REGIONS}")]
    TooMany(usize),
    #[error(
        "{partitions} partitions cannot be shared among {regions} regions and the rest; use more partitions"
    )]
    TooFewPartitions { partitions: u16, regions: usize },
}

/// A network: an address and how many of its leading bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// IPv4 addresses are kept in their IPv6 form, so that one comparison serves both.
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
        let shift = u32::from(128 - self.length);
        self.length == 0 || (wide(address) ^ self.bits) >> shift == 0
    }
}

impl FromStr for Cidr {
    type Err = RegionError;

    fn from_str(text: &str) -> Result<Self, RegionError> {
        let wrong = || RegionError::Network(text.chars().take(80).collect());
        let (address, length) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let length: u8 = length.parse().map_err(|_| wrong())?;
        let offset = if address.is_ipv4() { 96 } else { 0 };
        if length > 128 - offset {
            return Err(wrong());
        }
        Ok(Self { bits: wide(address), length: length + offset })
    }
}

/// All regions of a crawl and how its partitions are cut.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    networks: Vec<Vec<Cidr>>,
    partitions: u16,
}

impl Regions {
    pub fn new(networks: Vec<Vec<Cidr>>, partitions: u16) -> Result<Self, RegionError> {
        if networks.len() > MAX_REGIONS {
            return Err(RegionError::TooMany(networks.len()));
        }
        if networks.len() >= usize::from(partitions) {
            return Err(RegionError::TooFewPartitions { partitions, regions: networks.len() });
        }
        Ok(Self { networks, partitions })
    }

    /// The first region that an address lies in.
    pub fn region_of(&self, address: IpAddr) -> Option<RegionId> {
        let position = self.networks.iter().position(|list| list.iter().any(|net| net.contains(address)))?;
        Some(RegionId(position as u16))
    }

    /// The partition of a host, from the hash of its name and the address of its server.
    pub fn partition_of(&self, host_hash: u64, address: Option<IpAddr>) -> PartitionId {
        let block = address.and_then(|a| self.region_of(a)).map_or(self.networks.len(), |r| usize::from(r.0));
        let (start, end) = self.block(block);
        let length = u128::from(end - start).max(1);
        PartitionId(start + ((u128::from(host_hash) * length) >> 64) as u16)
    }

    /// Which region a partition was set aside for.
    pub fn region_of_partition(&self, partition: PartitionId) -> Option<RegionId> {
        let found = (0..self.networks.len()).find(|&block| {
            let (start, end) = self.block(block);
            (start..end).contains(&partition.0)
        })?;
        Some(RegionId(found as u16))
    }

    /// For every partition, the region it was set aside for.
    pub fn by_partition(&self) -> Vec<Option<RegionId>> {
        (0..self.partitions).map(|p| self.region_of_partition(PartitionId(p))).collect()
    }

    fn block(&self, index: usize) -> (u16, u16) {
        let blocks = self.networks.len() + 1;
        let cut = |i: usize| (usize::from(self.partitions) * i / blocks) as u16;
        (cut(index), cut(index + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    #[test]
    fn networks_hold_their_addresses_and_no_others() {
        assert!(net("192.0.2.0/24").contains("192.0.2.255".parse().unwrap()));
        assert!(!net("192.0.2.0/24").contains("192.0.3.0".parse().unwrap()));
        assert!(net("0.0.0.0/0").contains("8.8.8.8".parse().unwrap()));
        assert!(!net("0.0.0.0/0").contains("2001:db8::1".parse().unwrap()));
        assert!(net("2001:db8::/32").contains("2001:db8:1::".parse().unwrap()));
        assert!(net("::/0").contains("1.2.3.4".parse().unwrap()));
        for bad in ["192.0.2.0", "192.0.2.0/33", "::/129", "x/8", "1.2.3.4/-1"] {
            assert!(bad.parse::<Cidr>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_host_falls_into_the_block_of_its_region() {
        let regions = Regions::new(vec![vec![net("10.0.0.0/8")], vec![net("172.16.0.0/12")]], 64).unwrap();
        for i in 0..1000u64 {
            let hash = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let near = regions.partition_of(hash, Some("10.1.2.3".parse().unwrap()));
            assert_eq!(regions.region_of_partition(near), Some(RegionId(0)));
            let other = regions.partition_of(hash, Some("172.16.0.1".parse().unwrap()));
            assert_eq!(regions.region_of_partition(other), Some(RegionId(1)));
            for elsewhere in [None, Some("192.0.2.1".parse().unwrap())] {
                let partition = regions.partition_of(hash, elsewhere);
                assert_eq!(regions.region_of_partition(partition), None);
                assert!(partition.0 < 64);
            }
        }
        assert_eq!(regions.by_partition().iter().filter(|r| r.is_none()).count(), 22);
        assert!(Regions::new(vec![vec![]; 4], 4).is_err());
    }
}

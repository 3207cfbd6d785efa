//! A block of addresses, written `10.0.0.0/8` or `fd00::/8`; a lone address is a block of one.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Deserialize, Serialize};

/// A network prefix. IPv4 and IPv6 blocks never contain each other's addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cidr {
    address: IpAddr,
    prefix_bits: u8,
}

/// Why a string is not a block of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CidrError {
    #[error("{0:?} is not an ip address; write a block as 10.0.0.0/8 or [fd00::]/8 without the brackets")]
    Address(String),
    #[error("{0:?} is not a prefix length; use 0 to {1}")]
    Prefix(String, u8),
}

impl Cidr {
    /// A block from its first address; bits beyond the prefix are ignored. Too long a prefix means one address.
    pub const fn new(address: IpAddr, prefix_bits: u8) -> Self {
        let widest = width(address);
        Self { address, prefix_bits: if prefix_bits > widest { widest } else { prefix_bits } }
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = u32::from(own) ^ u32::from(other);
                differing.leading_zeros() >= u32::from(self.prefix_bits)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = u128::from(own) ^ u128::from(other);
                differing.leading_zeros() >= u32::from(self.prefix_bits)
            }
            _ => false,
        }
    }
}

const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| CidrError::Address(text.to_owned()))?;
        let widest = width(address);
        let prefix_bits = match prefix {
            None => widest,
            Some(digits) => match digits.trim().parse::<u8>() {
                Ok(bits) if bits <= widest => bits,
                _ => return Err(CidrError::Prefix(digits.to_owned(), widest)),
            },
        };
        Ok(Self::new(address, prefix_bits))
    }
}

impl TryFrom<String> for Cidr {
    type Error = CidrError;

    fn try_from(text: String) -> Result<Self, CidrError> {
        text.parse()
    }
}

impl From<Cidr> for String {
    fn from(cidr: Cidr) -> Self {
        cidr.to_string()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

impl fmt::Debug for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_what_the_prefix_says() {
        let block: Cidr = "10.16.0.0/12".parse().unwrap();
        assert!(block.contains("10.31.255.255".parse().unwrap()));
        assert!(!block.contains("10.32.0.0".parse().unwrap()));
        assert!(!block.contains("::ffff:10.16.0.1".parse().unwrap()));
        let all: Cidr = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("255.1.2.3".parse().unwrap()));
        let one: Cidr = "::1".parse().unwrap();
        assert!(one.contains("::1".parse().unwrap()) && !one.contains("::2".parse().unwrap()));
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(matches!("10.0.0/8".parse::<Cidr>(), Err(CidrError::Address(_))));
        assert!(matches!("10.0.0.0/33".parse::<Cidr>(), Err(CidrError::Prefix(_, 32))));
        assert!(matches!("fe80::/129".parse::<Cidr>(), Err(CidrError::Prefix(_, 128))));
        assert!(matches!("".parse::<Cidr>(), Err(CidrError::Address(_))));
    }

    #[test]
    fn round_trips_through_text() {
        for text in ["10.0.0.0/8", "fd00::/8", "127.0.0.1/32"] {
            assert_eq!(text.parse::<Cidr>().unwrap().to_string(), text);
        }
    }
}

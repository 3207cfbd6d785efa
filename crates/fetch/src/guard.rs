//! Which addresses a crawl may connect to.
//!
//! Promise: an address in a private, local or otherwise special network is refused unless the user opened a block that
//! contains it. The check is on the address that is connected to, so neither DNS nor a redirect nor an override gets
//! around it. An IPv6 address that carries an IPv4 one (mapped, 6to4, NAT64) is as closed as what it carries.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::cidr::Cidr;

/// IPv4 blocks that are not the public internet.
const CLOSED_V4: &[([u8; 4], u8)] = &[
    ([0, 0, 0, 0], 8),       // this network, unspecified
    ([10, 0, 0, 0], 8),      // private
    ([100, 64, 0, 0], 10),   // carrier-grade NAT
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, cloud metadata
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 31, 196, 0], 24), // AS112
    ([192, 52, 193, 0], 24), // AMT
    ([192, 88, 99, 0], 24),  // 6to4 relays
    ([192, 168, 0, 0], 16),  // private
    ([192, 175, 48, 0], 24), // AS112
    ([198, 18, 0, 0], 15),   // benchmarking
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 4),     // multicast
    ([240, 0, 0, 0], 4),     // reserved, broadcast
];

/// IPv6 blocks that are not the public internet.
const CLOSED_V6: &[([u16; 8], u8)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 96),         // unspecified, loopback, IPv4-compatible
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), // local NAT64
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64),     // discard
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),    // protocol assignments, Teredo
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),    // documentation
    ([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),    // segment routing
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),     // unique local
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),    // link-local
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),    // site-local
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),     // multicast
];

/// The gate in front of every connection.
#[derive(Clone, Debug, Default)]
pub struct NetGuard {
    opened: Vec<Cidr>,
}

impl NetGuard {
    /// Closed networks stay closed, except the blocks in `opened`.
    pub fn new(opened: Vec<Cidr>) -> Self {
        Self { opened }
    }

    /// Whether a connection to this address is allowed.
    pub fn allows(&self, address: IpAddr) -> bool {
        if self.opened.iter().any(|block| block.contains(address)) {
            return true;
        }
        match address {
            IpAddr::V4(v4) => !is_closed_v4(v4),
            IpAddr::V6(v6) => match carried_v4(v6) {
                Some(v4) => self.allows(IpAddr::V4(v4)),
                None => !is_closed_v6(v6),
            },
        }
    }
}

fn is_closed_v4(address: Ipv4Addr) -> bool {
    CLOSED_V4.iter().any(|&(start, bits)| {
        Cidr::new(IpAddr::V4(Ipv4Addr::from(start)), bits).contains(IpAddr::V4(address))
    })
}

fn is_closed_v6(address: Ipv6Addr) -> bool {
    CLOSED_V6.iter().any(|&(start, bits)| {
        Cidr::new(IpAddr::V6(Ipv6Addr::from(start)), bits).contains(IpAddr::V6(address))
    })
}

/// The IPv4 address that packets to this IPv6 address end up at, where the form says so.
fn carried_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped);
    }
    let octets = address.octets();
    match address.segments() {
        [0x2002, ..] => Some(Ipv4Addr::new(octets[2], octets[3], octets[4], octets[5])),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15])),
        // IPv4-translated (SIIT) addresses, `::ffff:0:a.b.c.d`.
        [0, 0, 0, 0, 0xffff, 0, ..] => Some(Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn special_networks_are_closed() {
        let guard = NetGuard::default();
        for closed in [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::10.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:192.168.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!guard.allows(ip(closed)), "{closed} must be closed");
        }
    }

    #[test]
    fn the_public_internet_is_open() {
        let guard = NetGuard::default();
        for open in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
            "2606:4700:4700::1111",
            "2a00:1450::1",
        ] {
            assert!(guard.allows(ip(open)), "{open} must be open");
        }
    }

    #[test]
    fn an_opened_block_opens_only_itself() {
        let guard = NetGuard::new(vec!["127.0.0.0/8".parse().unwrap(), "fd00:1::/32".parse().unwrap()]);
        assert!(guard.allows(ip("127.0.0.1")));
        assert!(guard.allows(ip("::ffff:127.0.0.1")), "what it carries was opened");
        assert!(guard.allows(ip("fd00:1::5")));
        assert!(!guard.allows(ip("fd00:2::5")));
        assert!(!guard.allows(ip("::1")));
        assert!(!guard.allows(ip("10.0.0.1")));
    }
}

//! The `[fetch]` section: connections and the limits of a visit.

use std::time::Duration;

use lycosa_fetch::Limits;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FetchConfig {
    pub concurrency: usize,
    pub workers: usize,
    pub pipeline: usize,
    pub compression: bool,
    pub http2: bool,
    pub max_header_bytes: usize,
    pub max_body_bytes: usize,
    pub max_decoded_bytes: usize,
    pub dns_timeout_ms: u64,
    pub dns_lookups: usize,
    pub dns_lookups_per_zone: usize,
    pub connect_timeout_ms: u64,
    pub first_byte_timeout_ms: u64,
    pub total_timeout_ms: u64,
    pub min_bytes_per_s: u64,
    pub slow_grace_ms: u64,
    pub allow_net: Vec<String>,
    pub allow_ports: Vec<u16>,
    pub resolve: Vec<String>,
    pub ca: Vec<String>,
    pub accept_invalid_certs: bool,
}

impl Default for FetchConfig {
    fn default() -> Self {
        let limits = Limits::default();
        let ms = |duration: Duration| duration.as_millis() as u64;
        Self {
            concurrency: 256,
            workers: 0,
            pipeline: 1,
            compression: true,
            http2: false,
            max_header_bytes: limits.header_bytes,
            max_body_bytes: limits.body_bytes,
            max_decoded_bytes: limits.decoded_bytes,
            dns_timeout_ms: ms(limits.dns),
            dns_lookups: 256,
            dns_lookups_per_zone: 8,
            connect_timeout_ms: ms(limits.connect),
            first_byte_timeout_ms: ms(limits.first_byte),
            total_timeout_ms: ms(limits.total),
            min_bytes_per_s: limits.slow_bytes_per_s,
            slow_grace_ms: ms(limits.slow_grace),
            allow_net: Vec::new(),
            allow_ports: Vec::new(),
            resolve: Vec::new(),
            ca: Vec::new(),
            accept_invalid_certs: false,
        }
    }
}

impl FetchConfig {
    pub fn limits(&self) -> Limits {
        Limits {
            header_bytes: self.max_header_bytes,
            body_bytes: self.max_body_bytes,
            decoded_bytes: self.max_decoded_bytes,
            dns: Duration::from_millis(self.dns_timeout_ms),
            connect: Duration::from_millis(self.connect_timeout_ms),
            first_byte: Duration::from_millis(self.first_byte_timeout_ms),
            total: Duration::from_millis(self.total_timeout_ms),
            slow_grace: Duration::from_millis(self.slow_grace_ms),
            slow_window: Duration::from_millis(self.slow_grace_ms),
            slow_bytes_per_s: self.min_bytes_per_s,
            ..Limits::default()
        }
    }
}

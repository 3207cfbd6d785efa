//! How URLs are spread: over how many partitions, by what part of them, and by where their servers stand.

use std::collections::BTreeMap;

use lycosa_cluster::Regions;
use lycosa_types::{Granularity, Partitioner};
use serde::{Deserialize, Serialize};

use super::{Config, ConfigError};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PartitionConfig {
    pub count: u16,
    pub by: Granularity,
    /// Where this machine stands, in a cluster. Never shared.
    pub region: String,
    /// Names of regions, each with its networks.
    pub regions: BTreeMap<String, Vec<String>>,
}

impl Default for PartitionConfig {
    fn default() -> Self {
        Self {
            count: lycosa_types::partition::DEFAULT_PARTITIONS,
            by: Granularity::Host,
            region: String::new(),
            regions: BTreeMap::new(),
        }
    }
}

impl Config {
    pub fn partitioner(&self) -> Partitioner {
        let PartitionConfig { count, by, regions, .. } = &self.partitions;
        let regions = u16::try_from(regions.len()).unwrap_or(u16::MAX);
        Partitioner { granularity: *by, partitions: *count, seed: 0, regions }
    }

    /// The regions of the crawl.
    pub fn regions(&self) -> Result<Regions, ConfigError> {
        Regions::new(&self.partitions.regions, self.partitions.count)
            .map_err(|error| ConfigError::Value { key: "partitions.regions", problem: error.to_string() })
    }

    /// The values in force as a file for all nodes: without what is this machine's own.
    pub fn to_shared_toml(&self) -> String {
        let mut shared = self.clone();
        shared.partitions.region.clear();
        shared.to_toml()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[partitions]\nregion = \"north\"\n[partitions.regions]\n\
        north = [\"192.0.2.0/24\", \"2001:db8::/32\"]\nsouth = [\"198.51.100.0/24\"]\n";

    #[test]
    fn regions_survive_being_written() {
        let config = Config::parse(TEXT, "test".as_ref()).unwrap();
        assert_eq!(config.partitioner().regions, 2);
        assert_eq!(toml::from_str::<Config>(&config.to_documented_toml()).unwrap(), config);
        let shared: Config = toml::from_str(&config.to_shared_toml()).unwrap();
        assert_eq!(shared.partitions.region, "");
        assert_eq!(shared.partitions.regions, config.partitions.regions);
        let set = Config::default().with("partitions.regions", "{ a = [\"10.0.0.0/8\"] }").unwrap();
        assert_eq!(set.partitions.regions["a"], ["10.0.0.0/8"]);
    }

    #[test]
    fn regions_that_cannot_be_are_refused() {
        let refused = |text: &str| Config::parse(text, "test".as_ref()).unwrap_err().to_string();
        assert!(refused("[partitions.regions]\na = [\"10.0.0.0\"]").contains("partitions.regions: "));
        assert!(refused("[partitions]\ncount = 1\nregions = { a = [\"10.0.0.0/8\"] }").contains("to 2 or"));
        assert!(
            refused("[partitions]\nregion = \"x\"\nregions = { a = [\"10.0.0.0/8\"] }").contains("one of a")
        );
    }
}

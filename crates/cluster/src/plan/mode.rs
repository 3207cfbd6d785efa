//! How partitions are given to nodes, and what becomes of a link whose partition lives elsewhere.

use serde::{Deserialize, Serialize};

/// How partitions are given to nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// A table that changes only when nodes come and go, or one works much harder than the others.
    #[default]
    Static,
    /// A node starts with one partition; whoever is idle takes the next.
    Dynamic,
    /// Every node crawls for itself: no table, no exchange, pages may be fetched more than once.
    Independent,
}

/// What becomes of a link to a partition that this node does not own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkMode {
    /// It is sent to the owner.
    #[default]
    Exchange,
    /// It is left out.
    Drop,
    /// It is followed here once the node has nothing else to do.
    Cross,
}

/// Where a link goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Into a partition of this node.
    Local,
    /// To the owner, through the exchange.
    Send,
    /// Nowhere.
    Drop,
    /// Into this node's own list of pages that are not its own, behind everything else.
    Cross,
}

/// Where a link goes whose partition is owned here or not.
pub fn route(allocation: Allocation, links: LinkMode, owned: bool) -> Route {
    match (owned, allocation, links) {
        (true, ..) | (_, Allocation::Independent, _) => Route::Local,
        (_, _, LinkMode::Exchange) => Route::Send,
        (_, _, LinkMode::Drop) => Route::Drop,
        (_, _, LinkMode::Cross) => Route::Cross,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_takes_the_way_its_mode_says() {
        assert_eq!(route(Allocation::Static, LinkMode::Drop, true), Route::Local);
        assert_eq!(route(Allocation::Static, LinkMode::Exchange, false), Route::Send);
        assert_eq!(route(Allocation::Dynamic, LinkMode::Drop, false), Route::Drop);
        assert_eq!(route(Allocation::Dynamic, LinkMode::Cross, false), Route::Cross);
        assert_eq!(route(Allocation::Independent, LinkMode::Exchange, false), Route::Local);
    }
}

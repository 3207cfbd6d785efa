//! Payloads, claimed in the partition that their value belongs to: so that the second page with a payload is told from the
//! first wherever in a cluster they were fetched. A crawl on one machine asks its [`crate::PrintTable`] alone.

use lycosa_types::{Digest, PartitionId, UrlId};

use super::Frontier;
use crate::store::StoreError;

impl Frontier {
    /// Claims a payload for a page, in a partition that is open here. Returns the page that had it first, if it is not this
    /// one.
    pub fn claim(
        &mut self,
        partition: PartitionId,
        digest: Digest,
        page: UrlId,
    ) -> Result<Option<UrlId>, StoreError> {
        if !self.takes_in(partition) {
            return Ok(None);
        }
        let first = match self.claimed.get(&(partition, digest)) {
            Some(first) => Some(*first),
            None => self.store.claim(partition, digest)?,
        };
        if let Some(first) = first {
            return Ok((first != page).then_some(first));
        }
        self.claimed.insert((partition, digest), page);
        self.changes.claims.push((partition, digest, page));
        Ok(None)
    }

    /// A page that was fetched turned out to repeat another one. Its record will say so.
    pub fn repeats(&mut self, page: UrlId, first: UrlId) {
        if self.takes_in(page.partition) {
            self.changes.copies.insert(page, first);
        }
    }
}

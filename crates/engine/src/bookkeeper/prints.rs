//! Prints on their way: whoever fetches a payload that is new to it claims it at the owner of the partition that the payload's
//! value belongs to. If another page had it first, the owner of the later one is told, and notes it in the page's record. No fetch
//! waits for that.
//!
//! Facts of a batch: kind 1, a claim (digest u64, page); kind 2, a copy (page, the page it repeats). A page is its partition
//! and key, 18 bytes.

use lycosa_cluster::LinkMode;
use lycosa_frontier::StoreError;
use lycosa_types::{Digest, PartitionId, UrlId};

use super::Bookkeeper;

const CLAIM: u8 = 1;
const COPY: u8 = 2;

/// What a fact says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Claim(Digest, UrlId),
    /// The first page repeats the second.
    Copy(UrlId, UrlId),
}

impl Fact {
    fn kind(&self) -> u8 {
        match self {
            Self::Claim(..) => CLAIM,
            Self::Copy(..) => COPY,
        }
    }

    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Claim(digest, page) => [&digest.0.to_be_bytes()[..], &page.to_bytes()].concat(),
            Self::Copy(page, first) => [page.to_bytes(), first.to_bytes()].concat(),
        }
    }

    fn decode(kind: u8, body: &[u8]) -> Option<Self> {
        match kind {
            CLAIM => {
                let (digest, page) = body.split_first_chunk::<8>()?;
                Some(Self::Claim(Digest(u64::from_be_bytes(*digest)), UrlId::from_bytes(page)?))
            }
            COPY => {
                let half = body.split_at_checked(body.len() / 2)?;
                Some(Self::Copy(UrlId::from_bytes(half.0)?, UrlId::from_bytes(half.1)?))
            }
            _ => None,
        }
    }
}

impl Bookkeeper {
    /// A page was fetched with a payload that this node had not seen.
    pub(super) fn claim_print(&mut self, digest: Digest, page: UrlId) -> Result<(), StoreError> {
        let Some(member) = &self.member else { return Ok(()) };
        if member.settings.links != LinkMode::Exchange {
            // Nodes of such a crawl tell each other nothing.
            return Ok(());
        }
        let partition = member.settings.partitioner.partition_of_print(digest);
        self.pass_on(partition, Fact::Claim(digest, page))
    }

    /// Facts from other nodes, for a partition that is open here.
    pub(super) fn take_facts(
        &mut self,
        partition: PartitionId,
        facts: &[(u8, Vec<u8>)],
    ) -> Result<(), StoreError> {
        for (kind, body) in facts {
            let fact = Fact::decode(*kind, body).filter(|fact| self.belongs(fact, partition));
            match fact {
                Some(fact) => self.take_fact(partition, fact)?,
                None => {
                    if let Some(member) = &mut self.member {
                        member.refused += 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn belongs(&self, fact: &Fact, partition: PartitionId) -> bool {
        let Some(member) = &self.member else { return false };
        match fact {
            Fact::Claim(digest, _) => member.settings.partitioner.partition_of_print(*digest) == partition,
            Fact::Copy(page, _) => page.partition == partition,
        }
    }

    /// To where it belongs: here, or on its way.
    fn pass_on(&mut self, partition: PartitionId, fact: Fact) -> Result<(), StoreError> {
        if self.frontier.takes_in(partition) {
            return self.take_fact(partition, fact);
        }
        if let Some(member) = &mut self.member {
            member.send_fact(partition, fact.kind(), fact.encode());
        }
        Ok(())
    }

    fn take_fact(&mut self, partition: PartitionId, fact: Fact) -> Result<(), StoreError> {
        match fact {
            Fact::Claim(digest, page) => {
                if let Some(first) = self.frontier.claim(partition, digest, page)? {
                    self.pass_on(page.partition, Fact::Copy(page, first))?;
                }
            }
            Fact::Copy(page, first) => {
                self.totals.duplicates += 1;
                self.frontier.repeats(page, first);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::UrlKey;

    #[test]
    fn facts_survive_the_way_and_others_are_refused() {
        let id = |n: u16| UrlId { partition: PartitionId(n), key: UrlKey(u128::from(n) << 77 | 5) };
        for fact in [Fact::Claim(Digest(u64::MAX - 7), id(3)), Fact::Copy(id(9), id(60_000))] {
            let body = fact.encode();
            assert_eq!(Fact::decode(fact.kind(), &body), Some(fact));
            for end in 0..body.len() {
                assert_eq!(Fact::decode(fact.kind(), &body[..end]), None);
            }
            assert_eq!(Fact::decode(7, &body), None);
        }
    }
}

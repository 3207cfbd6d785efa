//! Links that a rule left out and that no rule asked again could tell: named by `why`. And pages of which a limit left
//! something out. Notes of this machine, which belong to no partition and travel nowhere.

use lycosa_types::{UrlId, UrlKey};

use super::{Store, StoreError};

const VERSION: u8 = 1;
const LINK: u8 = b'L';
const PAGE: u8 = b'P';
/// Version, rule, partition and key of the page.
const HEAD_BYTES: usize = 2 + 18;

/// Why a link was left out. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LeftOutRule {
    NofollowMeta = 1,
    NofollowHeader = 2,
    NofollowRel = 3,
    Depth = 4,
    OffTopic = 5,
    QueryBudget = 6,
    HostWaiting = 7,
    DomainWaiting = 8,
    HostListed = 9,
    IndexLevels = 10,
    Redirects = 11,
}

impl LeftOutRule {
    pub const ALL: [Self; 11] = [
        Self::NofollowMeta,
        Self::NofollowHeader,
        Self::NofollowRel,
        Self::Depth,
        Self::OffTopic,
        Self::QueryBudget,
        Self::HostWaiting,
        Self::DomainWaiting,
        Self::HostListed,
        Self::IndexLevels,
        Self::Redirects,
    ];
}

/// A link that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub key: UrlKey,
    pub rule: LeftOutRule,
    pub url: Box<str>,
}

/// What is noted with one commit.
#[derive(Clone, Debug, Default)]
pub struct LeftOutNotes {
    /// With the page each was found on; none for what no page named.
    pub links: Vec<(Option<UrlId>, LeftOut)>,
    /// Pages of which limits left something out: the limits' names and how much.
    pub pages: Vec<(UrlId, Vec<(String, u32)>)>,
}

impl LeftOutNotes {
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.pages.is_empty()
    }
}

fn link_key(key: UrlKey) -> [u8; 9] {
    let mut row = [LINK; 9];
    row[1..].copy_from_slice(&key.low().to_be_bytes());
    row
}

fn page_key(id: UrlId) -> Vec<u8> {
    let mut row = vec![PAGE];
    row.extend(id.to_bytes());
    row
}

/// Names of limits, and how much each left out of a page.
pub type Cuts = Vec<(String, u32)>;

impl Store {
    /// Notes what was left out; durable with the next commit.
    pub fn note_left_out(&self, notes: &LeftOutNotes) -> Result<(), StoreError> {
        if notes.is_empty() {
            return Ok(());
        }
        self.guarded(|| {
            let keyspace = self.left_out.made()?;
            let mut batch = self.db.batch();
            for (found_on, LeftOut { key, rule, url }) in &notes.links {
                let mut row = vec![VERSION, *rule as u8];
                match found_on {
                    Some(id) => row.extend(id.to_bytes()),
                    None => row.extend([0xFF; 18]),
                }
                row.extend(url.as_bytes());
                batch.insert(keyspace, link_key(*key), row);
            }
            for (id, cuts) in &notes.pages {
                let mut row = vec![VERSION];
                let lines: Vec<String> = cuts.iter().map(|(name, count)| format!("{name} {count}")).collect();
                row.extend(lines.join("\n").into_bytes());
                batch.insert(keyspace, page_key(*id), row);
            }
            Ok(batch.commit()?)
        })
    }

    /// Why a link to this URL was left out, and the page it stands on.
    pub fn left_out(&self, key: UrlKey) -> Result<Option<(LeftOutRule, Option<UrlId>)>, StoreError> {
        let Some(row) = self.left_out.get(link_key(key))? else { return Ok(None) };
        let head = row.get(..HEAD_BYTES).filter(|head| head[0] == VERSION);
        let head = head.ok_or(StoreError::Damaged("note of a link left out"))?;
        let rule = LeftOutRule::ALL.into_iter().find(|rule| *rule as u8 == head[1]);
        let found_on = Some(&head[2..]).filter(|id| **id != [0xFF; 18]).and_then(UrlId::from_bytes);
        Ok(rule.map(|rule| (rule, found_on)))
    }

    /// What limits left out of a page: their names and how much.
    pub fn cuts_of(&self, id: UrlId) -> Result<Cuts, StoreError> {
        Ok(self.left_out.get(page_key(id))?.map(|row| read_cuts(&row)).unwrap_or_default())
    }

    /// Up to `limit` pages of which limits left something out.
    pub fn cut_pages(&self, limit: usize) -> Result<Vec<(UrlId, Cuts)>, StoreError> {
        let range = self.left_out.range(vec![PAGE]..vec![PAGE + 1]);
        let read = |guard: fjall::Guard| {
            let (key, value) = guard.into_inner()?;
            let id = key.get(1..).and_then(UrlId::from_bytes).ok_or(StoreError::Damaged("note of a page"))?;
            Ok((id, read_cuts(&value)))
        };
        range.take(limit).map(read).collect()
    }
}

fn read_cuts(row: &[u8]) -> Vec<(String, u32)> {
    let text = row.get(1..).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
    let read =
        |line: &str| line.split_once(' ').and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)));
    text.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::PartitionId;

    #[test]
    fn notes_are_found_again_by_url_and_by_page() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 32 << 20).unwrap();
        let id = UrlId { partition: PartitionId(3), key: UrlKey(99) };
        assert_eq!(store.left_out(UrlKey(1)).unwrap(), None);
        let links = LeftOutRule::ALL.into_iter().enumerate().map(|(n, rule)| {
            let left = LeftOut { key: UrlKey(n as u128 + 1), rule, url: "http://a.test/".into() };
            ((n > 0).then_some(id), left)
        });
        let pages = vec![(id, vec![("page.max_links".to_owned(), 24_954)])];
        store.note_left_out(&LeftOutNotes { links: links.collect(), pages: pages.clone() }).unwrap();
        for (n, rule) in LeftOutRule::ALL.into_iter().enumerate() {
            let found = store.left_out(UrlKey(n as u128 + 1)).unwrap();
            assert_eq!(found, Some((rule, (n > 0).then_some(id))));
        }
        assert_eq!(store.cuts_of(id).unwrap(), pages[0].1);
        assert_eq!(store.cut_pages(10).unwrap(), pages);
    }
}

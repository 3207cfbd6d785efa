//! Keyspaces that many crawls never need. Making one takes some eighteen syncs, which are a tenth of a second on a slow
//! disk, so these are made when something is first written to them; until then they are empty.

use std::iter::Flatten;
use std::ops::RangeBounds;
use std::sync::OnceLock;

use fjall::{Database, Keyspace, KeyspaceCreateOptions};

use super::StoreError;

/// The rows of a keyspace, or none.
type Guards = Flatten<std::option::IntoIter<fjall::Iter>>;

pub(super) struct LateSpace {
    name: &'static str,
    options: KeyspaceCreateOptions,
    /// How large its write buffer may become.
    pub most: u64,
    keyspace: OnceLock<Keyspace>,
    db: Database,
}

impl LateSpace {
    /// One that an earlier run made is opened at once.
    pub fn open(
        db: &Database,
        name: &'static str,
        options: KeyspaceCreateOptions,
        most: u64,
    ) -> Result<Self, StoreError> {
        let space = Self { name, options, most, keyspace: OnceLock::new(), db: db.clone() };
        if db.keyspace_exists(name) {
            space.made()?;
        }
        Ok(space)
    }

    /// The keyspace, to write to.
    pub fn made(&self) -> Result<&Keyspace, StoreError> {
        if let Some(keyspace) = self.there() {
            return Ok(keyspace);
        }
        // The engine makes it once, whoever comes first.
        let made = self.db.keyspace(self.name, || self.options.clone())?;
        Ok(self.keyspace.get_or_init(|| made))
    }

    /// The keyspace, if anything was ever written to it.
    pub fn there(&self) -> Option<&Keyspace> {
        self.keyspace.get()
    }

    pub fn get(&self, key: impl AsRef<[u8]>) -> fjall::Result<Option<fjall::UserValue>> {
        self.there().map_or(Ok(None), |keyspace| keyspace.get(key))
    }

    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> fjall::Result<bool> {
        self.there().map_or(Ok(false), |keyspace| keyspace.contains_key(key))
    }

    pub fn iter(&self) -> Guards {
        self.there().map(Keyspace::iter).into_iter().flatten()
    }

    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Guards {
        self.there().map(|keyspace| keyspace.prefix(prefix)).into_iter().flatten()
    }

    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Guards {
        self.there().map(|keyspace| keyspace.range(range)).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_empty_until_something_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let db = Database::builder(dir.path()).open().unwrap();
            let space = LateSpace::open(&db, "late", KeyspaceCreateOptions::default(), 1 << 20).unwrap();
            (db, space)
        };
        let (db, space) = open();
        assert_eq!(space.get("key").unwrap(), None);
        assert!(!space.contains_key("key").unwrap());
        assert_eq!(space.iter().chain(space.prefix("k")).chain(space.range("a".."z")).count(), 0);
        assert!(space.there().is_none() && !db.keyspace_exists("late"));
        space.made().unwrap().insert("key", "value").unwrap();
        assert_eq!(space.get("key").unwrap().as_deref(), Some(b"value".as_slice()));
        assert_eq!(space.iter().chain(space.prefix("k")).chain(space.range("a".."z")).count(), 3);
        db.persist(fjall::PersistMode::SyncAll).unwrap();
        drop((db, space));
        let (_db, space) = open();
        assert!(space.there().is_some() && space.contains_key("key").unwrap(), "made by an earlier run");
    }
}

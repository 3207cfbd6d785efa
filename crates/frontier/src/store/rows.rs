//! The rows of one kind. Making the keyspace for them takes some eighteen syncs, a tenth of a second on a slow disk, and many
//! crawls never need some of them; so it is made when the first row is written. Until then there are none.

use std::iter::Flatten;
use std::ops::RangeBounds;
use std::sync::OnceLock;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, Readable, Snapshot};

use super::StoreError;

/// Some of them, or none.
type Guards = Flatten<std::option::IntoIter<fjall::Iter>>;

pub(super) struct Rows {
    name: &'static str,
    options: KeyspaceCreateOptions,
    /// How large its write buffer may become.
    pub most: u64,
    keyspace: OnceLock<Keyspace>,
    db: Database,
}

impl Rows {
    /// A keyspace that an earlier run made is opened at once.
    pub fn open(
        db: &Database,
        name: &'static str,
        options: KeyspaceCreateOptions,
        most: u64,
    ) -> Result<Self, StoreError> {
        let rows = Self { name, options, most, keyspace: OnceLock::new(), db: db.clone() };
        if db.keyspace_exists(name) {
            rows.made()?;
        }
        Ok(rows)
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

    /// All of them as they were at a moment.
    pub fn iter_at(&self, moment: &Snapshot) -> Guards {
        self.there().map(|keyspace| moment.iter(keyspace)).into_iter().flatten()
    }

    /// Those with a prefix as they were at a moment.
    pub fn prefix_at(&self, moment: &Snapshot, prefix: impl AsRef<[u8]>) -> Guards {
        self.there().map(|keyspace| moment.prefix(keyspace, prefix)).into_iter().flatten()
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
    fn there_are_none_until_one_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let db = Database::builder(dir.path()).open().unwrap();
            let rows = Rows::open(&db, "rows", KeyspaceCreateOptions::default(), 1 << 20).unwrap();
            (db, rows)
        };
        let (db, rows) = open();
        assert_eq!(rows.get("key").unwrap(), None);
        assert!(!rows.contains_key("key").unwrap());
        assert_eq!(rows.iter().chain(rows.prefix("k")).chain(rows.range("a".."z")).count(), 0);
        assert!(rows.there().is_none() && !db.keyspace_exists("rows"));
        rows.made().unwrap().insert("key", "value").unwrap();
        assert_eq!(rows.get("key").unwrap().as_deref(), Some(b"value".as_slice()));
        assert_eq!(rows.iter().chain(rows.prefix("k")).chain(rows.range("a".."z")).count(), 3);
        db.persist(fjall::PersistMode::SyncAll).unwrap();
        drop((db, rows));
        let (_db, rows) = open();
        assert!(rows.there().is_some() && rows.contains_key("key").unwrap(), "made by an earlier run");
    }
}

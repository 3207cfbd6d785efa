//! The ledger: one line of JSON per segment that is safe, appended and synced. A line that was torn by a crash is dropped;
//! its segment is looked at once more.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ShipError, file_error};

const FILE: &str = "shipped.jsonl";
/// Longest ledger that is read.
const MAX_LEDGER_BYTES: u64 = 1 << 30;

/// A segment that the central archive holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Safe {
    pub segment: String,
    pub bytes: u64,
    pub sha256: String,
}

/// Which segments are safe.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    safe: BTreeMap<String, Safe>,
}

impl Ledger {
    pub fn open(dir: &Path) -> Result<Self, ShipError> {
        std::fs::create_dir_all(dir).map_err(file_error(dir))?;
        let path = dir.join(FILE);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(file_error(&path))?;
        let mut text = Vec::new();
        Read::by_ref(&mut file).take(MAX_LEDGER_BYTES).read_to_end(&mut text).map_err(file_error(&path))?;
        let mut safe = BTreeMap::new();
        let mut end = 0;
        for line in text.split_inclusive(|&b| b == b'\n') {
            let Some(body) = line.strip_suffix(b"\n") else {
                break;
            };
            if let Ok(entry) = serde_json::from_slice::<Safe>(body) {
                safe.insert(entry.segment.clone(), entry);
            }
            end += line.len() as u64;
        }
        file.set_len(end).map_err(file_error(&path))?;
        file.seek(SeekFrom::End(0)).map_err(file_error(&path))?;
        Ok(Self { path, file, safe })
    }

    pub fn get(&self, segment: &str) -> Option<&Safe> {
        self.safe.get(segment)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Safe> {
        self.safe.values()
    }

    pub fn len(&self) -> usize {
        self.safe.len()
    }

    pub fn is_empty(&self) -> bool {
        self.safe.is_empty()
    }

    /// Notes a segment, durably.
    pub fn add(&mut self, safe: Safe) -> Result<(), ShipError> {
        let mut line = serde_json::to_vec(&safe).map_err(|error| ShipError::Store(error.to_string()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(file_error(&self.path))?;
        self.file.sync_data().map_err(file_error(&self.path))?;
        self.safe.insert(safe.segment.clone(), safe);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_dropped_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let entry = |i: u32| Safe { segment: format!("s{i}"), bytes: u64::from(i), sha256: "00".to_owned() };
        let mut ledger = Ledger::open(dir.path()).unwrap();
        (0..3).for_each(|i| ledger.add(entry(i)).unwrap());
        drop(ledger);
        let path = dir.path().join(FILE);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - 5);
        std::fs::write(&path, &bytes).unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        assert_eq!(ledger.len(), 2);
        assert_eq!(ledger.get("s2"), None);
        ledger.add(entry(2)).unwrap();
        assert_eq!(
            Ledger::open(dir.path()).unwrap().iter().cloned().collect::<Vec<_>>(),
            [entry(0), entry(1), entry(2)]
        );
    }
}

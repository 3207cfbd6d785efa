//! The fixed parts of the file: its header, and the records of its table.

const MAGIC: &[u8; 8] = b"LYCLINK1";
pub const HEADER_BYTES: usize = 96;
pub const RECORD_BYTES: usize = 32;
/// Records in a bucket of the directory, about: as many as one read brings anyway.
const BUCKET_RECORDS_LOG2: u32 = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub log_bytes: u64,
    pub nodes: u64,
    pub edges: u64,
    pub pages: u64,
    pub in_at: u64,
    pub ids_at: u64,
    pub directory_at: u64,
    pub table_at: u64,
    pub directory_bits: u32,
}

impl Header {
    /// How many leading bits the directory of so many nodes looks at.
    pub fn bits_for(nodes: u64) -> u32 {
        nodes.checked_ilog2().unwrap_or(0).saturating_sub(BUCKET_RECORDS_LOG2)
    }

    pub fn bucket_of(&self, id: u64) -> u64 {
        if self.directory_bits == 0 { 0 } else { id >> (64 - self.directory_bits) }
    }

    /// Where the file ends; none if the header contradicts itself.
    pub fn end(&self) -> Option<u64> {
        let directory = ((1u64 << self.directory_bits) + 1) * 4;
        let fits = self.in_at >= HEADER_BYTES as u64
            && self.ids_at >= self.in_at
            && self.ids_at.checked_add(self.nodes.checked_mul(8)?)? == self.directory_at
            && self.directory_at.checked_add(directory)? == self.table_at;
        if !fits {
            return None;
        }
        self.table_at.checked_add(self.nodes.checked_mul(RECORD_BYTES as u64)?)
    }

    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        for (slot, field) in bytes[8..].chunks_exact_mut(8).zip(self.fields()) {
            slot.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    fn fields(&self) -> [u64; 9] {
        [
            self.log_bytes,
            self.nodes,
            self.edges,
            self.pages,
            self.in_at,
            self.ids_at,
            self.directory_at,
            self.table_at,
            u64::from(self.directory_bits),
        ]
    }

    /// None if these bytes are no header.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let (magic, fields) = words.split_first()?;
        let field = |at: usize| fields.get(at).map(|word| u64::from_le_bytes(*word));
        let header = Self {
            log_bytes: field(0)?,
            nodes: field(1)?,
            edges: field(2)?,
            pages: field(3)?,
            in_at: field(4)?,
            ids_at: field(5)?,
            directory_at: field(6)?,
            table_at: field(7)?,
            directory_bits: u32::try_from(field(8)?).ok()?,
        };
        let sound = magic == MAGIC
            && header.nodes <= u64::from(u32::MAX)
            && header.directory_bits == Self::bits_for(header.nodes);
        sound.then_some(header)
    }
}

/// A URL in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableRecord {
    pub id: u64,
    pub number: u32,
    pub out_links: u32,
    pub in_links: u32,
    pub out_at: u64,
    pub in_at: u64,
}

impl TableRecord {
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.id.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.out_links.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.in_links.to_le_bytes());
        bytes[20..26].copy_from_slice(&self.out_at.to_le_bytes()[..6]);
        bytes[26..].copy_from_slice(&self.in_at.to_le_bytes()[..6]);
        bytes
    }

    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Self {
        let whole = |from: usize, length: usize| {
            bytes[from..from + length].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
        };
        Self {
            id: whole(0, 8),
            number: whole(8, 4) as u32,
            out_links: whole(12, 4) as u32,
            in_links: whole(16, 4) as u32,
            out_at: whole(20, 6),
            in_at: whole(26, 6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_records_come_back() {
        let header = Header {
            log_bytes: 7,
            nodes: 1000,
            edges: 5,
            pages: 3,
            in_at: 100,
            ids_at: 200,
            directory_at: 8200,
            table_at: 8200 + 9 * 4,
            directory_bits: 3,
        };
        assert_eq!(Header::decode(&header.encode()), Some(header));
        assert_eq!(header.end(), Some(8236 + 32_000));
        assert_eq!(Header { ids_at: 201, ..header }.end(), None);
        assert_eq!(Header::decode(&[0; HEADER_BYTES]), None);
        let record =
            TableRecord { id: u64::MAX, number: 1, out_links: 2, in_links: 3, out_at: 1 << 47, in_at: 5 };
        assert_eq!(TableRecord::decode(&record.encode()), record);
    }
}

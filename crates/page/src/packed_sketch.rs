//! A sketch as the page record keeps it: four bytes a value, since values of a varint would take five.

use super::packed;
use super::signature::SKETCH_SIZE;
use serde::{Deserializer, Serializer};

const VALUE_BYTES: usize = 4;
const WHAT: &str = "the values of a sketch";

pub(crate) fn serialize<S: Serializer>(sketch: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
    let mut bytes = [0; SKETCH_SIZE * VALUE_BYTES];
    for (place, value) in bytes.as_chunks_mut::<VALUE_BYTES>().0.iter_mut().zip(sketch) {
        *place = value.to_le_bytes();
    }
    let len = sketch.len().min(SKETCH_SIZE) * VALUE_BYTES;
    serializer.serialize_bytes(bytes.get(..len).unwrap_or_default())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let bytes = packed::bytes(deserializer, SKETCH_SIZE * VALUE_BYTES, WHAT)?;
    let (values, odd) = bytes.as_chunks::<VALUE_BYTES>();
    if odd.is_empty() {
        Ok(values.iter().map(|value| u32::from_le_bytes(*value)).collect())
    } else {
        Err(packed::damaged(WHAT))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Signatures, signature::SKETCH_SIZE};

    #[test]
    fn sketches_come_back() {
        for len in [0, 1, 100, SKETCH_SIZE] {
            let sketch: Vec<u32> = (0..len as u32).map(|n| n.wrapping_mul(0x9e37_79b1)).collect();
            let signed = Signatures { sketch, ..Signatures::default() };
            let stored = postcard::to_stdvec(&signed).unwrap();
            assert_eq!(postcard::from_bytes::<Signatures>(&stored).unwrap(), signed);
            let json = serde_json::to_string(&signed).unwrap();
            assert_eq!(serde_json::from_str::<Signatures>(&json).unwrap(), signed);
            assert!(len == 0 || postcard::from_bytes::<Signatures>(&stored[..stored.len() - 1]).is_err());
        }
    }
}

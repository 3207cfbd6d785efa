//! Images: small valid PNGs whose bytes follow from a key.
//!
//! Promise: 24 by 24 pixels, eight-bit RGB, stored deflate blocks; two keys give visibly different pictures.

use crate::rng::Rng;

const SIDE: usize = 24;

/// Writes a PNG.
pub fn put_png(out: &mut Vec<u8>, key: u64) {
    out.extend_from_slice(b"\x89PNG\r\n\x1a\n");
    let mut head = [0; 13];
    head[3] = SIDE as u8;
    head[7] = SIDE as u8;
    head[8] = 8;
    head[9] = 2;
    put_chunk(out, *b"IHDR", &head);
    let mut rng = Rng::new(key);
    let colours: [u64; 4] = std::array::from_fn(|_| rng.word());
    let split = 4 + rng.below(16) as usize;
    let mut raw = Vec::with_capacity(SIDE * (SIDE * 3 + 1));
    for y in 0..SIDE {
        raw.push(0);
        for x in 0..SIDE {
            let colour = colours[usize::from(x > split) + 2 * usize::from(y > split)];
            let shade = ((x + y) * 2) as u8;
            raw.extend([0, 8, 16].map(|shift| ((colour >> shift) as u8).saturating_sub(shade)));
        }
    }
    let mut data = vec![0x78, 0x01, 0x01];
    let length = raw.len() as u16;
    data.extend_from_slice(&length.to_le_bytes());
    data.extend_from_slice(&(!length).to_le_bytes());
    data.extend_from_slice(&raw);
    data.extend_from_slice(&adler(&raw).to_be_bytes());
    put_chunk(out, *b"IDAT", &data);
    put_chunk(out, *b"IEND", &[]);
}

fn put_chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend_from_slice(&kind);
    out.extend_from_slice(data);
    let sum = crc(&out[start..]);
    out.extend_from_slice(&sum.to_be_bytes());
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let mut value = n as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { 0xEDB8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[n] = value;
        n += 1;
    }
    table
};

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |c, &b| CRC_TABLE[((c ^ u32::from(b)) & 255) as usize] ^ (c >> 8))
}

fn adler(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    (b << 16) | a
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn checksums_match_known_values() {
        assert_eq!(crc(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler(b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn pixels_inflate_to_the_declared_size() {
        let mut png = Vec::new();
        put_png(&mut png, 5);
        let at = png.windows(4).position(|w| w == b"IDAT").unwrap();
        let length = u32::from_be_bytes(png[at - 4..at].try_into().unwrap()) as usize;
        let mut raw = Vec::new();
        flate2::read::ZlibDecoder::new(&png[at + 4..at + 4 + length]).read_to_end(&mut raw).unwrap();
        assert_eq!(raw.len(), SIDE * (SIDE * 3 + 1));
        let mut other = Vec::new();
        put_png(&mut other, 6);
        assert_ne!(png, other);
    }
}

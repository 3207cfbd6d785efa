//! What is kept of an image: `ival`, a perceptual hash, a thumbnail and exact digests.
//!
//! The paper's `ival` for n = 16, 32 and 64: the image is scaled to n×n, made two-tone, 16 pixels of a row read as one
//! 16-bit number (leftmost highest), and the determinant taken. Where the paper is vague we chose, and keep:
//! - scaling is by exact area average in integers, of the grey value (299 R + 587 G + 114 B) / 1000 over white;
//! - a pixel is 1 if it is at least as light as the mean of all n² pixels;
//! - the n rows of n/16 numbers are folded to n/16 rows by adding each 16 neighbouring rows, row r weighted by 1 + r mod 16
//!   so that rows cannot change places unseen;
//! - the determinant is exact, in 128 bits.
//!
//! A symmetric image has determinant 0 for n > 16, so exact digests and a difference hash stand behind it.

use image::{GenericImageView, ImageReader, Limits as DecoderLimits};
use serde::{Deserialize, Serialize};
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of an image that is decoded.
pub const MAX_IMAGE_BYTES: usize = 8 << 20;
/// Pixels of an image that is decoded.
pub const MAX_PIXELS: u64 = 8 << 20;
/// Rows, and columns, of an image that is decoded: some decoders work for each row, however short it is.
pub const MAX_SIDE: u32 = 16 << 10;
/// Memory the decoder may ask for.
const MAX_DECODER_BYTES: u64 = 128 << 20;
/// Sides of the squares `ival` is taken of.
pub const SIDES: [usize; 3] = [16, 32, 64];
/// Side of the thumbnail.
const THUMB: usize = 4;

/// Why an image has no look.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error("image of {0} bytes: only images up to {MAX_IMAGE_BYTES} bytes are decoded")]
    TooManyBytes(usize),
    #[error(
        "image of {0} by {1} pixels: only images up to {MAX_PIXELS} pixels and {MAX_SIDE} in each direction are decoded"
    )]
    TooManyPixels(u32, u32),
    #[error("image cannot be decoded: {0}")]
    Undecodable(String),
}

/// What is kept of an image: always the digest of its bytes, and its look where it could be decoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureMark {
    /// Hash of the address it was fetched from.
    pub address: u64,
    /// Digest of the bytes.
    pub bytes: u64,
    pub look: Option<Look>,
}

/// What an image shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    pub width: u32,
    pub height: u32,
    /// Digest of the decoded pixels.
    pub pixels: u64,
    /// `ival` for each of [`SIDES`].
    pub ival: [i128; 3],
    /// Difference hash: for 8 rows of 9 cells, whether each is darker than its right neighbour.
    pub hash: u64,
    /// Mean colours of 4×4 fields.
    pub thumb: [[u8; 3]; THUMB * THUMB],
}

impl PictureMark {
    /// Marks the image `body` fetched from `address`; why it has no look, if it has none.
    pub fn of(address: &str, body: &[u8]) -> (Self, Option<PictureError>) {
        let (look, error) = match Look::of(body) {
            Ok(look) => (Some(look), None),
            Err(error) => (None, Some(error)),
        };
        (Self { address: xxh3_64(address.as_bytes()), bytes: xxh3_64(body), look }, error)
    }
}

impl Look {
    /// Decodes the first frame of a PNG, JPEG, GIF, WebP, BMP or ICO and looks at it.
    pub fn of(body: &[u8]) -> Result<Self, PictureError> {
        if body.len() > MAX_IMAGE_BYTES {
            return Err(PictureError::TooManyBytes(body.len()));
        }
        let (width, height) = reader(body)?.into_dimensions().map_err(undecodable)?;
        if is_too_large(width, height) {
            return Err(PictureError::TooManyPixels(width, height));
        }
        // Decoders are other people's code on hostile bytes: whatever happens there is an outcome.
        let decoded = catch_unwind(AssertUnwindSafe(|| reader(body)?.decode().map_err(undecodable)));
        let picture =
            decoded.unwrap_or_else(|_| Err(PictureError::Undecodable("the decoder failed".to_owned())))?;
        let (width, height) = picture.dimensions();
        if width == 0 || height == 0 || is_too_large(width, height) {
            return Err(PictureError::TooManyPixels(width, height));
        }
        Ok(Self::of_pixels(width, height, picture.into_rgba8().as_raw()))
    }

    /// The look of `width × height` pixels of red, green, blue and opacity.
    fn of_pixels(width: u32, height: u32, pixels: &[u8]) -> Self {
        let (pixel, _) = pixels.as_chunks::<4>();
        let size = (width as usize, height as usize);
        let over_white =
            |p: &[u8; 4], c: usize| (u32::from(p[c]) * u32::from(p[3]) + 255 * (255 - u32::from(p[3]))) / 255;
        let grey: Vec<u8> = pixel
            .iter()
            .map(|p| {
                ((299 * over_white(p, 0) + 587 * over_white(p, 1) + 114 * over_white(p, 2)) / 1000) as u8
            })
            .collect();
        let mut thumb = [[0; 3]; THUMB * THUMB];
        for channel in 0..3 {
            let plane: Vec<u8> = pixel.iter().map(|p| over_white(p, channel) as u8).collect();
            for (field, value) in thumb.iter_mut().zip(scale(&plane, size, THUMB, THUMB)) {
                field[channel] = value;
            }
        }
        Self {
            width,
            height,
            pixels: xxh3_64(pixels),
            ival: SIDES.map(|n| ival(&scale(&grey, size, n, n), n)),
            hash: difference_hash(&scale(&grey, size, 9, 8)),
            thumb,
        }
    }

    /// Bits in which the difference hashes differ.
    pub fn distance(&self, other: &Self) -> u32 {
        (self.hash ^ other.hash).count_ones()
    }

    /// Largest difference of a mean colour.
    pub fn colour_distance(&self, other: &Self) -> u8 {
        let fields = self.thumb.iter().flatten().zip(other.thumb.iter().flatten());
        fields.map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
    }
}

/// Whether an image is not worth the work.
fn is_too_large(width: u32, height: u32) -> bool {
    width.max(height) > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS
}

fn reader(body: &[u8]) -> Result<ImageReader<Cursor<&[u8]>>, PictureError> {
    let mut reader = ImageReader::new(Cursor::new(body))
        .with_guessed_format()
        .map_err(|e| PictureError::Undecodable(e.to_string()))?;
    let mut limits = DecoderLimits::default();
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    reader.limits(limits);
    Ok(reader)
}

fn undecodable(error: image::ImageError) -> PictureError {
    PictureError::Undecodable(error.to_string())
}

/// `values` (rows of `size.0`) scaled to `columns × rows` by exact area average, rounded down.
fn scale(values: &[u8], size: (usize, usize), columns: usize, rows: usize) -> Vec<u8> {
    let (width, height) = size;
    let mut sums = vec![0u64; columns * rows];
    let mut line = vec![0u64; columns];
    for (y, row) in values.chunks_exact(width).enumerate() {
        line.fill(0);
        // In units of 1/columns of a pixel, pixel x covers x·columns .. (x+1)·columns and cell c covers c·width ..
        for (x, &value) in row.iter().enumerate() {
            spread(x, columns, width, |cell, weight| line[cell] += weight * u64::from(value));
        }
        spread(y, rows, height, |cell, weight| {
            for (sum, value) in sums[cell * columns..].iter_mut().zip(&line) {
                *sum += weight * value;
            }
        });
    }
    let area = (width * height) as u64;
    sums.iter().map(|sum| (sum / area.max(1)).min(255) as u8).collect()
}

/// The cells that element `at` of `length` reaches when there are `cells`, with the width in common.
#[inline(always)]
fn spread(at: usize, cells: usize, length: usize, mut give: impl FnMut(usize, u64)) {
    let (start, end) = (at * cells, (at + 1) * cells);
    let mut cell = start / length;
    let mut from = start;
    while from < end && cell < cells {
        let to = end.min((cell + 1) * length);
        give(cell, (to - from) as u64);
        from = to;
        cell += 1;
    }
}

/// The paper's value of an n×n grey image.
fn ival(grey: &[u8], n: usize) -> i128 {
    let total: u64 = grey.iter().map(|&g| u64::from(g)).sum();
    let count = grey.len() as u64;
    let side = n / 16;
    let mut folded = vec![0i128; side * side];
    for (r, row) in grey.chunks_exact(n).enumerate() {
        for (c, sixteen) in row.chunks_exact(16).enumerate() {
            let number =
                sixteen.iter().fold(0i128, |bits, &g| bits << 1 | i128::from(u64::from(g) * count >= total));
            folded[r / 16 * side + c] += number * (1 + (r % 16) as i128);
        }
    }
    determinant(&folded, side)
}

/// Exact, by cofactors: at most 4×4.
fn determinant(matrix: &[i128], side: usize) -> i128 {
    if side == 1 {
        return matrix[0];
    }
    let mut sum = 0;
    for column in 0..side {
        let minor: Vec<i128> = matrix[side..]
            .chunks_exact(side)
            .flat_map(|row| row.iter().enumerate().filter(|(c, _)| *c != column).map(|(_, v)| *v))
            .collect();
        let sign = if column % 2 == 0 { 1 } else { -1 };
        sum += sign * matrix[column] * determinant(&minor, side - 1);
    }
    sum
}

fn difference_hash(grey: &[u8]) -> u64 {
    let pairs = grey.chunks_exact(9).flat_map(|row| row.windows(2));
    pairs.fold(0, |hash, pair| hash << 1 | u64::from(pair[0] < pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ImageFormat, Rgba, RgbaImage};

    fn encode(picture: &RgbaImage, format: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        let rgb = image::DynamicImage::ImageRgba8(picture.clone()).to_rgb8();
        rgb.write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    fn drawn(shift: u32) -> RgbaImage {
        RgbaImage::from_fn(100, 80, |x, y| {
            let light = ((x + shift) * 2 + y * y / 60) as u8;
            Rgba([light, light / 2 + (y as u8), 255 - light, 255])
        })
    }

    #[test]
    fn determinants() {
        assert_eq!(determinant(&[7], 1), 7);
        assert_eq!(determinant(&[1, 2, 3, 4], 2), -2);
        assert_eq!(determinant(&[2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 5, 0, 0, 0, 0, 7], 4), 210);
        assert_eq!(determinant(&[1, 2, 3, 1, 2, 3, 4, 5, 6], 3), 0);
    }

    #[test]
    fn scaling_is_an_area_average() {
        assert_eq!(scale(&[0, 100, 200, 40], (4, 1), 2, 1), [50, 120]);
        assert_eq!(scale(&[10, 20], (2, 1), 4, 2), [10, 10, 20, 20, 10, 10, 20, 20]);
        assert_eq!(scale(&[0, 90, 0], (3, 1), 2, 1), [30, 30]);
        assert_eq!(scale(&[7; 35], (5, 7), 3, 2), [7; 6]);
    }

    /// A white left half: every row reads 0x00ff (light on the right) or 0xff00.
    #[test]
    fn ival_of_halves() {
        let half: Vec<u8> = (0..256).map(|i| if i % 16 < 8 { 0 } else { 255 }).collect();
        assert_eq!(ival(&half, 16), 0x00ff * 136);
        let left: Vec<u8> = (0..256).map(|i| if i % 16 < 8 { 255 } else { 0 }).collect();
        assert_eq!(ival(&left, 16), 0xff00 * 136);
        assert_eq!(ival(&[5; 32 * 32], 32), 0);
    }

    #[test]
    fn formats_agree_on_the_look() {
        let picture = drawn(0);
        let png = Look::of(&encode(&picture, ImageFormat::Png)).unwrap();
        let bmp = Look::of(&encode(&picture, ImageFormat::Bmp)).unwrap();
        assert_eq!(png, bmp);
        let jpeg = Look::of(&encode(&picture, ImageFormat::Jpeg)).unwrap();
        assert!(
            png.distance(&jpeg) <= 4 && png.colour_distance(&jpeg) <= 6,
            "{} {}",
            png.distance(&jpeg),
            png.colour_distance(&jpeg)
        );
        let other = Look::of(&encode(&drawn(60), ImageFormat::Png)).unwrap();
        assert!(other.ival != png.ival && other.pixels != png.pixels);
    }

    #[test]
    fn bad_images_are_outcomes() {
        assert!(matches!(Look::of(b""), Err(PictureError::Undecodable(_))));
        assert!(matches!(Look::of(b"\x89PNG\r\n\x1a\nrubbish"), Err(PictureError::Undecodable(_))));
        assert!(matches!(Look::of(&vec![0; MAX_IMAGE_BYTES + 1]), Err(PictureError::TooManyBytes(_))));
        let mut bomb = encode(&drawn(0), ImageFormat::Bmp);
        bomb[18..22].copy_from_slice(&60_000u32.to_le_bytes());
        bomb[22..26].copy_from_slice(&60_000u32.to_le_bytes());
        assert!(Look::of(&bomb).is_err());
        let (mark, error) = PictureMark::of("/a.png", b"no image");
        assert!(mark.look.is_none() && error.is_some());
    }

    #[test]
    fn an_image_of_millions_of_rows_is_not_decoded() {
        for (width, height) in [(1, MAX_SIDE + 1), (MAX_SIDE + 1, 1)] {
            let png = encode(&RgbaImage::new(width, height), ImageFormat::Png);
            assert_eq!(Look::of(&png), Err(PictureError::TooManyPixels(width, height)));
        }
        let long = encode(&RgbaImage::new(1, MAX_SIDE), ImageFormat::Png);
        assert!(Look::of(&long).is_ok());
        let (mark, error) = PictureMark::of("/a.png", b"no image");
        assert!(mark.look.is_none() && error.is_some());
    }
}

//! Lines from standard input that nobody vouches for: bounded, in whatever encoding.

use std::io::{BufRead, Read};

/// What is read of a line; the rest of a longer one is skipped.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// The lines of `input` that are not blank, trimmed. Bytes that are not UTF-8 become U+FFFD.
pub fn lines(mut input: impl BufRead) -> impl Iterator<Item = std::io::Result<String>> {
    let mut failed = false;
    std::iter::from_fn(move || {
        while !failed {
            match next_line(&mut input) {
                Ok(None) => return None,
                Ok(Some(line)) if line.is_empty() => {}
                Ok(Some(line)) => return Some(Ok(line)),
                Err(error) => {
                    failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    })
}

fn next_line(input: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if !bytes.ends_with(b"\n") {
        input.skip_until(b'\n')?;
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_blank_and_foreign_lines() {
        let mut input = b"a\r\n\n \xff \n".to_vec();
        input.extend(vec![b'x'; MAX_LINE_BYTES as usize + 10]);
        input.extend_from_slice(b"\nlast");
        let read: Vec<String> = lines(&input[..]).collect::<Result<_, _>>().unwrap();
        assert_eq!((read[0].as_str(), read[1].as_str(), read[3].as_str()), ("a", "\u{fffd}", "last"));
        assert_eq!((read[2].len(), read.len()), (MAX_LINE_BYTES as usize, 4));
    }
}

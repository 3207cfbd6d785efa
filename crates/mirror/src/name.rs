//! The path of a URL's file in a mirror: one URL, one path, on every file system. Described in `docs/formats.md`.
//!
//! A path is made from its URL alone, so it never depends on what else was fetched or in which order. Two URLs never get one path,
//! also where a file system takes upper for lower case; no file stands where another URL needs a directory. What a name
//! can't hold is written as `!` and two hexadecimal digits, and `!` and a letter mark the rest:
//!
//! | mark | where | meaning |
//! | --- | --- | --- |
//! | `!u` digits | before the extension | which letters are upper case, the first letter being the lowest bit |
//! | `!f` | end of a file's name | a file whose name has no dot |
//! | `!d` | end of a directory's name | a directory whose name has a dot |
//! | `!x` | before the extension | a file whose URL really says `index.html` |
//! | `!e.` extension | end of a file's name | added by media type |
//! | `!long` | directory | names too long for a path, by their hash |

use std::fmt::Write;

use lycosa_types::{CanonUrl, UrlKey};

/// Longest name of a file or directory, in bytes. All that is written is ASCII.
const MAX_NAME: usize = 120;
/// Longest path below the directory of the host.
const MAX_PATH: usize = 180;
/// The directory of names that are too long.
const LONG: &str = "!long";
/// The file of a URL that ends with a slash.
const INDEX: &str = "index.html";

/// The path below a mirror's directory, with slashes. `extension` (without a dot) is added unless the name ends with it.
pub fn path_of(url: &CanonUrl, extension: Option<&str>) -> String {
    let text = url.as_str();
    let origin = url.origin();
    let rest = text.get(origin.len()..).unwrap_or("/");
    let (path, query) = match rest.find('?') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let mut out = host_dir(origin);
    let host_len = out.len();
    let mut fits = true;
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", path));
    for dir in dirs.split('/').skip(1) {
        out.push('/');
        let start = out.len();
        push_segment(dir, "", &mut out);
        if dir.contains('.') || dir.is_empty() {
            out.push_str("!d");
        }
        fits &= out.len() - start <= MAX_NAME;
    }
    out.push('/');
    let start = out.len();
    push_file(name, query, &mut out);
    if let Some(extension) = extension.filter(|extension| !has_extension(&out[start..], extension)) {
        if out.ends_with("!f") {
            out.truncate(out.len() - 2);
        }
        let _ = write!(out, "!e.{extension}");
    }
    fits &= out.len() - start <= MAX_NAME && out.len() - host_len <= MAX_PATH;
    if !fits {
        out.truncate(host_len);
        let key = UrlKey::of(text).0;
        let kept = extension.or_else(|| known_extension(name)).unwrap_or("bin");
        let _ = write!(out, "/{LONG}/{:02x}/{key:032x}.{kept}", key >> 120);
    }
    out
}

/// The URL whose file this is; none for a path that no URL has, and for one that is too long to tell.
pub fn url_of(path: &str) -> Option<String> {
    let (host, rest) = path.split_once('/')?;
    let mut url = origin_of(host)?;
    let segments: Vec<&str> = rest.split('/').collect();
    let (file, dirs) = segments.split_last()?;
    for dir in dirs {
        let plain = dir.strip_suffix("!d").unwrap_or(dir);
        if *dir == LONG {
            return None;
        }
        url.push('/');
        url.push_str(&read_segment(plain)?);
    }
    url.push('/');
    let file = file.rsplit_once("!e.").map_or(*file, |(name, _)| name);
    let file = file.strip_suffix("!f").unwrap_or(file);
    if file != INDEX {
        url.push_str(&read_segment(&file.replacen("!x", "", 1))?);
    }
    Some(url)
}

/// The directory of an origin: its host, then the scheme unless it is https, then the port unless it is the scheme's.
fn host_dir(origin: &str) -> String {
    let (scheme, authority) = origin.split_once("://").unwrap_or(("https", origin));
    let port_at = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
    let (host, port) = port_at.map_or((authority, ""), |at| (&authority[..at], &authority[at + 1..]));
    let mut out = String::new();
    push_segment(host, "", &mut out);
    if scheme != "https" {
        let _ = write!(out, "~{scheme}");
    }
    if !port.is_empty() {
        let _ = write!(out, "~{port}");
    }
    out
}

fn origin_of(dir: &str) -> Option<String> {
    let mut parts = dir.split('~');
    let host = read_segment(parts.next()?)?;
    let mut next = parts.next();
    let scheme = next.filter(|part| !part.starts_with(|c: char| c.is_ascii_digit()));
    if scheme.is_some() {
        next = parts.next();
    }
    let port = next.map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{host}{port}", scheme.unwrap_or("https")))
}

fn push_file(name: &str, query: &str, out: &mut String) {
    if name.is_empty() && query.is_empty() {
        out.push_str(INDEX);
        return;
    }
    if name == INDEX && query.is_empty() {
        out.push_str("index!x.html");
        return;
    }
    let start = out.len();
    push_segment(name, query, out);
    if !out[start..].contains('.') {
        out.push_str("!f");
    }
}

/// Writes one name: a part of the path, for the last part with the query (its question mark included).
fn push_segment(name: &str, query: &str, out: &mut String) {
    let start = out.len();
    let mut upper: Vec<bool> = Vec::new();
    for text in [name, query] {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'%' if bytes.get(at..at + 2).is_some_and(|two| two.iter().all(is_canonical_hex)) => {
                    out.push('%');
                    out.push_str(&text[at..at + 2]);
                    at += 2;
                }
                b'a'..=b'z' | b'A'..=b'Z' => {
                    upper.push(byte.is_ascii_uppercase());
                    out.push(char::from(byte));
                }
                b'0'..=b'9'
                | b'-'
                | b'_'
                | b'.'
                | b'$'
                | b'&'
                | b'('
                | b')'
                | b'+'
                | b','
                | b';'
                | b'='
                | b'@' => {
                    out.push(char::from(byte));
                }
                _ => escape(byte, out),
            }
        }
    }
    // The last dot or the first letter is the same byte in the name as in what was written.
    if out.ends_with('.') {
        out.pop();
        escape(b'.', out);
    }
    if is_reserved(&out[start..]) {
        let first = out.remove(start);
        let mut escaped = String::new();
        escape(first as u8, &mut escaped);
        out.insert_str(start, &escaped);
        // An escape tells its case itself.
        if first.is_ascii_alphabetic() && !upper.is_empty() {
            upper.remove(0);
        }
    }
    if upper.contains(&true) {
        let mask = mask_of(&upper);
        let at = extension_at(&out[start..]).map_or(out.len(), |at| start + at);
        out.insert_str(at, &mask);
    }
}

fn read_segment(written: &str) -> Option<String> {
    // The case is told by the letters themselves.
    let plain = match written.find("!u") {
        Some(at) => {
            let digits = written[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
            format!("{}{}", &written[..at], &written[at + 2 + digits..])
        }
        None => written.to_owned(),
    };
    let mut out = Vec::with_capacity(plain.len());
    let bytes = plain.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if byte != b'!' {
            out.push(byte);
            continue;
        }
        let digits = plain.get(at..at + 2)?;
        out.push(u8::from_str_radix(digits, 16).ok()?);
        at += 2;
    }
    String::from_utf8(out).ok()
}

fn escape(byte: u8, out: &mut String) {
    let _ = write!(out, "!{byte:02x}");
}

fn is_canonical_hex(byte: &u8) -> bool {
    byte.is_ascii_digit() || (b'A'..=b'F').contains(byte)
}

/// `!u` and the case of the letters as a number, the first letter in its lowest bit, lowest digit first.
fn mask_of(upper: &[bool]) -> String {
    let mut out = "!u".to_owned();
    for four in upper.chunks(4) {
        let digit = four.iter().enumerate().fold(0_u32, |sum, (bit, upper)| sum | u32::from(*upper) << bit);
        out.extend(char::from_digit(digit, 16));
    }
    out.truncate(out.trim_end_matches('0').len());
    out
}

/// Where the extension begins, at its dot.
fn extension_at(name: &str) -> Option<usize> {
    let at = name.rfind('.').filter(|at| *at > 0)?;
    let extension = &name[at + 1..];
    let is_one = (1..=8).contains(&extension.len()) && extension.bytes().all(|b| b.is_ascii_alphanumeric());
    is_one.then_some(at)
}

/// An extension that says how to show a file, short enough to keep.
fn known_extension(name: &str) -> Option<&str> {
    extension_at(name)
        .map(|at| &name[at + 1..])
        .filter(|extension| extension.bytes().all(|b| b.is_ascii_lowercase()))
}

fn has_extension(name: &str, extension: &str) -> bool {
    let known = extension_at(name).map(|at| &name[at + 1..]);
    known
        .is_some_and(|known| known.eq_ignore_ascii_case(extension) || (extension == "html" && known == "htm"))
}

/// Names that Windows keeps for devices, whatever their extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device)
            .is_some_and(|number| number.len() == 1 && number.bytes().all(|b| b.is_ascii_digit()))
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" | "clock$")
        || numbered("com")
        || numbered("lpt")
}

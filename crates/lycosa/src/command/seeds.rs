//! Seeds: from the command line, from a file, from standard input.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use lycosa_types::{CanonRules, CanonUrl};

use crate::usage::{OrUsage, wrong};

/// More seeds than this are refused: they belong into a sitemap.
const MAX_SEEDS: usize = 10_000_000;

/// Endings by which a word is taken for a file rather than for a host.
const FILE_ENDINGS: [&str; 16] = [
    "txt", "csv", "tsv", "json", "jsonl", "ndjson", "list", "lst", "urls", "seeds", "gz", "zst", "xml",
    "html", "htm", "toml",
];

/// Reads seeds: each argument is a URL, a file with one URL per line, or `-`.
pub fn read(arguments: &[String], rules: &CanonRules) -> Result<Vec<CanonUrl>> {
    let mut seeds = Vec::new();
    for argument in arguments {
        if argument == "-" {
            read_lines(std::io::stdin().lock(), "standard input", rules, &mut seeds)?;
        } else if !argument.contains("://") && Path::new(argument).is_file() {
            let file = std::fs::File::open(argument).with_context(|| argument.clone())?;
            read_lines(file, argument, rules, &mut seeds)?;
        } else {
            seeds.push(parse(argument, rules)?);
        }
    }
    Ok(seeds)
}

fn read_lines(input: impl Read, name: &str, rules: &CanonRules, seeds: &mut Vec<CanonUrl>) -> Result<()> {
    for (number, line) in BufReader::new(input).lines().enumerate() {
        let line = line.with_context(|| name.to_owned())?;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        seeds.push(parse(line, rules).with_context(|| format!("{name}, line {}", number + 1))?);
        if seeds.len() > MAX_SEEDS {
            bail!("{name} holds more than {MAX_SEEDS} seeds");
        }
    }
    Ok(())
}

/// A seed may be written without scheme, as people write addresses, if it cannot be meant as a file.
fn parse(raw: &str, rules: &CanonRules) -> Result<CanonUrl> {
    let has_scheme = raw.contains("://");
    if !has_scheme {
        if Path::new(raw).is_dir() {
            return Err(wrong(format!(
                "{raw} is a directory; name a file with one URL per line, or a URL such as https://{raw}/"
            )));
        }
        if let Some(reason) = may_be_a_file(raw) {
            return Err(wrong(format!(
                "{raw} {reason}: if it is a file with seeds, there is none of that name here; \
                 if it is a host, write https://{raw}"
            )));
        }
    }
    let with_scheme = if has_scheme { raw.to_owned() } else { format!("https://{raw}") };
    CanonUrl::parse(&with_scheme, rules)
        .with_context(|| format!("\"{raw}\" is not a URL to start from"))
        .or_usage()
}

/// Why a word without a scheme is more likely a file than an address, if it is.
fn may_be_a_file(raw: &str) -> Option<&'static str> {
    if raw.starts_with(['.', '/', '~', '\\']) {
        return Some("looks like the path of a file");
    }
    let host = raw.split(['/', '?', '#']).next().unwrap_or(raw);
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    if name == "localhost" || name.starts_with('[') {
        return None;
    }
    if !name.contains('.') {
        return Some("has no dot in it");
    }
    let ending = name.rsplit('.').next().unwrap_or_default();
    let is_file = name == raw && FILE_ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known));
    is_file.then_some("looks like the name of a file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_may_be_files_are_not_taken_for_hosts() {
        for word in
            ["nofile.txt", "notaurl", "./seeds", "lists/today", "SEEDS.CSV", "~/x", "intranet:8080", "a b"]
        {
            assert!(may_be_a_file(word).is_some(), "{word}");
        }
        for word in [
            "example.org",
            "example.org/a.txt",
            "localhost",
            "localhost:8000",
            "127.0.0.1:80/x",
            "[::1]:80",
            "example.org:8080/x?y",
        ] {
            assert!(may_be_a_file(word).is_none(), "{word}");
        }
    }
}

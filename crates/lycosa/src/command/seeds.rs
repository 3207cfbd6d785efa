//! Seeds: from the command line, from a file, from standard input.

use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, Result, bail};
use lycosa_types::{CanonRules, CanonUrl};

/// More seeds than this are refused: they belong into a sitemap.
const MAX_SEEDS: usize = 10_000_000;

/// Reads seeds: each argument is a URL, a file with one URL per line, or `-`.
pub fn read(arguments: &[String], rules: &CanonRules) -> Result<Vec<CanonUrl>> {
    let mut seeds = Vec::new();
    for argument in arguments {
        if argument == "-" {
            read_lines(std::io::stdin().lock(), "standard input", rules, &mut seeds)?;
        } else if !argument.contains("://") && std::path::Path::new(argument).is_file() {
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

/// A seed may be written without scheme, as people write addresses.
fn parse(raw: &str, rules: &CanonRules) -> Result<CanonUrl> {
    let with_scheme = if raw.contains("://") { raw.to_owned() } else { format!("https://{raw}") };
    CanonUrl::parse(&with_scheme, rules).with_context(|| format!("{raw:?} is not a URL to start from"))
}

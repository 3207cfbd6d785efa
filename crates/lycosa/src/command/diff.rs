//! `lycosa diff`: what changed between two visits of a page, from the archive.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_page::WinnowConfig;
use lycosa_types::{Change, PastVisit};

use super::compare::write_bodies;
use crate::exit::Exit;
use crate::figures::{clip, instant, plural};
use crate::output::stdout;
use crate::usage::wrong;

const EXAMPLES: &str = "\
Examples:
  lycosa diff https://example.org/news -d docs             the last change
  lycosa diff https://example.org/news --from 1 -d docs    everything since the first visit
  lycosa history https://example.org/news -d docs          the visits and their numbers";

/// Characters of a line that are shown.
const LINE_WIDTH: usize = 80;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// The page in question
    #[arg(value_name = "URL")]
    pub url: String,
    /// The directory of the crawl
    #[arg(short, long, value_name = "DIR", default_value = super::place::DEFAULT_DIR)]
    pub data: PathBuf,
    /// The number of the earlier visit (see `lycosa history`); the copy before the later one if left out
    #[arg(long, value_name = "N")]
    pub from: Option<usize>,
    /// The number of the later visit; the last one that brought a new copy if left out
    #[arg(long, value_name = "N")]
    pub to: Option<usize>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: DiffArgs) -> Result<Exit> {
    let reader = CrawlReader::open(Layout::new(args.data))?;
    let record = reader.find(&args.url)?;
    let visits = reader.history(&record)?;
    let (from, to) = choose(&visits, args.from, args.to)?;
    let body = |at: usize| -> Result<Vec<u8>> {
        let visit = visits.get(at).with_context(|| format!("there is no visit {}", at + 1))?;
        Ok(reader.archived_visit(&record, visit)?.decode()?.payload)
    };
    let name = |at: usize| format!("{} of {}", record.url, instant(visits[at].at));
    let (old, new) = (body(from)?, body(to)?);
    let mut out = stdout();
    write_bodies((&name(from), &old), (&name(to), &new), WinnowConfig::default(), args.json, &mut out)?;
    if !args.json {
        write_noise_since(&visits, to, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// What later visits found and did not store.
fn write_noise_since(visits: &[PastVisit], to: usize, out: &mut dyn Write) -> Result<()> {
    let later = visits.iter().skip(to + 1).take_while(|visit| !visit.change.is_news());
    for visit in later.filter(|visit| !visit.kept_lines.is_empty()) {
        writeln!(out, "{} no news:", instant(visit.at))?;
        for line in &visit.kept_lines {
            writeln!(out, "~ {:>5}  {} ({})", line.line, clip(&line.text, LINE_WIDTH), line.rule)?;
        }
    }
    Ok(())
}

/// The two visits to compare, counted from 0.
fn choose(visits: &[PastVisit], from: Option<usize>, to: Option<usize>) -> Result<(usize, usize)> {
    let is_copy = |visit: &PastVisit| {
        visit.archived.is_some()
            && (matches!(visit.change, Change::First | Change::Around) || visit.change.is_news())
    };
    let number = |typed: Option<usize>, before: usize| match typed {
        Some(0) => Err(wrong("visits are counted from 1")),
        Some(number) if number > visits.len() => {
            let visits = plural(visits.len() as u64, "visit", "visits");
            Err(wrong(format!("there is no visit {number} among {visits}; see lycosa history")))
        }
        Some(number) => Ok(number - 1),
        None => visits[..before].iter().rposition(is_copy).context(
            "this page has only one copy in the archive: nothing to compare; lycosa refresh brings news",
        ),
    };
    let to = number(to, visits.len())?;
    Ok((number(from, to)?, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::{ArchiveSpan, Outcome, UnixMs};

    fn visit(change: Change) -> PastVisit {
        PastVisit {
            at: UnixMs(0),
            outcome: Outcome::Fetched { status: 200 },
            change,
            signal: String::new(),
            share_permille: 0,
            digest: None,
            body_bytes: 0,
            archived: Some(ArchiveSpan { segment: 1, offset: 0, length: 1 }),
            kept_lines: Vec::new(),
        }
    }

    #[test]
    fn the_last_change_is_compared_unless_told_otherwise() {
        use Change::{First, Noise, Text, Unchanged};
        let visits: Vec<_> = [First, Unchanged, Text, Noise, Text, Unchanged].map(visit).into();
        assert_eq!(choose(&visits, None, None).unwrap(), (2, 4));
        assert_eq!(choose(&visits, Some(1), None).unwrap(), (0, 4));
        assert_eq!(choose(&visits, None, Some(3)).unwrap(), (0, 2));
        assert!(choose(&visits, Some(0), None).is_err() && choose(&visits, Some(9), None).is_err());
        assert!(choose(&visits[..1], None, None).is_err());
    }
}

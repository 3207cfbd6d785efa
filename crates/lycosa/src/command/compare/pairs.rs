//! Many pairs: a host's template is learnt over the whole list, then each pair is judged.
//!
//! Files are read twice where a host is named, once to learn and once to judge: only the list itself and the templates
//! stay in memory, however long the list is.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};

use anyhow::{Context, Result, bail};
use lycosa_page::{Extent, HostTemplate, PictureMark, Place, Signal, Verdict, WinnowConfig};
use serde::{Deserialize, Serialize};

use super::reading::Reading;
use super::scores::Scores;
use super::{is_picture, picture, report};
use crate::download::read_file;
use crate::lines::lines;

/// Pairs of one list.
const MAX_PAIRS: usize = 1 << 22;

/// A line of the list.
#[derive(Debug, Deserialize)]
struct Pair {
    old: String,
    new: String,
    #[serde(default)]
    host: Option<String>,
}

/// The answer to a pair. Images have neither shingles nor scores.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    old: &'a str,
    new: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    kind: &'static str,
    verdict: Verdict,
    signal: Signal,
    share: Option<f64>,
    extent: Option<Extent>,
    text_changed: bool,
    place: Option<Place>,
    /// Lines that differ without being news.
    noise_lines: u32,
    #[serde(flatten)]
    scores: Option<Scores>,
}

/// The answer to a pair that cannot be judged; names are null where the line itself says nothing.
#[derive(Debug, Serialize)]
struct Refusal<'a> {
    /// Of the list, blank lines not counted, from 1.
    line: usize,
    old: Option<&'a str>,
    new: Option<&'a str>,
    error: String,
}

/// Judges the pairs of `list`, a file or `-`, and writes one line for each, in order.
pub fn write(list: &str, config: WinnowConfig, out: &mut dyn Write) -> Result<()> {
    let pairs = read_list(list)?;
    let mut readings = (Reading::new(config), Reading::new(config));
    let mut templates: HashMap<&str, HostTemplate> = HashMap::new();
    for pair in pairs.iter().flatten() {
        let Some(host) = pair.host.as_deref() else { continue };
        // What cannot be read is told when the pair is judged.
        let Ok((old, new)) = bodies(pair) else { continue };
        if is_picture(&pair.old, &old) && is_picture(&pair.new, &new) {
            continue;
        }
        let signed = (readings.0.sign_file(&pair.old, &old), readings.1.sign_file(&pair.new, &new));
        templates.entry(host).or_default().learn(&signed.0, &signed.1);
    }
    for (at, pair) in pairs.iter().enumerate() {
        let names = pair.as_ref().ok().map(|pair| (pair.old.as_str(), pair.new.as_str()));
        let answer = match pair {
            Ok(pair) => {
                let template = pair.host.as_deref().and_then(|host| templates.get(host));
                judge(pair, template, &mut readings).map_err(|error| format!("{error:#}"))
            }
            Err(error) => Err(error.clone()),
        };
        // As an I/O error, so that a reader that has seen enough is recognised.
        match answer {
            Ok(answer) => serde_json::to_writer(&mut *out, &answer),
            Err(error) => {
                let (old, new) = names.unzip();
                serde_json::to_writer(&mut *out, &Refusal { line: at + 1, old, new, error })
            }
        }
        .map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The pairs in order; for a line that is none, why.
fn read_list(list: &str) -> Result<Vec<Result<Pair, String>>> {
    let input: Box<dyn BufRead> = if list == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let file = std::fs::File::open(list)
            .with_context(|| format!("{list} is not a file that can be read; --pairs wants JSON lines"))?;
        Box::new(BufReader::new(file))
    };
    let mut pairs = Vec::new();
    for line in lines(input) {
        if pairs.len() == MAX_PAIRS {
            bail!("{list} holds more than {MAX_PAIRS} pairs; split it, keeping the pairs of a host together");
        }
        let pair = serde_json::from_str(&line?);
        pairs
            .push(pair.map_err(|error| format!("not a pair ({error}); expected {{\"old\": …, \"new\": …}}")));
    }
    Ok(pairs)
}

fn bodies(pair: &Pair) -> Result<(Vec<u8>, Vec<u8>)> {
    if pair.old == "-" || pair.new == "-" {
        bail!("a pair names files, not standard input");
    }
    Ok((read_file(&pair.old)?, read_file(&pair.new)?))
}

fn judge<'p>(
    pair: &'p Pair,
    template: Option<&HostTemplate>,
    readings: &mut (Reading, Reading),
) -> Result<Answer<'p>> {
    let (old, new) = bodies(pair)?;
    let mut answer = Answer {
        old: &pair.old,
        new: &pair.new,
        host: pair.host.as_deref(),
        kind: "image",
        verdict: Verdict::Unchanged,
        signal: Signal::Nothing,
        share: None,
        extent: None,
        text_changed: false,
        place: None,
        noise_lines: 0,
        scores: None,
    };
    if is_picture(&pair.old, &old) && is_picture(&pair.new, &new) {
        let marks = (PictureMark::of("", &old).0, PictureMark::of("", &new).0);
        (answer.verdict, answer.signal) = picture::judge(&marks.0, &marks.1);
        return Ok(answer);
    }
    let signed = (readings.0.sign_file(&pair.old, &old), readings.1.sign_file(&pair.new, &new));
    let found = report::judge(&signed, old == new, template);
    Ok(Answer {
        kind: "page",
        verdict: found.verdict,
        signal: found.signal,
        share: Some(found.share),
        extent: Some(found.extent),
        text_changed: found.text_changed,
        place: found.place,
        noise_lines: found.noise_lines,
        scores: Some(Scores::of(&readings.0, &readings.1)),
        ..answer
    })
}

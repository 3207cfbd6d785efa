//! `lycosa robots`: what a robots.txt allows, and the line that decides.

use std::io::{IsTerminal, Write};

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_fetch::{RequestKind, Robots, RobotsFetch, RobotsPolicy, RobotsStep};
use lycosa_types::CanonUrl;
use serde::Serialize;

use crate::advice;
use crate::download::{Downloader, NetArgs, is_url, literal_rules, read_file};
use crate::exit::Exit;
use crate::lines::lines;
use crate::output::stdout;
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  lycosa robots robots.txt --agent mybot https://example.org/private/x
  lycosa robots https://example.org --agent mybot /private/x /public
  cut -f1 urls.tsv | lycosa robots robots.txt --agent mybot --json
  lycosa robots robots.txt             what the file says to lycosa as a whole";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RobotsArgs {
    /// A robots.txt: a file, `-` for standard input, its URL, or the URL of its site
    #[arg(value_name = "FILE|URL")]
    pub source: String,
    /// The crawler in question, by its product token
    #[arg(long, value_name = "NAME", default_value = "lycosa")]
    pub agent: String,
    /// URLs or paths to judge; without any, they are read from standard input, one per line
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    #[command(flatten)]
    pub net: NetArgs,
    /// Print one JSON line for each URL
    #[arg(long)]
    pub json: bool,
}

/// The verdict on one URL.
#[derive(Debug, Serialize)]
struct Verdict<'a> {
    url: &'a str,
    agent: &'a str,
    allowed: Option<bool>,
    /// The line that decided, counted from 1; null where none did.
    line: Option<u32>,
    /// Its pattern as written.
    rule: Option<&'a str>,
    because: String,
}

pub fn run(mut args: RobotsArgs) -> Result<Exit> {
    // `mybot/1.2 (+https://…)` is a User-Agent field; groups are matched by the token it begins with.
    let token_end = args.agent.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')));
    args.agent.truncate(token_end.filter(|&end| end > 0).unwrap_or(args.agent.len()));
    let (policy, site) = load(&args)?;
    let mut out = stdout();
    let mut judged = 0;
    let mut judge = |raw: &str, out: &mut dyn Write| -> Result<()> {
        judged += 1;
        let verdict = verdict(&policy, site.as_ref(), raw, &args.agent);
        if args.json {
            writeln!(out, "{}", serde_json::to_string(&verdict)?)?;
        } else {
            let word = match verdict.allowed {
                Some(true) => "allowed  ",
                Some(false) => "forbidden",
                None => "invalid  ",
            };
            writeln!(out, "{word}  {raw}  ({})", verdict.because)?;
        }
        Ok(())
    };
    for raw in &args.urls {
        judge(raw, &mut out)?;
    }
    if args.urls.is_empty() && args.source != "-" && !std::io::stdin().is_terminal() {
        for line in lines(std::io::stdin().lock()) {
            judge(&line.context("standard input")?, &mut out)?;
        }
    }
    if judged == 0 {
        write_whole(&policy, &args, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The policy, and the site it speaks for if that is known.
fn load(args: &RobotsArgs) -> Result<(RobotsPolicy, Option<CanonUrl>)> {
    if !is_url(&args.source) {
        let bytes = read_file(&args.source)?;
        return Ok((RobotsPolicy::Rules(Robots::parse(&bytes, &args.agent)), None));
    }
    let mut url = CanonUrl::parse(&args.source, &literal_rules())?;
    if url.path_and_query() == "/" {
        url = CanonUrl::parse(&format!("{}/robots.txt", url.origin()), &literal_rules())?;
    }
    let site = url.clone();
    let downloader = Downloader::new(&args.net)?;
    for redirects in 0.. {
        let visit = downloader.visit(&url, RequestKind::Robots);
        if let Err(lycosa_types::Failure::PrivateAddress) = visit.result {
            let advice = advice::of_failure(lycosa_types::Failure::PrivateAddress, url.as_str());
            bail!("{url} could not be fetched: {advice}");
        }
        let fetch = RobotsFetch { url: &url, result: &visit.result, redirects, unreachable_for_ms: 0 };
        match RobotsPolicy::from_fetch(fetch, &args.agent) {
            // The policy itself ends the chain after its last redirect.
            RobotsStep::Follow(target) => url = target,
            RobotsStep::Settled(policy) => return Ok((policy, Some(site))),
            RobotsStep::Unchanged => break,
        }
    }
    bail!("{url} answered 304 to a request without a condition; try again later")
}

fn verdict<'a>(
    policy: &'a RobotsPolicy,
    site: Option<&CanonUrl>,
    raw: &'a str,
    agent: &'a str,
) -> Verdict<'a> {
    let mut verdict =
        Verdict { url: raw, agent, allowed: None, line: None, rule: None, because: String::new() };
    let parsed;
    let path = if raw.starts_with('/') {
        raw
    } else {
        match CanonUrl::parse(raw, &literal_rules()) {
            Ok(url) => {
                parsed = url;
                if let Some(site) = site.filter(|site| site.origin() != parsed.origin()) {
                    verdict.because = format!("{} does not speak for {}", site, parsed.origin());
                    return verdict;
                }
                parsed.path_and_query()
            }
            Err(error) => {
                verdict.because = error.to_string();
                return verdict;
            }
        }
    };
    let decision = policy.decide(path);
    verdict.allowed = Some(decision.allowed);
    verdict.because = match policy {
        RobotsPolicy::Absent => "there is no robots.txt".to_owned(),
        RobotsPolicy::Unreachable(failure) => format!("robots.txt cannot be read ({failure})"),
        RobotsPolicy::Rules(_) if decision.line == 0 => "no line forbids it".to_owned(),
        RobotsPolicy::Rules(_) => {
            verdict.line = Some(decision.line);
            verdict.rule = Some(decision.rule);
            let field = if decision.allowed { "Allow" } else { "Disallow" };
            format!("line {}: {field}: {}", decision.line, decision.rule)
        }
    };
    verdict
}

/// What the file says as a whole.
fn write_whole(policy: &RobotsPolicy, args: &RobotsArgs, out: &mut dyn Write) -> Result<()> {
    let (state, rules) = match policy {
        RobotsPolicy::Rules(robots) => ("rules".to_owned(), robots.rule_count()),
        RobotsPolicy::Absent => ("there is no robots.txt: everything is allowed".to_owned(), 0),
        RobotsPolicy::Unreachable(failure) => (format!("cannot be read ({failure}): nothing is allowed"), 0),
    };
    if args.json {
        let whole = serde_json::json!({
            "source": args.source,
            "agent": args.agent,
            "state": state,
            "rules": rules,
            "crawl_delay_ms": policy.crawl_delay_ms(),
            "sitemaps": policy.sitemaps(),
        });
        writeln!(out, "{whole}")?;
        return Ok(());
    }
    let mut table = Table::new();
    table.row("source", args.source.as_str()).row("agent", args.agent.as_str());
    match policy {
        RobotsPolicy::Rules(_) => table.row("rules", format!("{rules} that concern it")),
        _ => table.row("state", state),
    };
    if let Some(delay_ms) = policy.crawl_delay_ms() {
        table.row("delay", format!("{} s", delay_ms as f64 / 1000.0));
    }
    table.row_if_any("sitemaps", policy.sitemaps().join("\n"));
    write!(out, "{}", table.text(0))?;
    Ok(())
}

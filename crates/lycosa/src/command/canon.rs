//! `lycosa canon`: the canonical form of URLs, where they belong, and whether a crawl would follow them.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use lycosa_engine::Config;
use lycosa_frontier::{Rejection, Scope, ScopeKind};
use lycosa_types::join::Joiner;
use lycosa_types::{CanonUrl, UrlError};
use serde::Serialize;

use super::settings::ScopeArg;
use crate::exit::Exit;
use crate::lines::lines;
use crate::output::{stdout, tell};
use crate::usage::OrUsage;

const EXAMPLES: &str = "\
Examples:
  lycosa canon 'HTTP://Example.ORG:80/a/../b?utm_source=x#top'
  lycosa canon --base https://example.org/docs/ ../about
  lycosa canon --json --seed https://example.org --scope domain < urls.txt";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CanonArgs {
    /// URLs; without any, they are read from standard input, one per line
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// Resolve relative URLs against this one
    #[arg(long, value_name = "URL")]
    pub base: Option<String>,
    /// Judge scope as a crawl from this seed would; may be repeated
    #[arg(long, value_name = "URL")]
    pub seed: Vec<String>,
    /// How far from the seeds [default: host, or any without a seed]
    #[arg(long, value_enum)]
    pub scope: Option<ScopeArg>,
    /// Judge by these patterns too; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// Judge by these patterns too; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Take URL, partition and trap rules from this configuration
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print one JSON line for each URL
    #[arg(long)]
    pub json: bool,
}

/// What is known of one URL.
#[derive(Debug, Serialize)]
struct Canon<'a> {
    raw: &'a str,
    /// In canonical form; null if it is not a URL that can be crawled.
    url: Option<&'a str>,
    error: Option<String>,
    host: Option<&'a str>,
    domain: Option<&'a str>,
    partition: Option<u16>,
    /// The key it is stored under, 32 hexadecimal digits.
    key: Option<String>,
    /// Null unless seeds, a scope or patterns were given.
    in_scope: Option<bool>,
    /// Why it is not in scope.
    reason: Option<String>,
    rejection: Option<Rejection>,
}

pub fn run(args: CanonArgs) -> Result<Exit> {
    let mut config = match &args.config {
        Some(file) => Config::load(file).or_usage()?,
        None => Config::default(),
    };
    let scope = scope(&args, &mut config)?;
    let base = match &args.base {
        Some(raw) => Some(CanonUrl::parse(raw, &config.urls).with_context(|| format!("--base {raw}"))?),
        None => None,
    };
    let mut out = stdout();
    let mut each = |raw: &str| -> Result<()> {
        let parsed = parse(raw, base.as_ref(), &config);
        let canon = judge(raw, &parsed, &config, scope.as_ref());
        if args.json {
            writeln!(out, "{}", serde_json::to_string(&canon)?)?;
        } else {
            writeln!(out, "{}", text(&canon))?;
        }
        Ok(())
    };
    for raw in &args.urls {
        each(raw)?;
    }
    if args.urls.is_empty() {
        if std::io::stdin().is_terminal() {
            tell!("reading URLs from the terminal, one per line; end with Ctrl-D");
        }
        for line in lines(std::io::stdin().lock()) {
            each(&line.context("standard input")?)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The scope to judge by, if one was asked for.
fn scope(args: &CanonArgs, config: &mut Config) -> Result<Option<Scope>> {
    let asked = args.scope.is_some()
        || [&args.seed, &args.include, &args.exclude].into_iter().any(|list| !list.is_empty());
    if !asked {
        return Ok(None);
    }
    match args.scope {
        Some(scope) => config.scope.kind = scope.into(),
        None if args.seed.is_empty() => config.scope.kind = ScopeKind::Any,
        None => {}
    }
    config.scope.include.extend_from_slice(&args.include);
    config.scope.exclude.extend_from_slice(&args.exclude);
    let mut seeds = Vec::new();
    for raw in &args.seed {
        seeds.push(CanonUrl::parse(raw, &config.urls).with_context(|| format!("--seed {raw}"))?);
    }
    Ok(Some(Scope::new(config.scope_options(), &seeds)?))
}

fn parse(raw: &str, base: Option<&CanonUrl>, config: &Config) -> Result<CanonUrl, UrlError> {
    let Some(base) = base else { return CanonUrl::parse(raw, &config.urls) };
    let mut url = String::new();
    Joiner::new(base, &config.urls).join(raw, &mut url)?;
    Ok(CanonUrl::from_canonical(url))
}

fn judge<'a>(
    raw: &'a str,
    parsed: &'a Result<CanonUrl, UrlError>,
    config: &Config,
    scope: Option<&Scope>,
) -> Canon<'a> {
    let url = parsed.as_ref().ok();
    let verdict = url.zip(scope).map(|(url, scope)| scope.check(url, 0));
    let rejection = verdict.clone().and_then(Result::err);
    Canon {
        raw,
        url: url.map(CanonUrl::as_str),
        error: parsed.as_ref().err().map(ToString::to_string),
        host: url.map(CanonUrl::host),
        domain: url.map(CanonUrl::domain),
        partition: url.map(|url| config.partitioner().partition_of(url).0),
        key: url.map(|url| format!("{:?}", url.key())),
        in_scope: verdict.map(|verdict| verdict.is_ok()),
        reason: rejection.as_ref().map(ToString::to_string),
        rejection,
    }
}

/// One line for each URL, so that lines in and lines out correspond.
fn text(canon: &Canon<'_>) -> String {
    let (Some(url), Some(partition), Some(domain)) = (canon.url, canon.partition, canon.domain) else {
        return format!("{}  error: {}", canon.raw, canon.error.as_deref().unwrap_or_default());
    };
    let scope = match (canon.in_scope, &canon.reason) {
        (Some(true), _) => "  in scope".to_owned(),
        (_, Some(reason)) => format!("  not in scope: {reason}"),
        _ => String::new(),
    };
    format!("{url}  partition {partition}  domain {domain}{scope}")
}

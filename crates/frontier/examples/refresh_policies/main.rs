//! How fresh each refresh policy keeps a simulated collection of pages, without network and in simulated time.
//!
//! Pages change as Poisson processes; a visit tells only whether the page changed since the one before. The oracle knows
//! every rate and has the exact optimum; "lycosa" learns the rates during the run. The baselines are given the true rates.
//!
//! `cargo run --release -p lycosa-frontier --example refresh_policies -- [--pace years|minutes] [--pages N] [--seed N] [--budget PART] [--markdown | --json]`

mod oracle;
mod report;
mod run;
mod world;

use std::process::ExitCode;

use lycosa_frontier::PolicyKind;

use crate::report::{Form, Row};
use crate::run::{Planner, Run};
use crate::world::{Pace, Spread, World};

const USAGE: &str = "usage: refresh_policies [--pace years|minutes] [--pages N] [--seed N] [--budget PART] [--markdown | --json]; N is a whole number";

/// What was asked for.
struct Args {
    pace: Pace,
    pages: Option<u32>,
    seed: u64,
    /// Budgets as shares of all changes.
    budgets: Vec<f64>,
    form: Form,
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<Args> {
    let mut args = Args { pace: Pace::Years, pages: None, seed: 1, budgets: Vec::new(), form: Form::Plain };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--pace" => {
                args.pace = match words.next()?.as_str() {
                    "years" => Pace::Years,
                    "minutes" => Pace::Minutes,
                    _ => return None,
                }
            }
            "--pages" => {
                let pages = words.next()?.parse().ok().filter(|n| (1..=10_000_000).contains(n))?;
                args.pages = Some(pages);
            }
            "--seed" => args.seed = words.next()?.parse().ok()?,
            "--budget" => args.budgets.push(words.next()?.parse().ok().filter(|&part: &f64| part > 0.0)?),
            "--markdown" => args.form = Form::Markdown,
            "--json" => args.form = Form::Json,
            _ => return None,
        }
    }
    if args.budgets.is_empty() {
        args.budgets = args.pace.default_budgets();
    }
    Some(args)
}

fn main() -> ExitCode {
    let Some(args) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let (mut rows, pace) = (Vec::new(), args.pace);
    for spread in [Spread::Uniform, Spread::PowerLaw] {
        let world = World::new(args.seed, args.pages.unwrap_or(pace.default_pages()), spread, pace);
        for &part in &args.budgets {
            let budget_per_s = part * world.total_rate();
            let planners = [
                ("oracle", Planner::oracle(&world, budget_per_s)),
                ("lycosa", Planner::learning(PolicyKind::Optimal, &world, pace, budget_per_s, 0.0)),
                (
                    "lycosa, half the pages dated",
                    Planner::learning(PolicyKind::Optimal, &world, pace, budget_per_s, 0.5),
                ),
                ("age, rates learnt", Planner::learning(PolicyKind::Age, &world, pace, budget_per_s, 0.0)),
                (
                    "random visits, true rates",
                    Planner::knowing(PolicyKind::OptimalRandom, &world, pace, budget_per_s),
                ),
                ("age, true rates", Planner::knowing(PolicyKind::Age, &world, pace, budget_per_s)),
                (
                    "proportional, true rates",
                    Planner::knowing(PolicyKind::Proportional, &world, pace, budget_per_s),
                ),
                ("uniform", Planner::knowing(PolicyKind::Uniform, &world, pace, budget_per_s)),
            ];
            let mut oracle = None;
            for (name, planner) in planners {
                let outcome = Run::new(&world, pace, planner, budget_per_s, args.seed).finish();
                let best = *oracle.get_or_insert(outcome.freshness());
                let exact = oracle::best_freshness(&world, budget_per_s);
                rows.push(Row { pace, spread, part, name, outcome, best, exact });
            }
        }
    }
    report::print(&rows, args.form);
    let short = rows.iter().filter(|r| r.name == "lycosa" && r.outcome.freshness() < 0.97 * r.best).count();
    if short > 0 {
        eprintln!("{short} cells are more than 3 % below the oracle");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

//! `cargo xtask mutants`: how many small faults the tests notice.
//!
//! A mutant is one small change of the product's code. A sample of all mutants is drawn by a seed, written into a copy of
//! the workspace, each behind a switch, and compiled once. Every test runs once as the code is and notes which switches
//! it reaches; then every mutant is switched on for the tests that reach it, the quickest first, until one fails.
//!
//! | module | noun |
//! | --- | --- |
//! | [`find`] | the mutants of a source file |
//! | [`report`] | the table, and the survivors with their reasons |
//! | [`tree`] | the copy of the workspace and its compiled tests |
//! | [`trial`] | tests as processes, without a mutant and with one |
//! | [`values`] | what stands in for the result of a function |
//! | [`write`] | switches in a source text |

mod find;
mod report;
mod tree;
mod trial;
mod values;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use clap::Args;

use self::report::{Accepted, Report, Row};
use self::tree::{Placed, Stock, TestBinary, Tree};
use self::trial::Verdict;
use crate::bench::describe_machine;
use crate::dice::Dice;
use crate::workspace::Workspace;

/// Rounds of compiling, each without the mutants that did not compile before.
const MAX_ROUNDS: usize = 40;

#[derive(Debug, Args)]
pub struct MutantsArgs {
    /// Mutants to draw
    #[arg(long, default_value_t = 600)]
    sample: usize,
    /// What the draw follows from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only mutants of these crates, by their directory (types, frontier, …); may be repeated
    #[arg(long = "crate", value_name = "CRATE")]
    packages: Vec<String>,
    /// Tests at the same time; tests that measure time want to be alone
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Only unit tests: quick to build, and the rate is then a lower bound
    #[arg(long)]
    unit: bool,
    /// Only count the mutants
    #[arg(long)]
    list: bool,
}

pub fn run(workspace: &Workspace, args: &MutantsArgs) -> Result<()> {
    let stock = tree::read(workspace, &args.packages)?;
    let all = &stock.all;
    if args.list {
        all.iter().for_each(|placed| {
            println!("{}:{} {}", placed.file.display(), placed.mutant.line, placed.mutant.what);
        });
        println!("{} mutants", all.len());
        return Ok(());
    }
    if all.is_empty() {
        bail!("no mutants in {}: name crates by their directories", args.packages.join(", "));
    }
    let machine = describe_machine(workspace);
    let mut draw = Draw::new(all.len(), args.seed);
    let tree = Tree::copy(workspace, args.unit)?;
    let (binaries, drawn, unviable) = compile(&tree, &stock, &mut draw, args.sample)?;
    let notes = tempfile::tempdir()?;
    let (tests, left_out) = trial::baseline(workspace, &binaries, notes.path(), args.jobs)?;
    left_out.iter().for_each(|name| eprintln!("left out, fails without a mutant: {name}"));
    let numbers: Vec<usize> = drawn.into_iter().collect();
    let verdicts = trial::judge(workspace, &tests, &numbers, args.jobs)?;
    let report = Report {
        date: machine.date.clone(),
        commit: machine.commit.clone(),
        seed: args.seed,
        sample: numbers.len(),
        packages: args.packages.clone(),
        tests: if args.unit { "unit tests alone" } else { "unit and integration tests" },
        tests_run: tests.len(),
        left_out,
        unviable,
        rows: rows(all, &verdicts),
    };
    let accepted = match std::fs::read_to_string(workspace.root.join("bench/mutants-accepted.toml")) {
        Ok(text) => Accepted::read(&text)?,
        Err(_) => Accepted::default(),
    };
    let text = report.text(&accepted)?;
    println!("{text}");
    let out = workspace.root.join("bench/results").join(format!("{}-mutants", machine.date));
    std::fs::write(out.with_extension("md"), text)?;
    std::fs::write(out.with_extension("json"), serde_json::to_string_pretty(&report)? + "\n")?;
    println!("written to {}.md and .json", workspace.relative(&out).display());
    Ok(())
}

/// The test binaries, the mutants they hold, and how many of each package do not compile.
type Compiled = (Vec<TestBinary>, BTreeSet<usize>, BTreeMap<String, usize>);

/// Compiles the tree with as many mutants as were asked for, drawing others for those that do not compile.
fn compile(tree: &Tree, stock: &Stock, draw: &mut Draw, sample: usize) -> Result<Compiled> {
    let mut drawn: BTreeSet<usize> = draw.take(sample).collect();
    let mut unviable = BTreeMap::new();
    for round in 1..=MAX_ROUNDS {
        let written = tree.write(stock, &drawn)?;
        eprintln!("round {round}: {} mutants", drawn.len());
        match tree.compile(&written)? {
            Ok(binaries) => return Ok((binaries, drawn, unviable)),
            Err(blamed) => {
                for number in &blamed {
                    drawn.remove(number);
                    let placed = &stock.all[*number];
                    eprintln!(
                        "unviable: {}:{} {}",
                        placed.file.display(),
                        placed.mutant.line,
                        placed.mutant.what
                    );
                    *unviable.entry(placed.package.clone()).or_insert(0) += 1;
                }
                // Each further draw costs a round where it fails: the last rounds only take out.
                let more = if round < MAX_ROUNDS / 2 { blamed.len() } else { 0 };
                drawn.extend(draw.take(more));
            }
        }
    }
    bail!("after {MAX_ROUNDS} rounds there are still mutants that do not compile")
}

fn rows(all: &[Placed], verdicts: &BTreeMap<usize, (Verdict, String)>) -> Vec<Row> {
    let row = |(number, (verdict, by)): (&usize, &(Verdict, String))| {
        let placed = &all[*number];
        Row {
            package: placed.package.clone(),
            file: placed.file.display().to_string(),
            line: placed.mutant.line,
            kind: placed.mutant.kind,
            what: placed.mutant.what.clone(),
            verdict: verdict.word(),
            by: by.clone(),
        }
    };
    verdicts.iter().map(row).collect()
}

/// Numbers in an order that follows from the seed, each once.
struct Draw {
    numbers: Vec<usize>,
    dice: Dice,
}

impl Draw {
    fn new(count: usize, seed: u64) -> Self {
        Self { numbers: (0..count).collect(), dice: Dice(seed) }
    }

    fn take(&mut self, count: usize) -> impl Iterator<Item = usize> + '_ {
        (0..count).map_while(|_| {
            let left = self.numbers.len() as u64;
            (left > 0).then(|| self.numbers.swap_remove(self.dice.roll(left) as usize))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_follows_from_its_seed_and_repeats_nothing() {
        let draw = |seed, count| Draw::new(50, seed).take(count).collect::<Vec<_>>();
        assert_eq!(draw(1, 20), draw(1, 20));
        assert_ne!(draw(1, 20), draw(2, 20));
        assert_eq!(draw(3, 80).into_iter().collect::<BTreeSet<_>>().len(), 50);
    }
}

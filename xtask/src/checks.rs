//! The tally of a run: each check by name with its time, failures told at the end, and one plain line of counts.
//!
//! A failed check does not stop the ones after it, so one run shows everything that is wrong.

use std::time::{Duration, Instant};

use anyhow::Result;

#[derive(Default)]
pub struct Checks {
    passed: usize,
    left_out: Vec<&'static str>,
    failed: Vec<(String, String)>,
    times: Vec<(String, Duration)>,
}

impl Checks {
    pub fn run(&mut self, name: &str, check: impl FnOnce() -> Result<()>) {
        eprintln!("== {name}");
        let start = Instant::now();
        let result = check();
        let took = start.elapsed();
        match result {
            Ok(()) => {
                self.passed += 1;
                eprintln!("== {name}: ok ({:.1} s)\n", took.as_secs_f64());
            }
            Err(error) => {
                eprintln!("== {name}: FAILED ({:.1} s): {error:#}\n", took.as_secs_f64());
                self.failed.push((name.to_owned(), format!("{error:#}")));
            }
        }
        self.times.push((name.to_owned(), took));
    }

    /// Notes a check that was not asked for: it is named at the end, so that nobody takes it for passed.
    pub fn leave_out(&mut self, name: &'static str) {
        self.left_out.push(name);
    }

    /// Prints the counts and says whether all is well.
    pub fn finish(self) -> bool {
        if self.times.len() > 1 {
            for (name, took) in &self.times {
                println!("{:>8.1} s  {name}", took.as_secs_f64());
            }
        }
        for (name, why) in &self.failed {
            println!("failed: {name}: {why}");
        }
        println!("{}", self.counts());
        self.failed.is_empty()
    }

    fn counts(&self) -> String {
        let counts = format!("{} passed, {} failed", self.passed, self.failed.len());
        match self.left_out.as_slice() {
            [] => counts,
            names => format!("{counts}, left out: {}", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_counted_and_the_rest_still_runs() {
        let mut checks = Checks::default();
        let mut ran = 0;
        checks.run("one", || anyhow::bail!("broken"));
        checks.run("two", || {
            ran += 1;
            Ok(())
        });
        assert_eq!((ran, checks.passed, checks.failed.len()), (1, 1, 1));
        assert_eq!(checks.counts(), "1 passed, 1 failed");
        assert!(!checks.finish());
    }

    #[test]
    fn a_check_that_was_left_out_is_named_beside_the_counts() {
        let mut checks = Checks::default();
        checks.leave_out("soak");
        checks.leave_out("site check");
        assert_eq!(checks.counts(), "0 passed, 0 failed, left out: soak, site check");
    }
}

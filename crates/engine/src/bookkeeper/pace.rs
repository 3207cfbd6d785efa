//! How fast a partition goes, for the plan that says which node has it.

use lycosa_frontier::PartitionCounts;

/// What a partition is worth to the plan is what waits and what was fetched in about so many seconds: one whose links are
/// followed as they are found has short queues however much it works.
const LATELY_S: f64 = 60.0;
/// Every partition is worth this much: a few pages more or less are no reason to move one.
const AT_LEAST: u64 = 4;

/// How much of a partition was fetched lately.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub epoch: u64,
    ended: u64,
    /// Requests of the last [`LATELY_S`] seconds, earlier ones fading out.
    lately: f64,
}

impl Pace {
    /// What a partition is worth to the plan.
    pub fn weight(&self, counts: &PartitionCounts) -> u64 {
        AT_LEAST + counts.waiting + self.lately as u64
    }

    pub fn after(before: Option<&Self>, counts: &PartitionCounts, passed_s: f64) -> Self {
        let (ended, lately) = before.map_or((0, 0.0), |pace| (pace.ended, pace.lately));
        let faded = lately * (-passed_s / LATELY_S).exp();
        let lately = faded + counts.ended.saturating_sub(ended) as f64;
        Self { epoch: counts.epoch, ended: counts.ended, lately }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_types::PartitionId;

    #[test]
    fn what_was_done_fades_and_what_is_done_counts() {
        let counts = |ended| PartitionCounts {
            partition: PartitionId(0),
            epoch: 1,
            waiting: 0,
            leased: 0,
            ended,
            leaving: false,
        };
        let first = Pace::after(None, &counts(100), 1.0);
        assert!((first.lately - 100.0).abs() < 1e-9);
        let later = Pace::after(Some(&first), &counts(130), LATELY_S);
        assert!((later.lately - (30.0 + 100.0 / std::f64::consts::E)).abs() < 1e-9);
    }
}

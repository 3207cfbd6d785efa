//! When is it over? When every queue in the cluster is empty and no message is on its way.
//!
//! Two waves, after Mattern's four counters (1987). The coordinator numbers a wave; nodes that have heard of it report, per
//! partition, whether it is passive, how often it was active, and how far it has read its `in` lane. Once all have reported
//! passive, the coordinator looks at the last message of every `in` lane, and then begins the second wave. If every
//! partition says the same again, each was passive from its first report to its second, and all these spans share the
//! instant between the waves. Only active partitions send, so at that instant nothing was sent, and every lane had been
//! found read to its end: nothing can ever become active again.
//!
//! Seeds that are submitted are messages on `in` and so are seen, too.

/// What a node says about a partition it owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionReport {
    pub epoch: u64,
    /// The last wave the node had heard of when it said this.
    pub wave: u64,
    /// Nothing waits, nothing is being fetched, nothing is left to send.
    pub passive: bool,
    /// Grows whenever the partition takes in or changes anything.
    pub activity: u64,
    /// The last message of `in` it has taken in.
    pub consumed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Something works, or not all have reported on this wave.
    Busy,
    /// The first wave found all passive; the second has begun.
    Again,
    Finished,
}

/// What must be the same in both waves.
type Still = (u64, u64, u64);

#[derive(Debug)]
pub struct Detector {
    wave: u64,
    first: Option<Vec<Still>>,
}

impl Detector {
    /// Starts with a wave that no report can have heard of yet.
    pub fn new(wave: u64) -> Self {
        Self { wave, first: None }
    }

    /// The wave to be made known to all nodes.
    pub fn wave(&self) -> u64 {
        self.wave
    }

    /// Whether all partitions have reported passive on this wave. Only then is it worth to look at the lanes.
    pub fn is_quiet(&self, reports: &[Option<PartitionReport>]) -> bool {
        reports.iter().all(|r| r.is_some_and(|r| r.passive && r.wave >= self.wave))
    }

    /// Judges a wave. `last_sent` holds the last sequence of every `in` lane, looked up *after* the reports were there.
    pub fn judge(&mut self, reports: &[Option<PartitionReport>], last_sent: &[u64]) -> Verdict {
        let still: Option<Vec<Still>> = reports
            .iter()
            .map(|r| {
                r.filter(|r| r.passive && r.wave >= self.wave).map(|r| (r.epoch, r.activity, r.consumed))
            })
            .collect();
        let Some(still) = still else {
            // A partition at work ends the attempt; one that has merely not heard of the wave does not.
            if reports.iter().flatten().any(|r| !r.passive) {
                self.first = None;
            }
            return Verdict::Busy;
        };
        self.wave += 1;
        let drained = still.len() == last_sent.len()
            && still.iter().zip(last_sent).all(|(&(_, _, consumed), &sent)| consumed >= sent);
        if !drained {
            self.first = None;
            return Verdict::Busy;
        }
        if self.first.as_ref() == Some(&still) {
            return Verdict::Finished;
        }
        self.first = Some(still);
        Verdict::Again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Partitions that work, send and rest; messages and reports that are late.
    struct Simulation {
        dice: u64,
        /// Work left, activity, consumed.
        partitions: Vec<(u32, u64, u64)>,
        /// Messages on each lane.
        lanes: Vec<u64>,
        /// What the coordinator knows.
        known: Vec<Option<PartitionReport>>,
        /// Reports under way.
        reports: Vec<(usize, PartitionReport)>,
        /// The wave each partition has heard of.
        heard: Vec<u64>,
        wave: u64,
        budget: u32,
    }

    impl Simulation {
        fn roll(&mut self, below: usize) -> usize {
            self.dice =
                self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.dice >> 33) as usize % below
        }

        fn is_over(&self) -> bool {
            self.partitions.iter().zip(&self.lanes).all(|(p, &sent)| p.0 == 0 && p.2 == sent)
        }

        fn step(&mut self) {
            let p = self.roll(self.partitions.len());
            match self.roll(6) {
                // Work: may send.
                0 | 1 if self.partitions[p].0 > 0 => {
                    let to = self.roll(self.lanes.len());
                    if self.budget > 0 && self.roll(2) == 0 {
                        self.budget -= 1;
                        self.lanes[to] += 1;
                    }
                    self.partitions[p].0 -= 1;
                    self.partitions[p].1 += 1;
                }
                // Take in one message.
                2 if self.partitions[p].2 < self.lanes[p] => {
                    self.partitions[p].0 += self.dice as u32 % 3;
                    self.partitions[p].1 += 1;
                    self.partitions[p].2 += 1;
                }
                // Hear of the wave.
                3 => self.heard[p] = self.wave,
                // Say something, which takes its time.
                4 => {
                    let (work, activity, consumed) = self.partitions[p];
                    let wave = self.heard[p];
                    let report = PartitionReport { epoch: 1, wave, passive: work == 0, activity, consumed };
                    self.reports.push((p, report));
                }
                // A report arrives: any of those under way, but never an older one after a newer one.
                _ if !self.reports.is_empty() => {
                    let i = self.roll(self.reports.len());
                    let p = self.reports[i].0;
                    let first = self.reports.iter().position(|r| r.0 == p).unwrap_or(i);
                    let (p, report) = self.reports.remove(first);
                    self.known[p] = Some(report);
                }
                _ => {}
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn it_is_found_when_over_and_never_before(seed: u64, n in 1usize..6, budget in 0u32..60) {
            let mut simulation = Simulation {
                dice: seed,
                partitions: vec![(0, 0, 0); n],
                lanes: vec![0; n],
                known: vec![None; n],
                reports: Vec::new(),
                heard: vec![0; n],
                wave: 1,
                budget,
            };
            simulation.partitions[0].0 = 3;
            let mut detector = Detector::new(1);
            let mut finished = false;
            for _ in 0..60_000 {
                simulation.step();
                if simulation.roll(4) == 0 {
                    let known = simulation.known.clone();
                    let verdict = detector.judge(&known, &simulation.lanes);
                    simulation.wave = detector.wave();
                    if verdict == Verdict::Finished {
                        prop_assert!(simulation.is_over());
                        finished = true;
                        break;
                    }
                }
            }
            prop_assert!(finished, "over: {}", simulation.is_over());
        }
    }

    #[test]
    fn one_wave_is_not_enough() {
        let report = |wave| PartitionReport { epoch: 1, wave, passive: true, activity: 4, consumed: 2 };
        let mut detector = Detector::new(5);
        assert_eq!(detector.judge(&[Some(report(4)), None], &[2, 2]), Verdict::Busy);
        assert_eq!(detector.judge(&[Some(report(5)), Some(report(5))], &[2, 2]), Verdict::Again);
        // The same reports again prove nothing.
        assert_eq!(detector.judge(&[Some(report(5)), Some(report(5))], &[2, 2]), Verdict::Busy);
        assert_eq!(detector.judge(&[Some(report(6)), Some(report(6))], &[2, 2]), Verdict::Finished);
        // A message that nobody has read yet.
        let mut detector = Detector::new(5);
        assert_eq!(detector.judge(&[Some(report(5))], &[3]), Verdict::Busy);
        // It worked in between.
        let mut detector = Detector::new(5);
        detector.judge(&[Some(report(5))], &[2]);
        let worked = PartitionReport { activity: 5, ..report(6) };
        assert_eq!(detector.judge(&[Some(worked)], &[2]), Verdict::Again);
    }
}

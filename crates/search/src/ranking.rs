//! What a page is worth whatever is asked: importance by links, and nearness to where the crawl began.

use std::sync::OnceLock;

/// What is known of a page before any query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statics {
    /// 1 is the average page.
    pub rank: f64,
    pub depth: u64,
}

/// What twice the average importance adds, roughly.
const RANK_SHARE: f64 = 0.12;
/// Importance beyond this many times the average adds no more.
const MAX_RANK: f64 = 1024.0;
/// What a step away from the seed costs.
const DEPTH_SHARE: f64 = 0.02;
/// Steps beyond this cost no more.
const MAX_DEPTH: f64 = 16.0;

/// Steps that importance is stored in.
const RANK_CODES: u64 = 256;
/// Depths that are told apart, seeds included.
const DEPTHS: u64 = MAX_DEPTH as u64 + 1;

impl Statics {
    /// Both in one small number, which the index keeps as a column.
    pub fn code(self) -> u64 {
        let rank = if self.rank.is_finite() { self.rank.clamp(0.0, MAX_RANK) } else { 0.0 };
        let share = rank.ln_1p() / MAX_RANK.ln_1p();
        (share * (RANK_CODES - 1) as f64).round() as u64 * DEPTHS + self.depth.min(DEPTHS - 1)
    }

    /// What a number says, to some hundredths of the importance.
    pub fn of_code(code: u64) -> Self {
        let share = (code / DEPTHS).min(RANK_CODES - 1) as f64 / (RANK_CODES - 1) as f64;
        Self { rank: (share * MAX_RANK.ln_1p()).exp_m1(), depth: code % DEPTHS }
    }
}

/// The factor of every code: looking it up is several times quicker than working it out for every match.
pub fn factors() -> &'static [f32] {
    static FACTORS: OnceLock<Vec<f32>> = OnceLock::new();
    FACTORS
        .get_or_init(|| (0..RANK_CODES * DEPTHS).map(|code| static_factor(Statics::of_code(code))).collect())
}

/// The share that importance adds to a score: grows with the logarithm.
pub fn rank_factor(rank: f64) -> f64 {
    1.0 + RANK_SHARE * rank.clamp(0.0, MAX_RANK).ln_1p()
}

pub fn depth_factor(depth: u64) -> f64 {
    1.0 / (1.0 + DEPTH_SHARE * (depth as f64).min(MAX_DEPTH))
}

/// What the score of the words is multiplied by.
pub fn static_factor(statics: Statics) -> f32 {
    (rank_factor(statics.rank) * depth_factor(statics.depth)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn importance_helps_and_distance_hurts_within_bounds() {
        let of = |rank, depth| static_factor(Statics { rank, depth });
        assert_eq!(of(0.0, 0), 1.0);
        assert!(of(2.0, 0) > of(1.0, 0) && of(1.0, 1) < of(1.0, 0));
        assert!(of(1e12, 0) < 2.0 && of(0.0, u64::MAX) > 0.7);
    }

    #[test]
    fn a_code_says_nearly_the_same() {
        for (rank, depth) in [(0.0, 0), (1.0, 3), (37.5, 16), (1e9, 99), (f64::NAN, 1)] {
            let read = Statics::of_code(Statics { rank, depth }.code());
            assert_eq!(read.depth, depth.min(16));
            let wanted = if rank.is_nan() { 0.0 } else { rank.min(MAX_RANK) };
            assert!((read.rank - wanted).abs() <= 0.03 * (1.0 + wanted), "{rank} {}", read.rank);
        }
        let code = Statics { rank: 1024.0, depth: 99 }.code();
        assert_eq!(factors().len() as u64, code + 1);
    }
}

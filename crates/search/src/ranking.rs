//! What a page is worth whatever is asked: importance by links, and nearness to where the crawl began.

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
}

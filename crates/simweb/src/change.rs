//! Change over time: which page changes when, and in what way.
//!
//! Each page has one kind of change and a process of event times that hashing decides. The version at a time is the
//! number of events up to it, so that the truth about any interval is a function and nothing has to be replayed.
//! A Poisson process is cut into slots of eight mean intervals: the number of events in a slot is Poisson, their
//! places inside it uniform, which is exactly a Poisson process. A page stops changing after [`MAX_SLOTS`] slots.

use crate::config::{RateSpread, Timing};
use crate::host::PageId;
use crate::kind::ChangeKind;
use crate::rng::{below, mix};
use crate::world::World;

/// Bounds the work of one version look-up.
pub const MAX_SLOTS: u64 = 1 << 14;
const SLOT_MEAN: u64 = 8;
const SLOT_MOST: usize = 32;

/// How large a text change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeSize {
    /// One sentence.
    Small,
    /// One paragraph.
    Medium,
    /// Every paragraph.
    Large,
}

/// The change process of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeSpec {
    pub kind: ChangeKind,
    pub size: ChangeSize,
    /// Mean time between events.
    pub interval_ms: u64,
}

/// What of a page differs from its first state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageState {
    pub structure: u32,
    pub text: u32,
    pub image: u32,
    pub noise: u32,
}

/// One event of a page's change process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub at_ms: u64,
    pub kind: ChangeKind,
    /// The version from this moment on; the first state is version 0.
    pub version: u32,
}

/// Cumulative Poisson distribution of mean eight, scaled to 32 bits.
pub(crate) struct PoissonTable([u32; SLOT_MOST]);

impl PoissonTable {
    pub(crate) fn new() -> Self {
        let mean = SLOT_MEAN as f64;
        // e^-8, so that only exact IEEE operations follow.
        let mut term = 0.000_335_462_627_902_511_85_f64;
        let mut sum = 0.0;
        let mut table = [0; SLOT_MOST];
        for (k, entry) in table.iter_mut().enumerate() {
            sum += term;
            *entry = (sum * f64::from(u32::MAX)) as u32;
            term *= mean / (k as f64 + 1.0);
        }
        Self(table)
    }

    #[inline]
    fn count(&self, bits: u64) -> u32 {
        let draw = (bits >> 32) as u32;
        self.0.iter().position(|&limit| draw < limit).unwrap_or(SLOT_MOST) as u32
    }
}

impl World {
    /// The change process of a page; that of its source for a copy.
    pub fn change_spec(&self, page: PageId) -> ChangeSpec {
        let key = mix(self.page_key(self.content_of(page)), 0xC4A6);
        let config = &self.config.change;
        let total: u32 = config.weights.iter().map(|&w| u32::from(w)).sum();
        let mut draw = below(key, total.max(1));
        let mut kind = ChangeKind::None;
        for (&k, &weight) in ChangeKind::ALL.iter().zip(&config.weights) {
            if draw < u32::from(weight) {
                kind = k;
                break;
            }
            draw -= u32::from(weight);
        }
        let size = match (key >> 8) % 4 {
            0 => ChangeSize::Small,
            3 => ChangeSize::Large,
            _ => ChangeSize::Medium,
        };
        ChangeSpec { kind, size, interval_ms: interval(config.spread, mix(key, 1)) }
    }

    /// Number of events of a page up to and including a time.
    pub fn version_at(&self, page: PageId, t_ms: u64) -> u32 {
        let spec = self.change_spec(page);
        if spec.kind == ChangeKind::None {
            return 0;
        }
        let key = self.event_key(page);
        match self.config.change.timing {
            Timing::Regular => {
                let slot = t_ms / spec.interval_ms;
                let due = regular_event(key, slot, spec.interval_ms);
                (slot + u64::from(t_ms >= due)).min(u64::from(u32::MAX)) as u32
            }
            Timing::Poisson => {
                let length = spec.interval_ms.saturating_mul(SLOT_MEAN);
                let slot = t_ms / length;
                let before: u32 = (0..slot.min(MAX_SLOTS)).map(|s| self.poisson.count(mix(key, s))).sum();
                before + self.slot_events(key, slot, length).filter(|&at| at <= t_ms).count() as u32
            }
        }
    }

    /// When a page last changed, 0 if never.
    pub fn last_change_ms(&self, page: PageId, t_ms: u64) -> u64 {
        let spec = self.change_spec(page);
        if spec.kind == ChangeKind::None {
            return 0;
        }
        let key = self.event_key(page);
        match self.config.change.timing {
            Timing::Regular => {
                let slot = t_ms / spec.interval_ms;
                let due = regular_event(key, slot, spec.interval_ms);
                if t_ms >= due {
                    due
                } else {
                    slot.checked_sub(1).map_or(0, |s| regular_event(key, s, spec.interval_ms))
                }
            }
            Timing::Poisson => {
                let length = spec.interval_ms.saturating_mul(SLOT_MEAN);
                let slots = (0..=(t_ms / length).min(MAX_SLOTS)).rev();
                let mut newest =
                    slots.map(|s| self.slot_events(key, s, length).filter(|&at| at <= t_ms).max());
                newest.find_map(|at| at).unwrap_or(0)
            }
        }
    }

    /// All events of a page in `after_ms < t <= until_ms`, in order.
    pub fn changes_between(&self, page: PageId, after_ms: u64, until_ms: u64) -> Vec<Change> {
        let spec = self.change_spec(page);
        if spec.kind == ChangeKind::None || until_ms <= after_ms {
            return Vec::new();
        }
        let key = self.event_key(page);
        let inside = |at: &u64| *at > after_ms && *at <= until_ms;
        let mut times: Vec<u64> = match self.config.change.timing {
            Timing::Regular => {
                let slots = after_ms / spec.interval_ms..=until_ms / spec.interval_ms;
                slots.map(|s| regular_event(key, s, spec.interval_ms)).filter(inside).collect()
            }
            Timing::Poisson => {
                let length = spec.interval_ms.saturating_mul(SLOT_MEAN);
                let slots = after_ms / length..=(until_ms / length).min(MAX_SLOTS);
                slots.flat_map(|s| self.slot_events(key, s, length)).filter(inside).collect()
            }
        };
        times.sort_unstable();
        let first = self.version_at(page, after_ms);
        let number = |(i, at_ms)| Change { at_ms, kind: spec.kind, version: first + 1 + i as u32 };
        times.into_iter().enumerate().map(number).collect()
    }

    /// What differs from the first state at a time.
    pub fn state_at(&self, page: PageId, t_ms: u64) -> PageState {
        let version = self.version_at(page, t_ms);
        let mut state = PageState::default();
        match self.change_spec(page).kind {
            ChangeKind::None => {}
            ChangeKind::Structure => state.structure = version,
            ChangeKind::Text => state.text = version,
            ChangeKind::Image => state.image = version,
            ChangeKind::Noise => state.noise = version,
        }
        if let Some(every) = self.config.change.ambient_noise_ms {
            state.noise = state.noise.wrapping_add((t_ms / every.max(1)) as u32);
        }
        state
    }

    /// The kind of difference between two moments as a reader would judge it; noise only counts if nothing else changed.
    pub fn difference(&self, page: PageId, one_ms: u64, two_ms: u64) -> ChangeKind {
        let (a, b) = (self.state_at(page, one_ms), self.state_at(page, two_ms));
        // Wrapping paragraphs is periodic: after a full turn the tree is as it was.
        let turn = self.structure_turn(page);
        if a.structure % turn != b.structure % turn {
            ChangeKind::Structure
        } else if a.text != b.text {
            ChangeKind::Text
        } else if a.image != b.image {
            ChangeKind::Image
        } else if a.noise != b.noise {
            ChangeKind::Noise
        } else {
            ChangeKind::None
        }
    }

    fn event_key(&self, page: PageId) -> u64 {
        mix(self.page_key(self.content_of(page)), 0xE7E7)
    }

    fn slot_events(&self, key: u64, slot: u64, length: u64) -> impl Iterator<Item = u64> {
        let bits = mix(key, slot);
        let count = if slot < MAX_SLOTS { self.poisson.count(bits) } else { 0 };
        let start = slot.saturating_mul(length);
        // Never at the very start of time: version 0 is the state at time 0.
        (0..u64::from(count))
            .map(move |k| start + 1 + ((u128::from(mix(bits, k)) * u128::from(length - 1)) >> 64) as u64)
    }
}

fn regular_event(key: u64, slot: u64, interval: u64) -> u64 {
    let place = ((u128::from(mix(key, slot)) * u128::from(interval - 1)) >> 64) as u64;
    slot.saturating_mul(interval) + 1 + place
}

fn interval(spread: RateSpread, bits: u64) -> u64 {
    let (RateSpread::Uniform { min_ms, max_ms }
    | RateSpread::UniformRate { min_ms, max_ms }
    | RateSpread::PowerLaw { min_ms, max_ms }) = spread;
    let min = min_ms.max(2);
    let max = max_ms.max(min);
    match spread {
        RateSpread::Uniform { .. } => {
            return min + ((u128::from(bits) * u128::from(max - min + 1)) >> 64) as u64;
        }
        RateSpread::UniformRate { .. } => {
            // 1 / interval = 1 / max + part × (1 / min − 1 / max).
            let below = u128::from(min) + ((u128::from(bits) * u128::from(max - min)) >> 64);
            return (u128::from(min) * u128::from(max) / below) as u64;
        }
        RateSpread::PowerLaw { .. } => {}
    }
    let octaves = (max / min).max(1).ilog2() + 1;
    let low = min << below(bits, octaves);
    let wide = low.min(max.saturating_sub(low)) + 1;
    low + ((u128::from(bits << 32) * u128::from(wide)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChangeConfig, WorldConfig};
    use proptest::prelude::*;

    fn world(timing: Timing) -> World {
        let mut config = WorldConfig::clean(21, 4, 400);
        config.change = ChangeConfig {
            timing,
            spread: RateSpread::PowerLaw { min_ms: 1_000, max_ms: 1_000_000 },
            ..ChangeConfig::lively()
        };
        World::new(config)
    }

    proptest! {
        #[test]
        fn events_and_versions_agree(page in 0u32..380, a in 0u64..20_000_000, d in 0u64..5_000_000, poisson: bool) {
            let world = world(if poisson { Timing::Poisson } else { Timing::Regular });
            let page = PageId(page);
            let events = world.changes_between(page, a, a + d);
            let (before, after) = (world.version_at(page, a), world.version_at(page, a + d));
            prop_assert_eq!(after - before, events.len() as u32);
            for event in &events {
                // Events of the same millisecond take effect together.
                let due = events.iter().filter(|e| e.at_ms <= event.at_ms).count() as u32;
                prop_assert_eq!(world.version_at(page, event.at_ms), before + due);
                prop_assert!(event.version <= before + due);
                prop_assert!(event.at_ms > a && event.at_ms <= a + d);
            }
            let last = world.last_change_ms(page, a + d);
            if let Some(event) = events.last() {
                prop_assert_eq!(last, event.at_ms);
            } else {
                prop_assert!(last <= a);
            }
        }
    }

    #[test]
    fn poisson_events_come_at_the_stated_rate() {
        let world = world(Timing::Poisson);
        let (mut seen, mut expected) = (0.0, 0.0);
        for n in 0..300 {
            let spec = world.change_spec(PageId(n));
            if spec.kind != ChangeKind::None {
                let span = spec.interval_ms * 200;
                seen += f64::from(world.version_at(PageId(n), span));
                expected += 200.0;
            }
        }
        assert!((seen / expected - 1.0f64).abs() < 0.02, "{seen} events, {expected} expected");
    }

    #[test]
    fn nothing_has_changed_at_time_zero() {
        for timing in [Timing::Poisson, Timing::Regular] {
            let world = world(timing);
            assert!((0..300).all(|n| world.version_at(PageId(n), 0) == 0));
        }
    }
}

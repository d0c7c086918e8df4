//! Chance that can be repeated.

use std::time::Duration;

/// A sequence of numbers that a seed decides: SplitMix64.
#[derive(Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The sequence of the seed that was asked for, or of the usual one; tells which. Each `purpose` has
    /// a sequence of its own.
    pub(crate) fn of(purpose: &str) -> Self {
        let asked = std::env::var("JACKFIELD_SURVIVAL_SEED").ok();
        let seed = asked
            .and_then(|seed| seed.parse().ok())
            .unwrap_or(USUAL_SEED);
        println!("{purpose}: JACKFIELD_SURVIVAL_SEED={seed}");
        Self(seed)
    }

    /// The sequence of one of many, whatever the others took.
    pub(crate) fn of_one(&self, nth: u64) -> Self {
        Self(self.0.wrapping_add(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    /// A time shorter than this one.
    pub(crate) fn within(&mut self, longest: Duration) -> Duration {
        let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.below(micros))
    }
}

const USUAL_SEED: u64 = 20_261_122;

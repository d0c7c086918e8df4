//! Times: taken, and put in order.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Samples of one figure.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<Duration>);

/// What something took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// The time that this process computed, all threads together.
    pub cpu: Duration,
    /// The time that passed.
    pub wall: Duration,
}

/// Samples of what something took.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The time that this process computed.
    pub cpu: Series,
    /// The time that passed.
    pub wall: Series,
}

impl Series {
    /// Takes a sample.
    pub fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// The middle sample; nothing of none.
    #[must_use]
    pub fn p50(&self) -> Duration {
        self.at(50)
    }

    /// The least sample.
    #[must_use]
    pub fn least(&self) -> Duration {
        self.at(0)
    }

    /// The sample below which so many of a hundred are; nothing of none.
    #[must_use]
    pub fn at(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let place = (last * percent.min(100) + 50) / 100;
        sorted.get(place).copied().unwrap_or_default()
    }

    /// The mean of the samples; nothing of none.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let count = u32::try_from(self.0.len()).unwrap_or(u32::MAX).max(1);
        self.0.iter().sum::<Duration>() / count
    }
}

impl Samples {
    /// Takes a sample.
    pub fn push(&mut self, took: Took) {
        self.cpu.push(took.cpu);
        self.wall.push(took.wall);
    }
}

/// How many times as long this is.
#[must_use]
pub fn ratio(ours: Duration, floor: Duration) -> f64 {
    if floor.is_zero() {
        return f64::NAN;
    }
    ours.as_secs_f64() / floor.as_secs_f64()
}

/// Begins to measure; what is given back ends it.
pub fn begin() -> impl FnOnce() -> Took {
    let (cpu, wall) = (cpu(), Instant::now());
    move || {
        let wall = wall.elapsed();
        Took {
            cpu: self::cpu().saturating_sub(cpu),
            wall,
        }
    }
}

/// The time that this process has computed so far.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

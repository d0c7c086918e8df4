//! The database's clock, as this process last heard it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackfield_domain::time::WallTime;

/// What time it is at the database, without a request.
#[derive(Default)]
pub(crate) struct ServerClock(Mutex<Option<Heard>>);

#[derive(Clone, Copy)]
struct Heard {
    /// When it was what time there.
    at: (Instant, WallTime),
    /// When it was heard last.
    last: Instant,
}

impl ServerClock {
    /// Whether it was not heard of for so long that it may be wrong: the clock of this process may have stood still.
    pub(crate) fn is_old(&self) -> bool {
        let heard = *self.heard();
        heard.is_none_or(|heard| heard.last.elapsed() > FRESH)
    }

    /// The time there, if it was ever heard.
    pub(crate) fn now(&self) -> Option<WallTime> {
        let (at, time) = (*self.heard())?.at;
        Some(time.after(at.elapsed()))
    }

    /// Notes the time in the answer to a request that was sent at this instant. Small differences are those of the way, and
    /// change nothing: so times of one process follow each other.
    pub(crate) fn hear(&self, sent: Instant, millis: i64) {
        let way = sent.elapsed() / 2;
        let time = WallTime::from_millis(millis);
        let mut heard = self.heard();
        let known = heard.map(|heard| heard.at);
        let is_same = |(at, known): &(Instant, WallTime)| {
            let (known, told) = (known.after(at.elapsed()), time.after(way));
            known.since(told).max(told.since(known)) <= way + TOLERANCE
        };
        *heard = Some(Heard {
            at: known.filter(is_same).unwrap_or((sent + way, time)),
            last: Instant::now(),
        });
    }

    fn heard(&self) -> MutexGuard<'_, Option<Heard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far two measurements may be apart beside the time of the way.
const TOLERANCE: Duration = Duration::from_millis(50);
/// For how long it counts as known: longer than the pause between two renewals.
const FRESH: Duration = Duration::from_secs(5);

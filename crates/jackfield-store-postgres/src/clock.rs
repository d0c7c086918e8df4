//! The database's clock, as this process last heard it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_domain::time::WallTime;

/// What time it is at the database, without a request.
#[derive(Default)]
pub(crate) struct ServerClock(Mutex<Option<(Instant, WallTime)>>);

impl ServerClock {
    /// The time there, if it was ever heard.
    pub(crate) fn now(&self) -> Option<WallTime> {
        let heard = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.map(|(at, time)| time.after(at.elapsed()))
    }

    /// Notes the time in the answer to a request that was sent at this instant. Small differences are those of the way, and
    /// change nothing: so times of one process follow each other.
    pub(crate) fn hear(&self, sent: Instant, millis: i64) {
        let way = sent.elapsed() / 2;
        let time = WallTime::from_millis(millis);
        let heard = time.after(way);
        let is_same = self
            .now()
            .is_some_and(|now| now.since(heard).max(heard.since(now)) <= way + TOLERANCE);
        if !is_same {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((sent + way, time));
        }
    }
}

/// How far two measurements may be apart beside the time of the way.
const TOLERANCE: Duration = Duration::from_millis(50);

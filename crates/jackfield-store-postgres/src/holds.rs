//! Holds on sessions: a row each, and a list of those of this process, which counts for this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_domain::ids::SessionId;

/// The holds of this process.
#[derive(Default)]
pub(crate) struct LocalHolds(Mutex<HoldTable>);

#[derive(Default)]
struct HoldTable {
    /// The holds that were dropped, whose rows are still there.
    dropped: Vec<i64>,
    last: i64,
    live: HashMap<i64, SessionId>,
}

/// A hold. Once it is dropped, this process holds no more, and others learn it within [`crate::POLL_INTERVAL`].
pub(crate) struct LocalHold {
    holds: Arc<LocalHolds>,
    pub(crate) nth: i64,
}

impl LocalHolds {
    /// Adds a hold, which has no row yet.
    pub(crate) fn add(self: &Arc<Self>, session: &SessionId) -> LocalHold {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.last += 1;
        let nth = table.last;
        table.live.insert(nth, session.clone());
        LocalHold {
            holds: Arc::clone(self),
            nth,
        }
    }

    /// The numbers and the sessions of all holds.
    pub(crate) fn all(&self) -> Vec<(i64, String)> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live = table.live.iter();
        live.map(|(nth, session)| (*nth, session.to_string()))
            .collect()
    }

    /// The numbers of all holds, and the greatest number of any hold so far.
    pub(crate) fn numbers(&self) -> (Vec<i64>, i64) {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (table.live.keys().copied().collect(), table.last)
    }

    pub(crate) fn sessions(&self) -> Vec<String> {
        self.all().into_iter().map(|(_, session)| session).collect()
    }

    /// Takes the numbers of dropped holds, whose rows are to be deleted.
    pub(crate) fn take_dropped(&self) -> Vec<i64> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut table.dropped)
    }

    /// Gives them back, for another attempt.
    pub(crate) fn give_back(&self, dropped: Vec<i64>) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.dropped.extend(dropped);
    }
}

impl Drop for LocalHold {
    fn drop(&mut self) {
        let mut table = self.holds.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.live.remove(&self.nth);
        table.dropped.push(self.nth);
    }
}

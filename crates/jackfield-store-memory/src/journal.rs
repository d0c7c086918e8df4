//! The journal: sessions behind one lock, which nobody holds while waiting.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::{
    Append, Appended, Delivered, Epoch, Journal, JournalError, Loaded, Refusal,
};
use jackfield_record::{DecodeError, EncodeError};

use crate::session::{Record, Session};

/// Keeps the facts and the inbox of every session in memory.
///
/// A session exists from the moment that somebody first owned it. A repeated append is recognised as
/// long as its epoch is the current one; a former owner is refused even what it did write, because
/// that is its successor's to act upon.
pub struct MemoryJournal {
    clock: Box<dyn Fn() -> WallTime + Send + Sync>,
    sessions: Mutex<HashMap<SessionId, Session>>,
}

impl MemoryJournal {
    /// An empty journal that takes the time from the system.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(system_time)
    }

    /// An empty journal with a clock of its own, which must not use the journal.
    #[must_use]
    pub fn with_clock(clock: impl Fn() -> WallTime + Send + Sync + 'static) -> Self {
        Self {
            clock: Box::new(clock),
            sessions: Mutex::default(),
        }
    }

    /// Looks at a session, if there is one.
    fn with<T>(
        &self,
        session: &SessionId,
        look: impl FnOnce(&mut Session) -> T,
    ) -> Result<T, JournalError> {
        // Nothing panics under the lock; if it did, every change to a session is whole.
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        match sessions.get_mut(session) {
            Some(found) => Ok(look(found)),
            None => Err(JournalError::UnknownSession {
                session: session.clone(),
            }),
        }
    }
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal").finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn own(&self, session: &SessionId) -> Result<Epoch, JournalError> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(sessions.entry(session.clone()).or_default().own())
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        let (steps, deliveries) = self.with(session, |found| found.records())?;
        Ok(Loaded {
            steps: read(session, &steps, jackfield_record::decode_envelope)?,
            deliveries: read(session, &deliveries, jackfield_record::decode_delivery)?,
        })
    }

    async fn append(&self, append: &Append) -> Appended {
        let steps = append.steps.iter().map(jackfield_record::encode_envelope);
        let Ok(steps) = steps.collect::<Result<Vec<_>, EncodeError>>() else {
            return Appended::Refused(Refusal::Unwritable);
        };
        match self.with(&append.session, |found| found.append(append, steps)) {
            Ok(Ok(())) => Appended::Committed,
            Ok(Err(refusal)) => Appended::Refused(refusal),
            // Nobody has ever owned it.
            Err(_) => Appended::Refused(Refusal::StaleEpoch),
        }
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<Delivered, JournalError> {
        let unwritable = |error: EncodeError| JournalError::Unreachable {
            source: error.into(),
        };
        self.with(session, |found| {
            // Under the lock, so that deliveries are in the order of their times.
            let at = (self.clock)();
            found.deliver(Delivery { at, body, by, id })
        })?
        .map_err(unwritable)
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        let arrived = self.with(session, |found| found.arrived())?;
        loop {
            // Made before the look, so that nothing arrives unnoticed in between.
            let arrival = arrived.notified();
            let deliveries = self.with(session, |found| found.deliveries_from(from))?;
            if !deliveries.is_empty() {
                return read(session, &deliveries, jackfield_record::decode_delivery);
            }
            arrival.await;
        }
    }
}

fn read<T>(
    session: &SessionId,
    records: &[Record],
    decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
) -> Result<Vec<T>, JournalError> {
    let read: Result<Vec<T>, _> = records
        .iter()
        .map(|record| decode(record.bytes()))
        .collect();
    read.map_err(|error| JournalError::Corrupt {
        session: session.clone(),
        source: error.into(),
    })
}

fn system_time() -> WallTime {
    // A clock before 1970 is as good as 1970.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::from_millis(0).after(since.unwrap_or_default())
}

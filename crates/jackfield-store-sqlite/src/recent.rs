//! A cache of the long sessions that were read last, in decoded form.
//!
//! Every message to a session reads the whole session, and decoding a long one takes longer than the rest of a
//! turn's start. But steps and deliveries are only ever appended to a session, or deleted with all of it: so a
//! later read goes on from the cached state and reads only what was added.
//!
//! The last cached step shows whether the cache is still valid. It has to be in the session's chain under the same
//! number, at the same position and with the same epoch: a number may be reused after a session was deleted, but an
//! epoch never is.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::Loaded;
use jackfield_record::DecodeError;
use rusqlite::Connection;

use crate::records::{SetupSharing, deliveries, steps};
use crate::rows::StoredSession;
use crate::{chain, parts};

/// The cache of the sessions that were read last.
pub(crate) struct Recent {
    kept: Mutex<CachedSession>,
    /// The largest sum of their sizes in bytes, as their rows give them.
    most: u64,
}

struct CachedSession {
    bytes: u64,
    sessions: LruCache<SessionId, RecentSession>,
}

/// The cached state of a session.
#[derive(Clone)]
struct RecentSession {
    /// The size of the session when it was read, in bytes.
    bytes: u64,
    end: CachedEnd,
    /// Has at least one step.
    loaded: Arc<Loaded>,
}

/// The end of the cached state.
#[derive(Clone, Copy, Eq, PartialEq)]
struct CachedEnd {
    deliveries: usize,
    /// The epoch under which the last step was written.
    epoch: u64,
    /// The number of the last step.
    last: i64,
    /// The number of the session.
    session: i64,
}

/// The steps and deliveries appended since the cached state.
struct AppendedSteps {
    /// The cached end that it follows; `None` if it begins at the session's start.
    behind: Option<CachedEnd>,
    end: CachedEnd,
    loaded: Loaded,
}

/// Why the rest of a session was not read.
enum CacheMiss {
    /// The cached state belongs to a session that was deleted.
    Stale,
    /// A step or a delivery cannot be read.
    Unreadable(DecodeError),
}

impl Recent {
    pub(crate) fn new(most: u64) -> Self {
        let kept = CachedSession {
            bytes: 0,
            sessions: LruCache::new_unbounded(),
        };
        Self {
            kept: Mutex::new(kept),
            most,
        }
    }

    /// Loads a session; of a long one, only what is not cached is read. A session larger than the whole cache is
    /// not cached.
    pub(crate) fn load(
        &self,
        connection: &Connection,
        session: &SessionId,
        row: &StoredSession,
    ) -> rusqlite::Result<Result<Loaded, DecodeError>> {
        if row.is_short() {
            return whole(connection, row);
        }
        if row.bytes > self.most {
            self.forget(session);
            return whole(connection, row);
        }
        let mut known = self.kept().sessions.get(session).cloned();
        loop {
            match since(connection, row, known.as_ref())? {
                Ok(added) => {
                    let loaded = added.loaded_behind(known.as_ref());
                    drop(known);
                    self.keep(session, row.bytes, added);
                    return Ok(Ok(loaded));
                }
                Err(unread) => {
                    self.forget(session);
                    if let CacheMiss::Unreadable(error) = unread {
                        return Ok(Err(error));
                    }
                    // Retry from the session's start.
                    known = None;
                }
            }
        }
    }

    /// Removes a session from the cache.
    pub(crate) fn forget(&self, session: &SessionId) {
        drop(self.kept().forget(session));
    }

    /// Caches a session, and evicts the least recently used ones.
    fn keep(&self, session: &SessionId, bytes: u64, added: AppendedSteps) {
        let mut kept = self.kept();
        let known = kept.forget(session);
        let Some((end, loaded)) = added.behind_what(known) else {
            return;
        };
        if loaded.steps.is_empty() {
            return;
        }
        kept.bytes += bytes;
        let known = RecentSession { bytes, end, loaded };
        kept.sessions.insert(session.clone(), known);
        while kept.bytes > self.most
            && let Some((_, oldest)) = kept.sessions.remove_lru()
        {
            kept.bytes -= oldest.bytes;
        }
    }

    fn kept(&self) -> MutexGuard<'_, CachedSession> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a whole session.
fn whole(
    connection: &Connection,
    row: &StoredSession,
) -> rusqlite::Result<Result<Loaded, DecodeError>> {
    let (steps, deliveries) = (steps(connection, row, 0)?, deliveries(connection, row, 0)?);
    Ok(steps.and_then(|steps| {
        Ok(Loaded {
            deliveries: deliveries?,
            restored: false,
            steps,
        })
    }))
}

/// Reads the steps and deliveries that follow the cached state.
fn since(
    connection: &Connection,
    row: &StoredSession,
    known: Option<&RecentSession>,
) -> rusqlite::Result<Result<AppendedSteps, CacheMiss>> {
    if let Some(RecentSession { end, loaded, .. }) = known {
        let is_its = end.session == row.number
            && loaded.steps.len() as u64 <= row.steps
            && end.deliveries as u64 <= row.deliveries
            && chain::epoch(connection, end.last)? == Some(end.epoch);
        if !is_its {
            return Ok(Err(CacheMiss::Stale));
        }
    }
    let before = known.map_or(&[][..], |known| &known.loaded.steps);
    let behind = known.map(|known| known.end);
    let mut sharing = SetupSharing::behind(before);
    let (mut last, mut steps) = (None, Vec::new());
    // The last cached step is read again, to verify that the others follow it.
    let mut expected = behind.map(|end| end.last);
    let from = (before.len() as u64).saturating_sub(1);
    let read = chain::each(connection, &row.end(), from, |number, record| {
        last = Some(number);
        if let Some(expected) = expected.take() {
            let is_it = expected == number;
            return Ok(is_it.then_some(()).ok_or(CacheMiss::Stale));
        }
        let step = parts::step(connection, row.number, record)?;
        Ok(step.map_err(CacheMiss::Unreadable).map(|mut step| {
            sharing.share(&mut step);
            steps.push(step);
        }))
    })?;
    if let Err(unread) = read {
        return Ok(Err(unread));
    }
    let heard = behind.map_or(0, |end| end.deliveries);
    let deliveries = match deliveries(connection, row, heard as u64)? {
        Ok(deliveries) => deliveries,
        Err(error) => return Ok(Err(CacheMiss::Unreadable(error))),
    };
    let last = last.unwrap_or_default();
    let end = CachedEnd {
        deliveries: heard + deliveries.len(),
        epoch: chain::epoch(connection, last)?.unwrap_or_default(),
        last,
        session: row.number,
    };
    Ok(Ok(AppendedSteps {
        behind,
        end,
        loaded: Loaded {
            deliveries,
            restored: false,
            steps,
        },
    }))
}

impl AppendedSteps {
    /// The whole session, including the cached state.
    fn loaded_behind(&self, known: Option<&RecentSession>) -> Loaded {
        let Loaded {
            deliveries, steps, ..
        } = &self.loaded;
        let before = known.map(|known| &known.loaded);
        let (heard, said) = before.map_or((&[][..], &[][..]), |before| {
            (&before.deliveries, &before.steps)
        });
        Loaded {
            deliveries: heard.iter().chain(deliveries).cloned().collect(),
            restored: false,
            steps: said.iter().chain(steps).cloned().collect(),
        }
    }

    /// The new cached state; `None` if the new steps do not follow `known`, because another read has updated the
    /// cache meanwhile.
    fn behind_what(self, known: Option<RecentSession>) -> Option<(CachedEnd, Arc<Loaded>)> {
        if self.behind.is_none() {
            return Some((self.end, Arc::new(self.loaded)));
        }
        let known = known.filter(|known| Some(known.end) == self.behind)?;
        let mut loaded = known.loaded;
        // Copied only if a reader has it at this moment.
        let all = Arc::make_mut(&mut loaded);
        all.deliveries.extend(self.loaded.deliveries);
        all.steps.extend(self.loaded.steps);
        Some((self.end, loaded))
    }
}

impl CachedSession {
    fn forget(&mut self, session: &SessionId) -> Option<RecentSession> {
        let known = self.sessions.remove(session)?;
        self.bytes -= known.bytes;
        Some(known)
    }
}

impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").finish_non_exhaustive()
    }
}

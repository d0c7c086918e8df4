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
use jackfield_domain::setup_sharing::SetupSharing;
use jackfield_ports::journal::Loaded;
use jackfield_record::DecodeError;
use rusqlite::Connection;

use crate::records::{deliveries, steps};
use crate::rows::StoredSession;
use crate::{chain, parts};

/// The cache of the sessions that were read last.
pub(crate) struct Recent {
    cache: Mutex<CachedSession>,
    /// The largest sum of their sizes in bytes, as their rows give them.
    max_bytes: u64,
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
    follows: Option<CachedEnd>,
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
        let cache = CachedSession {
            bytes: 0,
            sessions: LruCache::new_unbounded(),
        };
        Self {
            cache: Mutex::new(cache),
            max_bytes: most,
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
            return load_all(connection, row);
        }
        if row.bytes > self.max_bytes {
            self.invalidate(session);
            return load_all(connection, row);
        }
        let mut known = self.lock().sessions.get(session).cloned();
        loop {
            match load_since(connection, row, known.as_ref())? {
                Ok(added) => {
                    let loaded = added.merged_with(known.as_ref());
                    drop(known);
                    self.insert(session, row.bytes, added);
                    return Ok(Ok(loaded));
                }
                Err(miss) => {
                    self.invalidate(session);
                    if let CacheMiss::Unreadable(error) = miss {
                        return Ok(Err(error));
                    }
                    // Retry from the session's start.
                    known = None;
                }
            }
        }
    }

    /// Removes a session from the cache.
    pub(crate) fn invalidate(&self, session: &SessionId) {
        drop(self.lock().forget(session));
    }

    /// Caches a session, and evicts the least recently used ones.
    fn insert(&self, session: &SessionId, bytes: u64, added: AppendedSteps) {
        let mut cache = self.lock();
        let known = cache.forget(session);
        let Some((end, loaded)) = added.append_to(known) else {
            return;
        };
        if loaded.steps.is_empty() {
            return;
        }
        cache.bytes += bytes;
        let known = RecentSession { bytes, end, loaded };
        cache.sessions.insert(session.clone(), known);
        while cache.bytes > self.max_bytes
            && let Some((_, oldest)) = cache.sessions.remove_lru()
        {
            cache.bytes -= oldest.bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, CachedSession> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load_all(
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
fn load_since(
    connection: &Connection,
    row: &StoredSession,
    known: Option<&RecentSession>,
) -> rusqlite::Result<Result<AppendedSteps, CacheMiss>> {
    if let Some(RecentSession { end, loaded, .. }) = known {
        let is_valid = end.session == row.number
            && loaded.steps.len() as u64 <= row.steps
            && end.deliveries as u64 <= row.deliveries
            && chain::epoch(connection, end.last)? == Some(end.epoch);
        if !is_valid {
            return Ok(Err(CacheMiss::Stale));
        }
    }
    let before = known.map_or(&[][..], |known| &known.loaded.steps);
    let cached_end = known.map(|known| known.end);
    let mut sharing = SetupSharing::from_steps(before);
    let (mut last, mut steps) = (None, Vec::new());
    // The last cached step is read again, to verify that the others follow it.
    let mut expected = cached_end.map(|end| end.last);
    let from = (before.len() as u64).saturating_sub(1);
    let read = chain::for_each_step(connection, &row.end(), from, |number, record| {
        last = Some(number);
        if let Some(expected) = expected.take() {
            let is_expected = expected == number;
            return Ok(is_expected.then_some(()).ok_or(CacheMiss::Stale));
        }
        let step = parts::read_step(connection, row.number, record)?;
        Ok(step.map_err(CacheMiss::Unreadable).map(|mut step| {
            sharing.share(&mut step);
            steps.push(step);
        }))
    })?;
    if let Err(miss) = read {
        return Ok(Err(miss));
    }
    let known_deliveries = cached_end.map_or(0, |end| end.deliveries);
    let deliveries = match deliveries(connection, row, known_deliveries as u64)? {
        Ok(deliveries) => deliveries,
        Err(error) => return Ok(Err(CacheMiss::Unreadable(error))),
    };
    let last = last.unwrap_or_default();
    let end = CachedEnd {
        deliveries: known_deliveries + deliveries.len(),
        epoch: chain::epoch(connection, last)?.unwrap_or_default(),
        last,
        session: row.number,
    };
    Ok(Ok(AppendedSteps {
        follows: cached_end,
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
    fn merged_with(&self, known: Option<&RecentSession>) -> Loaded {
        let Loaded {
            deliveries, steps, ..
        } = &self.loaded;
        let before = known.map(|known| &known.loaded);
        let (earlier_deliveries, earlier_steps) = before.map_or((&[][..], &[][..]), |before| {
            (&before.deliveries, &before.steps)
        });
        Loaded {
            deliveries: earlier_deliveries
                .iter()
                .chain(deliveries)
                .cloned()
                .collect(),
            restored: false,
            steps: earlier_steps.iter().chain(steps).cloned().collect(),
        }
    }

    /// The new cached state; `None` if the new steps do not follow `known`, because another read has updated the
    /// cache meanwhile.
    fn append_to(self, known: Option<RecentSession>) -> Option<(CachedEnd, Arc<Loaded>)> {
        if self.follows.is_none() {
            return Some((self.end, Arc::new(self.loaded)));
        }
        let known = known.filter(|known| Some(known.end) == self.follows)?;
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

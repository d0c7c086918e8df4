//! Who waits for deliveries and steps, and how they hear of those that other processes made.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use rusqlite::{Connection, OptionalExtension as _};
use tokio::sync::Notify;

use crate::error::JobError;
use crate::schema;

/// How long after it was committed a delivery or a step of another process is noticed at the latest, by a
/// process that is not held up otherwise.
pub const NOTICED: Duration = Duration::from_millis(50);

/// Those who wait, by session.
#[derive(Default)]
pub(crate) struct Arrivals {
    changed: Condvar,
    state: Mutex<ArrivalState>,
}

#[derive(Default)]
struct ArrivalState {
    /// Whether the thread sleeps until it is woken.
    asleep: bool,
    closed: bool,
    followed: Waiters,
    waiting: Waiters,
}

type Waiters = HashMap<SessionId, (usize, Arc<Notify>)>;

/// What is waited for.
#[derive(Clone, Copy)]
pub(crate) enum Awaited {
    Deliveries,
    Steps,
}

impl ArrivalState {
    /// Whether nobody waits.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.followed.is_empty()
    }

    const fn of(&mut self, what: Awaited) -> &mut Waiters {
        match what {
            Awaited::Deliveries => &mut self.waiting,
            Awaited::Steps => &mut self.followed,
        }
    }
}

/// One who waits; counted out when dropped.
pub(crate) struct ArrivalWaiter {
    arrivals: Arc<Arrivals>,
    pub(crate) arrived: Arc<Notify>,
    session: SessionId,
    what: Awaited,
}

impl Arrivals {
    /// Counts somebody in who waits for a session's deliveries or steps.
    pub(crate) fn wait(self: &Arc<Self>, session: &SessionId, what: Awaited) -> ArrivalWaiter {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, arrived) = state.of(what).entry(session.clone()).or_default();
        *count += 1;
        let arrived = Arc::clone(arrived);
        let is_asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if is_asleep {
            self.changed.notify_all();
        }
        ArrivalWaiter {
            arrivals: Arc::clone(self),
            arrived,
            session: session.clone(),
            what,
        }
    }

    /// Tells those who wait for this of this session.
    pub(crate) fn tell(&self, session: &SessionId, what: Awaited) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, arrived)) = state.of(what).get(session) {
            arrived.notify_waiters();
        }
    }

    /// Lets nobody wait any more.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        for (_, arrived) in state.waiting.values().chain(state.followed.values()) {
            arrived.notify_waiters();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Starts the thread that looks at what other processes deliver, as long as somebody waits.
    pub(crate) fn watch(self: &Arc<Self>, database: &Path) -> Result<JoinHandle<()>, WatchError> {
        let connection = schema::connect(database, false)?;
        let newest = match newest(&connection) {
            // What else is in the file can be read all the same.
            Err(error) if JobError::of(&error).is_damage() => 0,
            newest => newest?,
        };
        let mut watch = ArrivalWatch {
            newest,
            connection,
            steps: HashMap::new(),
            version: 0,
        };
        let arrivals = Arc::clone(self);
        let builder = std::thread::Builder::new().name("jackfield-arrivals".to_owned());
        Ok(builder.spawn(move || {
            while arrivals.is_time_to_look() {
                if let Err(error) = watch.look(&arrivals) {
                    // The next look may go better, and whoever waits has a time limit.
                    tracing::warn!(%error, "deliveries of other processes cannot be seen");
                }
            }
        })?)
    }

    /// The sessions of which steps are waited for.
    fn followed(&self) -> Vec<SessionId> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.followed.keys().cloned().collect()
    }

    /// Waits for a moment, and until somebody waits; `false` when it is over.
    fn is_time_to_look(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |state: &mut ArrivalState| !state.closed;
        // To be woken for each turn of many would cost more than to look at the clock now and then.
        for _ in 0..LINGERS {
            let waited = self.changed.wait_timeout_while(state, NOTICED, open);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.closed || !state.is_idle() {
                return !state.closed;
            }
        }
        state.asleep = true;
        let asleep = |state: &mut ArrivalState| !state.closed && state.asleep;
        let state = self.changed.wait_while(state, asleep);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let state = self.changed.wait_timeout_while(state, NOTICED, open);
        let (state, _) = state.unwrap_or_else(PoisonError::into_inner);
        !state.closed
    }
}

impl Drop for ArrivalWaiter {
    fn drop(&mut self) {
        let mut state = self
            .arrivals
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waiters = state.of(self.what);
        if let Some((count, _)) = waiters.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                waiters.remove(&self.session);
            }
        }
    }
}

/// Why nobody watches.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] rusqlite::Error),
}

struct ArrivalWatch {
    connection: Connection,
    /// The number of the last delivery that was seen.
    newest: i64,
    /// How many steps the sessions had that are followed; `None` is no such session.
    steps: HashMap<SessionId, Option<u64>>,
    /// Tells whether anybody has written since.
    version: i64,
}

impl ArrivalWatch {
    fn look(&mut self, arrivals: &Arrivals) -> rusqlite::Result<()> {
        let version = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0))?;
        if version == self.version {
            return Ok(());
        }
        let mut query = self.connection.prepare_cached(
            "SELECT deliveries.number, sessions.id FROM deliveries
             JOIN sessions ON sessions.number = deliveries.session
             WHERE deliveries.number > ?1 ORDER BY deliveries.number",
        )?;
        let mut rows = query.query([self.newest])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(1)?;
            if let Ok(session) = SessionId::parse(&id) {
                arrivals.tell(&session, Awaited::Deliveries);
            }
            self.newest = row.get(0)?;
        }
        self.steps = self.look_at_steps(arrivals)?;
        self.version = version;
        Ok(())
    }

    /// Looks how many steps there are of the sessions that are followed, and tells of changes.
    fn look_at_steps(
        &self,
        arrivals: &Arrivals,
    ) -> rusqlite::Result<HashMap<SessionId, Option<u64>>> {
        let mut query = self
            .connection
            .prepare_cached("SELECT steps FROM sessions WHERE id = ?1")?;
        let mut found = HashMap::new();
        for session in arrivals.followed() {
            let steps = query.query_row([session.as_str()], |row| row.get(0));
            let steps = steps.optional()?;
            // Whoever began to wait since the last look is told once too often rather than not at all.
            if self.steps.get(&session) != Some(&steps) {
                arrivals.tell(&session, Awaited::Steps);
            }
            found.insert(session, steps);
        }
        Ok(found)
    }
}

fn newest(connection: &Connection) -> rusqlite::Result<i64> {
    let newest = connection.query_row("SELECT max(number) FROM deliveries", (), |row| {
        row.get::<_, Option<i64>>(0)
    })?;
    Ok(newest.unwrap_or(0))
}

/// For how many moments nobody has to wait before the thread sleeps until somebody does.
const LINGERS: u32 = 20;

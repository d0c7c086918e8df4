//! Wakes the tasks that wait for deliveries and steps, including those that other processes committed.

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

/// The longest delay between the commit of a delivery or step by another process and its detection here, unless
/// this process is itself held up.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The waiting tasks, by session.
#[derive(Default)]
pub(crate) struct Arrivals {
    changed: Condvar,
    state: Mutex<ArrivalState>,
}

#[derive(Default)]
struct ArrivalState {
    /// Whether the watch thread sleeps until a waiter wakes it.
    asleep: bool,
    closed: bool,
    step_waiters: Waiters,
    delivery_waiters: Waiters,
}

type Waiters = HashMap<SessionId, (usize, Arc<Notify>)>;

/// The kind of row that a task waits for.
#[derive(Clone, Copy)]
pub(crate) enum Awaited {
    Deliveries,
    Steps,
}

impl ArrivalState {
    /// Whether no task waits.
    fn is_idle(&self) -> bool {
        self.delivery_waiters.is_empty() && self.step_waiters.is_empty()
    }

    const fn waiters_mut(&mut self, what: Awaited) -> &mut Waiters {
        match what {
            Awaited::Deliveries => &mut self.delivery_waiters,
            Awaited::Steps => &mut self.step_waiters,
        }
    }
}

/// A registered waiter; dropping it ends the registration.
pub(crate) struct ArrivalWaiter {
    arrivals: Arc<Arrivals>,
    pub(crate) arrived: Arc<Notify>,
    session: SessionId,
    awaited: Awaited,
}

impl Arrivals {
    /// Registers a waiter for a session's deliveries or steps.
    pub(crate) fn wait(self: &Arc<Self>, session: &SessionId, what: Awaited) -> ArrivalWaiter {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, arrived) = state.waiters_mut(what).entry(session.clone()).or_default();
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
            awaited: what,
        }
    }

    /// Wakes the waiters for this kind of row in this session.
    pub(crate) fn notify(&self, session: &SessionId, what: Awaited) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, arrived)) = state.waiters_mut(what).get(session) {
            arrived.notify_waiters();
        }
    }

    /// Wakes all waiters and ends the watch thread.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        for (_, arrived) in state
            .delivery_waiters
            .values()
            .chain(state.step_waiters.values())
        {
            arrived.notify_waiters();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Starts the thread that looks for deliveries and steps of other processes while any task waits.
    pub(crate) fn watch(self: &Arc<Self>, database: &Path) -> Result<JoinHandle<()>, WatchError> {
        let connection = schema::connect(database, false)?;
        let newest = match newest(&connection) {
            // The rest of a damaged file may still be readable.
            Err(error) if JobError::from_sqlite(&error).is_damage() => 0,
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
            while arrivals.wait_for_poll() {
                if let Err(error) = watch.poll(&arrivals) {
                    // The next look may succeed, and each waiter has a time limit.
                    tracing::warn!(%error, "deliveries of other processes cannot be seen");
                }
            }
        })?)
    }

    /// The sessions whose steps are waited for.
    fn followed(&self) -> Vec<SessionId> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.step_waiters.keys().cloned().collect()
    }

    /// Sleeps for one interval, and on until there is a waiter; `false` once closed.
    fn wait_for_poll(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |state: &mut ArrivalState| !state.closed;
        // Polling for a while costs less than waking the thread for each of many turns.
        for _ in 0..POLLS_BEFORE_SLEEP {
            let waited = self.changed.wait_timeout_while(state, POLL_INTERVAL, open);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.closed || !state.is_idle() {
                return !state.closed;
            }
        }
        state.asleep = true;
        let asleep = |state: &mut ArrivalState| !state.closed && state.asleep;
        let state = self.changed.wait_while(state, asleep);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let state = self.changed.wait_timeout_while(state, POLL_INTERVAL, open);
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
        let waiters = state.waiters_mut(self.awaited);
        if let Some((count, _)) = waiters.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                waiters.remove(&self.session);
            }
        }
    }
}

/// Why the watch thread could not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] rusqlite::Error),
}

struct ArrivalWatch {
    connection: Connection,
    /// The number of the last delivery seen.
    newest: i64,
    /// The step count of each followed session; `None` if the session does not exist.
    steps: HashMap<SessionId, Option<u64>>,
    /// SQLite's `data_version`, which changes when another connection has written.
    version: i64,
}

impl ArrivalWatch {
    fn poll(&mut self, arrivals: &Arrivals) -> rusqlite::Result<()> {
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
                arrivals.notify(&session, Awaited::Deliveries);
            }
            self.newest = row.get(0)?;
        }
        self.steps = self.poll_steps(arrivals)?;
        self.version = version;
        Ok(())
    }

    /// Reads the step counts of the followed sessions and wakes the waiters of those that changed.
    fn poll_steps(&self, arrivals: &Arrivals) -> rusqlite::Result<HashMap<SessionId, Option<u64>>> {
        let mut query = self
            .connection
            .prepare_cached("SELECT steps FROM sessions WHERE id = ?1")?;
        let mut found = HashMap::new();
        for session in arrivals.followed() {
            let steps = query.query_row([session.as_str()], |row| row.get(0));
            let steps = steps.optional()?;
            // A waiter registered since the last look gets one spurious wake-up rather than none.
            if self.steps.get(&session) != Some(&steps) {
                arrivals.notify(&session, Awaited::Steps);
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

/// How many intervals without a waiter pass before the thread sleeps until there is one.
const POLLS_BEFORE_SLEEP: u32 = 20;

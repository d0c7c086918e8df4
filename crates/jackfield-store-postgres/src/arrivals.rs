//! Wakes the tasks that wait for deliveries and steps, including those that other processes committed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::SessionId;
use tokio::sync::Notify;

use crate::error::Fault;
use crate::pool::{Connection, column, values};

/// The waiting tasks, by session.
#[derive(Default)]
pub(crate) struct Arrivals(Mutex<HashMap<SessionId, Waited>>);

/// The kind of row that a task waits for.
#[derive(Clone, Copy)]
pub(crate) enum Awaited {
    Deliveries,
    Steps,
}

/// A session that tasks wait for.
#[derive(Default)]
struct Waited {
    deliveries: WaitedRows,
    steps: WaitedRows,
    waiters: usize,
}

/// The rows of a kind.
#[derive(Default)]
struct WaitedRows {
    arrived: Arc<Notify>,
    /// Their number at the last look; `None` before the first look, `Some(None)` if the session did not exist.
    seen: Option<Option<i64>>,
}

impl Waited {
    const fn rows(&self, what: Awaited) -> &WaitedRows {
        match what {
            Awaited::Deliveries => &self.deliveries,
            Awaited::Steps => &self.steps,
        }
    }
}

impl WaitedRows {
    /// Wakes the waiters if the number is another one. Before the first look, this gives one wake-up too many rather
    /// than one too few.
    fn look(&mut self, number: Option<i64>) {
        if self.seen.replace(number) != Some(number) {
            self.arrived.notify_waiters();
        }
    }
}

/// A registered waiter; dropping it ends the registration.
pub(crate) struct ArrivalWaiter {
    arrivals: Arc<Arrivals>,
    pub(crate) arrived: Arc<Notify>,
    session: SessionId,
}

impl Arrivals {
    /// Registers a waiter for a session's deliveries or steps.
    pub(crate) fn wait(self: &Arc<Self>, session: &SessionId, what: Awaited) -> ArrivalWaiter {
        let mut table = self.lock();
        let waited = table.entry(session.clone()).or_default();
        waited.waiters += 1;
        ArrivalWaiter {
            arrivals: Arc::clone(self),
            arrived: Arc::clone(&waited.rows(what).arrived),
            session: session.clone(),
        }
    }

    /// Wakes the waiters for this kind of row in this session.
    pub(crate) fn notify(&self, session: &SessionId, what: Awaited) {
        if let Some(waited) = self.lock().get(session) {
            waited.rows(what).arrived.notify_waiters();
        }
    }

    /// Whether a task waits for something of this session.
    pub(crate) fn is_waited_for(&self, session: &SessionId) -> bool {
        self.lock().contains_key(session)
    }

    pub(crate) fn notify_all(&self) {
        for waited in self.lock().values() {
            waited.deliveries.arrived.notify_waiters();
            waited.steps.arrived.notify_waiters();
        }
    }

    /// Looks at the sessions that tasks wait for, with one statement, and wakes those of the ones that changed.
    pub(crate) async fn look(&self, connection: &mut Connection) -> Result<(), Fault> {
        let ids: Vec<String> = self.lock().keys().map(ToString::to_string).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let asked: HashSet<&str> = ids.iter().map(String::as_str).collect();
        let mut found = HashMap::new();
        for row in connection.query(LOOK, values![ids => TEXT_ARRAY]).await? {
            let id: String = column(&row, 0)?;
            found.insert(id, (column(&row, 1)?, column(&row, 2)?));
        }
        for (session, waited) in self.lock().iter_mut() {
            // A waiter that came after the list was made is looked for next time.
            if !asked.contains(session.as_str()) {
                continue;
            }
            let (steps, deliveries) = found.get(session.as_str()).copied().unzip();
            waited.deliveries.look(deliveries);
            waited.steps.look(steps);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Waited>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ArrivalWaiter {
    fn drop(&mut self) {
        let mut table = self.arrivals.lock();
        if let Some(waited) = table.get_mut(&self.session) {
            waited.waiters -= 1;
            if waited.waiters == 0 {
                table.remove(&self.session);
            }
        }
    }
}

const LOOK: &str = "SELECT id, steps, deliveries FROM jackfield.sessions WHERE id = ANY($1)";

//! The journal.

mod appending;
mod directory;
mod errors;
mod inspection;
mod logins;
mod meters;
mod owning;
mod reading;
mod secrets;
mod spending;
mod upstream_responses;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::admin::JournalAdmin;
use jackfield_ports::journal::directory::Directory;
use jackfield_ports::journal::logins::Logins;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::meters::Meters;
use jackfield_ports::journal::secrets::Secrets;
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, OpenWaitsMark, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::spending::SpendingLog;
use jackfield_ports::journal::upstream_responses::UpstreamResponses;
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease,
    Loaded,
};

use self::errors::not_owned;
use crate::address::Address;
use crate::arrivals::{Arrivals, Awaited};
use crate::background::{Background, Duties};
use crate::clock::ServerClock;
use crate::commit::{self, Change, NotOwned};
use crate::connector::Connector;
use crate::derived::KnownRow;
use crate::error::{Fault, OpenError};
use crate::holds::LocalHolds;
use crate::listing;
use crate::notifier::Notifier;
use crate::options::Options;
use crate::pool::{Pool, int, values};
use crate::process::Process;
use crate::records;
use crate::requests::AppendJob;
use crate::schema;

/// Performs a request again if its connection was lost: only for requests that may be done twice.
macro_rules! again {
    ($attempt:expr) => {
        match (async { $attempt }).await {
            Err($crate::error::Fault::Lost(_)) => (async { $attempt }).await,
            answer => answer,
        }
    };
}
pub(crate) use again;

/// Stores the facts and the inbox of every session in a PostgreSQL database.
///
/// Its futures may be dropped at any time: a request is then done or not done as a whole. All methods must be called
/// within a Tokio runtime.
pub struct PostgresJournal {
    arrivals: Arc<Arrivals>,
    background: Background,
    clock: Arc<ServerClock>,
    holds: Arc<LocalHolds>,
    /// What is known of the sessions that this process owns.
    known: Mutex<HashMap<SessionId, KnownRow>>,
    notifier: Option<Arc<Notifier>>,
    options: Options,
    pub(crate) pool: Arc<Pool>,
    process: Arc<Process>,
}

impl PostgresJournal {
    /// Opens a database, and makes its tables or brings them up to date. Blocks meanwhile.
    ///
    /// # Errors
    ///
    /// [`OpenError`], whose message says what to do.
    pub fn open(address: Address, options: Options) -> Result<Self, OpenError> {
        let place = address.to_string();
        let arrivals = Arc::new(Arrivals::default());
        let clock = Arc::new(ServerClock::default());
        let notifier = options.listen.clone().map(|address| {
            let place = format!("`listen_url` {address}");
            let connector = Connector::new(address, options.timeout);
            let connector = connector.map_err(|fault| OpenError::new(&place, fault))?;
            let (arrivals, schema) = (Arc::clone(&arrivals), &options.schema);
            let notifier = Notifier::new(connector, arrivals, schema, options.timeout);
            Ok(Arc::new(notifier))
        });
        let notifier = notifier.transpose()?;
        // Its connections belong to a runtime that ends here, so that it may be called within another one.
        let preparing = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| OpenError::new(&place, unconnected(&error)))?;
                let pool = Pool::new(address.clone(), &options);
                let pool = Arc::new(pool.map_err(|fault| OpenError::new(&place, fault))?);
                runtime.block_on(schema::prepare(&pool, &options, &clock))
            });
            thread.join()
        });
        // A panic goes on here.
        preparing.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let pool = Pool::new(address, &options).map_err(|fault| OpenError::new(&place, fault))?;
        let (pool, holds) = (Arc::new(pool), Arc::new(LocalHolds::default()));
        let process = Process::new(options.clone(), Arc::clone(&holds), Arc::clone(&clock));
        let process = Arc::new(process);
        Ok(Self {
            background: Background::new(Duties {
                arrivals: Arc::clone(&arrivals),
                heartbeat: options.heartbeat(),
                request_limit: options.lease / 4,
                holds: Arc::clone(&holds),
                notifier: notifier.clone(),
                poll: options.poll,
                pool: Arc::clone(&pool),
                process: Arc::clone(&process),
                stop: tokio::sync::Notify::new(),
                stranded: 3 * options.timeout,
            }),
            arrivals,
            clock,
            holds,
            known: Mutex::default(),
            notifier,
            options,
            pool,
            process,
        })
    }

    /// Whether this process has a lease that has not passed. It has none before it first owns or holds a session.
    #[must_use]
    pub fn has_lease(&self) -> bool {
        self.process.current().is_some()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, KnownRow>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the address to an error.
    pub(crate) fn unreachable(&self, fault: Fault) -> JournalError {
        fault.unreachable(&self.pool.place())
    }

    /// The error of a request for one session, which may be damaged while the others are sound.
    fn session_error(&self, session: &SessionId, fault: Fault) -> JournalError {
        if matches!(fault, Fault::Row(_)) {
            return JournalError::Corrupt {
                session: session.clone(),
                source: fault.at(&self.pool.place()),
            };
        }
        self.unreachable(fault)
    }

    fn changed<T>(
        &self,
        session: &SessionId,
        changed: Result<Result<T, NotOwned>, Fault>,
    ) -> Result<T, JournalError> {
        let changed = changed.map_err(|fault| self.session_error(session, fault))?;
        changed.map_err(|why| not_owned(session, why))
    }
}

impl Drop for PostgresJournal {
    fn drop(&mut self) {
        // The thread gives up the sessions and ends by itself.
        drop(self.background.stop());
    }
}

impl fmt::Debug for PostgresJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresJournal")
            .field("place", &self.pool.place())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for PostgresJournal {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        self.take(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        let released = again!({
            let id = session.as_str();
            let values = values![id => TEXT, int(epoch.0) => INT8];
            let mut connection = self.pool.get().await?;
            connection.execute(commit::RELEASE, values).await
        });
        let mut known = self.known();
        if known.get(session).is_some_and(|row| row.epoch == epoch) {
            known.remove(session);
        }
        drop(known);
        released.map(drop).map_err(|fault| self.unreachable(fault))
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        let hold = self.holds.add(session);
        for _ in 0..ATTEMPTS {
            let held = again!({
                self.background.ensure()?;
                let incarnation = self.process.ensure(&self.pool).await?;
                let (id, name) = (session.as_str(), incarnation.name.as_str());
                let values = values![id => TEXT, name => TEXT, hold.nth => INT8];
                let mut connection = self.pool.get().await?;
                let held = connection.execute(commit::HOLD, values).await?;
                if held == 0 {
                    self.process.end(&incarnation);
                }
                Ok(held > 0)
            });
            if held.map_err(|fault| self.unreachable(fault))? {
                return Ok(Hold::new(hold));
            }
        }
        Err(self.unreachable(Fault::Unconnected("the lease passes at once".into())))
    }

    async fn exists(&self, session: &SessionId) -> Result<bool, JournalError> {
        let found = again!(records::session(&mut self.pool.get().await?, session).await);
        let found = found.map_err(|fault| self.unreachable(fault))?;
        Ok(found.is_some())
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        self.read(session, Range::ALL).await
    }

    async fn append(&self, append: &Append) -> Appended {
        let job = match AppendJob::new(append) {
            Ok(job) => job,
            Err(error) => {
                let why = error.to_string().into();
                return Appended::Refused(AppendRefusal::Unwritable { why });
            }
        };
        self.commit(&job).await
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        let delivered = again!({
            let mut connection = self.pool.get().await?;
            commit::deliver(
                &mut connection,
                session,
                &id,
                &by,
                &body,
                self.options.now(),
            )
            .await
        });
        let delivered = self.changed(session, delivered)?;
        if delivered == DeliveryOutcome::Accepted {
            self.notify(session, &[Awaited::Deliveries]);
        }
        Ok(delivered)
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        let waiting = self.arrivals.wait(session, Awaited::Deliveries);
        let range = Range {
            deliveries: Some(from),
            steps: None,
        };
        loop {
            // Created before the read, so that no arrival in between is missed.
            let arrival = waiting.arrived.notified();
            let deliveries = self.read_apart(session, range).await?.deliveries;
            if !deliveries.is_empty() {
                return Ok(deliveries);
            }
            self.watch()?;
            arrival.await;
        }
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        let waiting = self.arrivals.wait(session, Awaited::Steps);
        let range = Range {
            deliveries: None,
            steps: Some(from),
        };
        loop {
            let arrival = waiting.arrived.notified();
            let steps = self.read_apart(session, range).await?.steps;
            if !steps.is_empty() {
                return Ok(steps);
            }
            self.watch()?;
            arrival.await;
        }
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        let (name, held) = (self.process.name(), self.holds.sessions());
        let found = again!({
            let mut connection = self.pool.get().await?;
            listing::sessions(&mut connection, query, &name, &held).await
        });
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        let (name, held) = (self.process.name(), self.holds.sessions());
        let deleted = async {
            let mut connection = self.pool.get().await?;
            commit::delete(&mut connection, session, &name, &held).await
        };
        self.changed(session, deleted.await)?;
        self.known().remove(session);
        self.notify(session, &[Awaited::Deliveries, Awaited::Steps]);
        Ok(())
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        self.update(session, Change::Labels(change)).await
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.update(session, Change::Restored).await
    }

    async fn due(&self, now: WallTime, limit: usize) -> Result<DueSessions, JournalError> {
        let due = again!(listing::due(&mut self.pool.get().await?, now, limit).await);
        due.map_err(|fault| self.unreachable(fault))
    }

    fn now(&self) -> Option<WallTime> {
        // From then on, it is heard with each heartbeat.
        if self.clock.is_old()
            && let Err(fault) = self.background.ensure()
        {
            tracing::debug!(%fault, "the database's clock is not heard");
        }
        // The clock of a test is known without asking.
        let told = self.options.now().map(WallTime::from_millis);
        told.or_else(|| self.clock.now())
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        let waits = again!(listing::waits(&mut self.pool.get().await?, query).await);
        waits.map_err(|fault| self.unreachable(fault))
    }

    async fn open_waits_mark(&self) -> Result<OpenWaitsMark, JournalError> {
        let mark = again!(listing::open_waits_mark(&mut self.pool.get().await?).await);
        mark.map_err(|fault| self.unreachable(fault))
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        limit: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        let found = again!({
            let mut connection = self.pool.get().await?;
            listing::find(&mut connection, principal, marks, limit).await
        });
        found.map_err(|fault| self.unreachable(fault))
    }

    /// Waits for the requests that run, then gives up every session. All later requests fail.
    async fn close(&self) {
        self.pool.close().await;
        self.arrivals.notify_all();
        if let Some(thread) = self.background.stop() {
            let _ended = tokio::task::spawn_blocking(move || {
                let _panicked = thread.join();
            })
            .await;
        }
    }

    async fn check_form(&self) -> Result<(), JournalError> {
        let checked = again!(schema::check_form(&mut self.pool.get().await?).await);
        checked.map_err(|fault| self.unreachable(fault))
    }

    fn admin(&self) -> Option<&dyn JournalAdmin> {
        Some(self)
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        Some(self)
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(self)
    }

    fn logins(&self) -> Option<&dyn Logins> {
        Some(self)
    }

    fn upstream_responses(&self) -> Option<&dyn UpstreamResponses> {
        Some(self)
    }

    fn meters(&self) -> Option<&dyn Meters> {
        Some(self)
    }

    fn secrets(&self) -> Option<&dyn Secrets> {
        Some(self)
    }
}

impl PostgresJournal {
    async fn update(&self, session: &SessionId, change: Change<'_>) -> Result<(), JournalError> {
        let updated = again!({
            let mut connection = self.pool.get().await?;
            commit::update(&mut connection, session, change).await
        });
        self.changed(session, updated)
    }

    /// Wakes those who wait for such rows of a session, in this process and in others.
    fn notify(&self, session: &SessionId, what: &[Awaited]) {
        for kind in what {
            self.arrivals.notify(session, *kind);
        }
        if let Some(notifier) = &self.notifier {
            notifier.add(session);
            // Without it, others look somewhat later.
            let _unnotified = self.background.ensure();
        }
    }

    /// Sees that arrivals from other processes are looked for.
    fn watch(&self) -> Result<(), JournalError> {
        if self.pool.is_closed() {
            return Err(self.unreachable(Fault::Closed));
        }
        let ensured = self.background.ensure();
        ensured.map_err(|fault| self.unreachable(fault))
    }
}

/// What is read of a session: from which step and which delivery on; `None` is nothing.
#[derive(Clone, Copy)]
struct Range {
    deliveries: Option<u64>,
    steps: Option<u64>,
}

impl Range {
    const ALL: Self = Self {
        deliveries: Some(0),
        steps: Some(0),
    };
}

fn unconnected(error: &std::io::Error) -> Fault {
    Fault::Unconnected(error.to_string().into())
}

/// How often a hold is tried.
const ATTEMPTS: u32 = 3;

//! This process as the database knows it: a name, and the time until which it counts as alive.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_ports::lease::LeaseDeadline;
use tokio_postgres::Row;

use crate::clock::ServerClock;
use crate::error::Fault;
use crate::holds::LocalHolds;
use crate::options::Options;
use crate::pool::{Connection, Pool, column, values};

/// The name of this process, for as long as its lease lasts. After that, it is another one to the database.
pub(crate) struct Incarnation {
    /// The deadline of all leases that were given under this name.
    pub(crate) deadline: LeaseDeadline,
    pub(crate) name: String,
}

/// The incarnations of this process, one after another.
pub(crate) struct Process {
    clock: Arc<ServerClock>,
    current: Mutex<Option<Arc<Incarnation>>>,
    holds: Arc<LocalHolds>,
    options: Options,
    /// Locked while an incarnation begins.
    beginning: tokio::sync::Mutex<()>,
}

impl Process {
    pub(crate) fn new(options: Options, holds: Arc<LocalHolds>, clock: Arc<ServerClock>) -> Self {
        Self {
            beginning: tokio::sync::Mutex::default(),
            clock,
            current: Mutex::default(),
            holds,
            options,
        }
    }

    /// The incarnation whose lease has not passed, if there is one.
    pub(crate) fn current(&self) -> Option<Arc<Incarnation>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current
            .clone()
            .filter(|incarnation| !incarnation.deadline.has_passed())
    }

    /// The name of the incarnation, or a text that is the name of none.
    pub(crate) fn name(&self) -> String {
        self.current()
            .map(|incarnation| incarnation.name.clone())
            .unwrap_or_default()
    }

    /// The incarnation, which begins if there is none.
    pub(crate) async fn ensure(&self, pool: &Arc<Pool>) -> Result<Arc<Incarnation>, Fault> {
        if let Some(current) = self.current() {
            return Ok(current);
        }
        let _one_at_a_time = self.beginning.lock().await;
        if let Some(current) = self.current() {
            return Ok(current);
        }
        let mut connection = pool.get().await?;
        self.begin(&mut connection).await
    }

    /// Begins an incarnation. Its caller has the lock.
    async fn begin(&self, connection: &mut Connection) -> Result<Arc<Incarnation>, Fault> {
        let name = random_name()?;
        let before = Instant::now();
        let lease = self.options.lease.as_secs_f64();
        let values = values![name => TEXT, lease => FLOAT8];
        let begun = connection.query_row(BEGIN, values).await?;
        self.hear(before, begun.as_ref())?;
        // Holds do not end with an incarnation.
        for (nth, session) in self.holds.all() {
            connection
                .execute(HOLD, values![name => TEXT, nth => INT8, session => TEXT])
                .await?;
        }
        let begun = Arc::new(Incarnation {
            deadline: LeaseDeadline::at(before + self.options.own_lease()),
            name,
        });
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::clone(&begun));
        Ok(begun)
    }

    /// Renews the lease, and hears the database's clock. If the database has this process as dead, its leases end, while its holds go on under another
    /// name.
    pub(crate) async fn renew(&self, connection: &mut Connection) -> Result<(), Fault> {
        if let Some(incarnation) = self.latest() {
            let before = Instant::now();
            let lease = self.options.lease.as_secs_f64();
            let values = values![incarnation.name => TEXT, lease => FLOAT8];
            if let Some(renewed) = connection.query_row(RENEW, values).await? {
                self.hear(before, Some(&renewed))?;
                let deadline = before + self.options.own_lease();
                incarnation.deadline.extend_to(deadline);
                return Ok(());
            }
            tracing::warn!(
                "the lease of this process has passed: others may have taken its sessions"
            );
            self.end(&incarnation);
            // With its holds, which begin again below.
            connection
                .execute(BURY, values![incarnation.name => TEXT])
                .await?;
        }
        let _one_at_a_time = self.beginning.lock().await;
        if self.current().is_none() && !self.holds.all().is_empty() {
            self.begin(connection).await?;
            return Ok(());
        }
        let sent = Instant::now();
        let row = connection.query_row(NOW, &[]).await?;
        self.hear(sent, row.as_ref())
    }

    /// Hears the database's clock in the answer to a request that was sent at this instant.
    fn hear(&self, sent: Instant, row: Option<&Row>) -> Result<(), Fault> {
        if let Some(row) = row {
            self.clock.hear(sent, column(row, 0)?);
        }
        Ok(())
    }

    /// Gives up everything that this process owns and holds.
    pub(crate) async fn leave(&self, connection: &mut Connection) -> Result<(), Fault> {
        let Some(incarnation) = self.latest() else {
            return Ok(());
        };
        self.end(&incarnation);
        connection
            .execute(LEAVE, values![incarnation.name => TEXT])
            .await?;
        Ok(())
    }

    /// The last incarnation that began. Its lease may look as if it has passed, while the database has a later time.
    fn latest(&self) -> Option<Arc<Incarnation>> {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn end(&self, ended: &Arc<Incarnation>) {
        ended.deadline.end_now();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, ended))
        {
            *current = None;
        }
    }
}

/// Whether the process of this name is dead, which then stays so. Within a transaction.
///
/// A dead process has no row. The deletion waits for a renewal that is being committed, and looks at its time again.
pub(crate) async fn is_dead(connection: &mut Connection, name: &str) -> Result<bool, Fault> {
    connection.execute(BURY, values![name => TEXT]).await?;
    let alive = connection.query(ALIVE, values![name => TEXT]).await?;
    Ok(alive.is_empty())
}

/// Deletes the rows of processes that died long ago, and ends what the server still holds for a process whose connection
/// was cut within a statement: nothing of the server's own ends that, and its locks stay.
pub(crate) async fn tidy(connection: &mut Connection, limit: Duration) -> Result<(), Fault> {
    connection.execute(TIDY, &[]).await?;
    let limit = limit.as_secs_f64();
    for row in connection.query(STRANDED, values![limit => FLOAT8]).await? {
        let pid: i32 = column(&row, 0)?;
        tracing::warn!(pid, "a transaction of a lost connection was ended");
    }
    Ok(())
}

/// A name that no other process has.
fn random_name() -> Result<String, Fault> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Fault::Unconnected(error.to_string().into()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

const BEGIN: &str = "INSERT INTO jackfield.processes (name, alive_until)
     VALUES ($1, clock_timestamp() + make_interval(secs => $2))
     RETURNING (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const HOLD: &str = "INSERT INTO jackfield.holds (process, nth, session) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING";
/// A lease that has passed is never renewed: a process that saw it pass may rely on that.
const RENEW: &str = "UPDATE jackfield.processes
     SET alive_until = clock_timestamp() + make_interval(secs => $2)
     WHERE name = $1 AND alive_until > clock_timestamp()
     RETURNING (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const LEAVE: &str = "DELETE FROM jackfield.processes WHERE name = $1";
const BURY: &str =
    "DELETE FROM jackfield.processes WHERE name = $1 AND alive_until <= clock_timestamp()";
const ALIVE: &str = "SELECT 1 FROM jackfield.processes WHERE name = $1";
/// Rows that another process has locked are left to it: this runs on the connection of the lease, which must not wait.
const TIDY: &str = "DELETE FROM jackfield.processes WHERE name IN (
         SELECT name FROM jackfield.processes
         WHERE alive_until < clock_timestamp() - interval '1 minute' FOR UPDATE SKIP LOCKED)";
/// A server process of one of ours that has begun a statement long ago, and waits for the rest of it.
const STRANDED: &str = "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
         AND application_name = current_setting('application_name')
         AND state = 'active' AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - make_interval(secs => $1)
         AND strpos(query, 'jackfield.') > 0";

//! Connections: a few that requests share, each for one request or transaction at a time.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{join, join3};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::address::Address;
use crate::connector::Connector;
use crate::error::{Fault, LATE};
use crate::options::{Options, SCHEMA};

/// The values of a statement, with their types: so no statement has to be prepared.
pub(crate) type Values<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// The values of a statement: `values![value => TYPE, ...]`.
macro_rules! values {
    ($($value:expr => $kind:ident),* $(,)?) => {
        &[$((&$value as &(dyn tokio_postgres::types::ToSql + Sync), tokio_postgres::types::Type::$kind)),*]
    };
}
pub(crate) use values;

/// Opens connections and keeps idle ones.
pub(crate) struct Pool {
    closed: AtomicBool,
    connector: Connector,
    idle: Mutex<Vec<Client>>,
    limit: u32,
    schema: Option<String>,
    slots: Arc<Semaphore>,
    timeout: Duration,
}

impl Pool {
    /// Opens no connection yet.
    pub(crate) fn new(address: Address, options: &Options) -> Result<Self, Fault> {
        let limit = u32::try_from(options.connections.max(1)).unwrap_or(u32::MAX);
        let schema = (options.schema != SCHEMA).then(|| format!("{}.", options.schema));
        Ok(Self {
            closed: AtomicBool::new(false),
            connector: Connector::new(address, options.timeout)?,
            idle: Mutex::default(),
            limit,
            schema,
            slots: Arc::new(Semaphore::new(options.connections.max(1))),
            timeout: options.timeout,
        })
    }

    /// The address as it is shown.
    pub(crate) fn place(&self) -> String {
        self.connector.place()
    }

    /// A connection for a request, once one is free.
    pub(crate) async fn get(self: &Arc<Self>) -> Result<Connection, Fault> {
        let slot = Arc::clone(&self.slots).acquire_owned();
        let slot = tokio::time::timeout(self.timeout, slot).await;
        let slot = slot
            .map_err(|_| Fault::Unconnected("all connections are in use".into()))?
            .map_err(|_| Fault::Closed)?;
        if self.closed.load(Ordering::Acquire) {
            return Err(Fault::Closed);
        }
        let kept = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|client| !client.is_closed());
            idle.pop()
        };
        let client = match kept {
            Some(client) => client,
            None => self.connect(self.timeout).await?,
        };
        Ok(Connection {
            client: Some(client),
            is_dirty: false,
            is_within: false,
            may_commit: false,
            pool: Arc::clone(self),
            slot: Some(slot),
            timeout: self.timeout,
        })
    }

    /// A connection beside the limit, which is also there after the pool was closed. It may take at most `timeout`, and
    /// so may each statement.
    pub(crate) async fn get_apart(
        self: &Arc<Self>,
        timeout: Duration,
    ) -> Result<Connection, Fault> {
        let timeout = timeout.min(self.timeout);
        Ok(Connection {
            client: Some(self.connect(timeout).await?),
            is_dirty: false,
            is_within: false,
            may_commit: false,
            pool: Arc::clone(self),
            slot: None,
            timeout,
        })
    }

    /// Refuses further requests, and waits for those that run.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let all = self.slots.acquire_many(self.limit);
        let _all = tokio::time::timeout(self.timeout, all).await;
        self.drop_idle();
    }

    /// Closes the idle connections: where one was lost, the others mostly were, too.
    fn drop_idle(&self) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    async fn connect(&self, timeout: Duration) -> Result<Client, Fault> {
        // Nothing listens here.
        self.connector.connect(timeout, drop).await
    }

    /// A statement with the schema of this journal; the statements of this crate name [`SCHEMA`].
    fn localize<'a>(&self, statement: &'a str) -> Cow<'a, str> {
        match &self.schema {
            Some(schema) => statement.replace("jackfield.", schema).into(),
            None => statement.into(),
        }
    }
}

/// A connection of the pool. Dropped in the middle of a transaction or of a statement, it is ended: what runs is cancelled
/// and undone, and its place in the pool is free once the server has said so, or after the time limit of a statement. A
/// commit is not cancelled: it would be done, and not wait for its standby.
pub(crate) struct Connection {
    /// There until it is dropped.
    client: Option<Client>,
    /// Whether it is within a transaction, or has no answer to its last statement yet.
    is_dirty: bool,
    is_within: bool,
    /// Whether what was sent last may commit a change.
    may_commit: bool,
    pool: Arc<Pool>,
    slot: Option<OwnedSemaphorePermit>,
    /// The time limit of a statement.
    timeout: Duration,
}

/// A kind of transaction. The server ends one whose process was stopped or cut off in the middle, with its locks.
#[derive(Clone, Copy)]
pub(crate) enum Transaction {
    Synced,
    /// Its statements wait for locks and run as long as they need.
    Unlimited,
    /// What it commits may be lost by a crash of the server.
    Unsynced,
}

impl Connection {
    /// Lets each statement take as long as this from now on.
    pub(crate) const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// The rows of one statement: within the transaction, or else in one of its own, in one exchange. After
    /// [`Fault::Lost`] it is unknown whether that is committed.
    pub(crate) async fn query(
        &mut self,
        statement: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Fault> {
        self.is_dirty = true;
        self.may_commit = !self.is_within && !statement.starts_with(READS);
        let (begin, statement) = (self.begins(), self.pool.localize(statement));
        let client = self.client()?;
        let asking = client.query_typed(&statement, values);
        let answer = match begin {
            None => within(self.timeout, asking).await,
            Some(begin) => within(self.timeout, alone(client, &begin, asking)).await,
        };
        self.settle(answer)
    }

    /// The first row of one statement, as by [`query`](Self::query).
    pub(crate) async fn query_row(
        &mut self,
        statement: &str,
        values: Values<'_>,
    ) -> Result<Option<Row>, Fault> {
        Ok(self.query(statement, values).await?.into_iter().next())
    }

    /// Executes one statement, as by [`query`](Self::query), and returns the number of rows.
    pub(crate) async fn execute(
        &mut self,
        statement: &str,
        values: Values<'_>,
    ) -> Result<u64, Fault> {
        self.is_dirty = true;
        self.may_commit = !self.is_within && !statement.starts_with(READS);
        let (begin, statement) = (self.begins(), self.pool.localize(statement));
        let client = self.client()?;
        let asking = client.execute_typed(&statement, values);
        let answer = match begin {
            None => within(self.timeout, asking).await,
            Some(begin) => within(self.timeout, alone(client, &begin, asking)).await,
        };
        self.settle(answer)
    }

    /// Executes several statements without values, within a transaction.
    pub(crate) async fn batch(&mut self, statements: &str) -> Result<(), Fault> {
        (self.is_dirty, self.may_commit) = (true, false);
        let statements = self.pool.localize(statements);
        let asking = self.client()?.batch_execute(&statements);
        let answer = within(self.timeout, asking).await;
        self.settle(answer)
    }

    /// Begins a transaction with a first statement, which is sent along.
    pub(crate) async fn begin(
        &mut self,
        kind: Transaction,
        statement: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let begin = self.beginning(kind);
        (self.is_dirty, self.is_within, self.may_commit) = (true, true, false);
        let statement = self.pool.localize(statement);
        let client = self.client()?;
        let both = async {
            let (begun, rows) = join(
                client.batch_execute(&begin),
                client.query_typed(&statement, values),
            )
            .await;
            begun.and(rows)
        };
        within(self.timeout, both).await
    }

    /// The rows of a statement in a transaction, after another one in the same exchange, and after its beginning if
    /// there is none yet.
    pub(crate) async fn query_after(
        &mut self,
        first: (&str, Values<'_>),
        statement: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let begin = self.begins();
        // Within a transaction until its end.
        (self.is_dirty, self.is_within, self.may_commit) = (true, true, false);
        let (before, statement) = (self.pool.localize(first.0), self.pool.localize(statement));
        let client = self.client()?;
        let all = async {
            let beginning = async {
                match &begin {
                    Some(begin) => client.batch_execute(begin).await,
                    None => Ok(()),
                }
            };
            let (begun, done, rows) = join3(
                beginning,
                client.execute_typed(&before, first.1),
                client.query_typed(&statement, values),
            )
            .await;
            begun.and(done).and(rows)
        };
        within(self.timeout, all).await
    }

    /// Executes a statement and commits the transaction, in one exchange. After a refusal nothing is committed; after
    /// [`Fault::Lost`] it is unknown whether it is.
    pub(crate) async fn commit_with(
        &mut self,
        statement: &str,
        values: Values<'_>,
    ) -> Result<(), Fault> {
        self.may_commit = true;
        let statement = self.pool.localize(statement);
        let client = self.client()?;
        let both = async {
            // The server ends a failed transaction by undoing it.
            let (done, committed) = join(
                client.execute_typed(&statement, values),
                client.batch_execute("COMMIT"),
            )
            .await;
            done.and(committed)
        };
        let committed = within(self.timeout, both).await;
        self.ended(committed)
    }

    /// Commits the transaction. After [`Fault::Lost`] it is unknown whether it is committed.
    pub(crate) async fn commit(&mut self) -> Result<(), Fault> {
        self.may_commit = true;
        let committing = self.client()?.batch_execute("COMMIT");
        let committed = within(self.timeout, committing).await;
        self.ended(committed)
    }

    pub(crate) async fn roll_back(&mut self) -> Result<(), Fault> {
        let undoing = self.client()?.batch_execute("ROLLBACK");
        let undone = within(self.timeout, undoing).await;
        self.ended(undone)
    }

    /// What a transaction of one statement begins with; `None` within another one.
    fn begins(&self) -> Option<String> {
        (!self.is_within).then(|| self.beginning(Transaction::Synced))
    }

    /// What a transaction begins with: limits of the server's own, which hold where the network or this process does not
    /// answer any more, and behind a pooler without a setting of it.
    fn beginning(&self, kind: Transaction) -> String {
        let limit = self.timeout.as_millis().max(10);
        // The server gives up before this process does, even where two statements of an exchange wait for locks.
        let (statement, lock) = match kind {
            Transaction::Synced | Transaction::Unsynced => (limit * 9 / 10, limit * 2 / 5),
            Transaction::Unlimited => (0, 0),
        };
        let more = match kind {
            Transaction::Synced | Transaction::Unlimited => "",
            Transaction::Unsynced => "; SET LOCAL synchronous_commit = off",
        };
        format!(
            "BEGIN; SET LOCAL statement_timeout = {statement}; SET LOCAL lock_timeout = {lock}; {IDLE_LIMITS}{more}"
        )
    }

    /// Notes whether the connection can go on after a statement.
    fn settle<T>(&mut self, answer: Result<T, Fault>) -> Result<T, Fault> {
        let is_lost = matches!(answer, Err(Fault::Lost(_)));
        // After a refusal within a transaction, nothing but its end is possible.
        self.is_dirty = self.is_within || is_lost;
        if is_lost {
            self.pool.drop_idle();
        }
        answer
    }

    fn ended(&mut self, ended: Result<(), Fault>) -> Result<(), Fault> {
        self.is_dirty = ended.is_err();
        self.is_within = ended.is_err();
        ended
    }

    fn client(&self) -> Result<&Client, Fault> {
        self.client.as_ref().ok_or(Fault::Closed)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(client) = self.client.take().filter(|client| !client.is_closed()) else {
            return;
        };
        if self.is_dirty {
            let (pool, slot) = (Arc::clone(&self.pool), self.slot.take());
            let (limit, may_commit) = (self.timeout, self.may_commit);
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move {
                    let ending = async {
                        if !may_commit {
                            pool.connector.cancel(&client).await;
                        }
                        // Answered after whatever is under way.
                        client.batch_execute("ROLLBACK").await
                    };
                    // It is not used again: the cancellation may come late.
                    let _ended = tokio::time::timeout(limit, ending).await;
                    drop((client, slot));
                });
            }
        } else if self.slot.is_some() && !self.pool.is_closed() {
            let mut idle = self.pool.idle.lock();
            idle.as_mut()
                .unwrap_or_else(|poisoned| poisoned.get_mut())
                .push(client);
        }
    }
}

/// A statement in a transaction of its own.
async fn alone<T>(
    client: &Client,
    begin: &str,
    asking: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    // The server ends a failed transaction by undoing it.
    let (begun, answer, committed) = join3(
        client.batch_execute(begin),
        asking,
        client.batch_execute("COMMIT"),
    )
    .await;
    let answer = begun.and(answer)?;
    committed.map(|()| answer)
}

async fn within<T>(
    limit: Duration,
    asking: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(limit, asking).await {
        Ok(answer) => answer.map_err(|error| Fault::of_statement(&error)),
        Err(_) => Err(Fault::Lost(LATE.into())),
    }
}

/// The value of a column.
pub(crate) fn column<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Fault> {
    row.try_get(column)
        .map_err(|error| Fault::of_statement(&error))
}

/// The number in a column, which is never negative.
pub(crate) fn count(row: &Row, number: usize) -> Result<u64, Fault> {
    let value: i64 = column(row, number)?;
    u64::try_from(value).map_err(Fault::row)
}

/// A number for a column. None of ours reaches the end.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// What statements begin with that change nothing.
const READS: &str = "SELECT";

/// How long a transaction may be idle, and when a server notices that nobody is there any more.
const IDLE_LIMITS: &str = "SET LOCAL idle_in_transaction_session_timeout = '5s'; \
     SET LOCAL tcp_keepalives_idle = 10; SET LOCAL tcp_keepalives_interval = 5; \
     SET LOCAL tcp_keepalives_count = 3";

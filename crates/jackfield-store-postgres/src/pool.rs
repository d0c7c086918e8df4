//! Connections: a few that requests share, each for one request or transaction at a time.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{join, join3};
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

/// A connection of the pool. Dropped in the middle of a transaction or of a statement, it is closed, and the database
/// undoes the transaction.
pub(crate) struct Connection {
    /// There until it is dropped.
    client: Option<Client>,
    /// Whether it is within a transaction, or has no answer to its last statement yet.
    is_dirty: bool,
    pool: Arc<Pool>,
    slot: Option<OwnedSemaphorePermit>,
    /// The time limit of a statement.
    timeout: Duration,
}

impl Connection {
    /// The rows of one statement by itself.
    pub(crate) async fn query(
        &mut self,
        statement: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let was_dirty = std::mem::replace(&mut self.is_dirty, true);
        let statement = self.pool.localize(statement);
        let asking = self.client()?.query_typed(&statement, values);
        let answer = within(self.timeout, asking).await;
        // After a refusal within a transaction, nothing but its end is possible.
        self.settle(was_dirty, answer)
    }

    /// The first row of one statement by itself.
    pub(crate) async fn query_row(
        &mut self,
        statement: &str,
        values: Values<'_>,
    ) -> Result<Option<Row>, Fault> {
        Ok(self.query(statement, values).await?.into_iter().next())
    }

    /// Executes one statement, and returns the number of rows.
    pub(crate) async fn execute(
        &mut self,
        statement: &str,
        values: Values<'_>,
    ) -> Result<u64, Fault> {
        let was_dirty = std::mem::replace(&mut self.is_dirty, true);
        let statement = self.pool.localize(statement);
        let asking = self.client()?.execute_typed(&statement, values);
        let answer = within(self.timeout, asking).await;
        self.settle(was_dirty, answer)
    }

    /// Executes several statements without values.
    pub(crate) async fn batch(&mut self, statements: &str) -> Result<(), Fault> {
        let was_dirty = std::mem::replace(&mut self.is_dirty, true);
        let statements = self.pool.localize(statements);
        let asking = self.client()?.batch_execute(&statements);
        let answer = within(self.timeout, asking).await;
        self.settle(was_dirty, answer)
    }

    /// Begins a transaction, by `begin`, with a first statement, which is sent along.
    pub(crate) async fn begin(
        &mut self,
        begin: &str,
        statement: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Fault> {
        self.is_dirty = true;
        let statement = self.pool.localize(statement);
        let client = self.client()?;
        let both = async {
            let (begun, rows) = join(
                client.batch_execute(begin),
                client.query_typed(&statement, values),
            )
            .await;
            begun.and(rows)
        };
        within(self.timeout, both).await
    }

    /// The rows of a statement in a transaction, after another one in the same exchange, and after the beginning of a transaction by
    /// `begin` if it is given.
    pub(crate) async fn query_after(
        &mut self,
        begin: Option<&str>,
        first: (&str, Values<'_>),
        statement: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, Fault> {
        // Within a transaction until its end.
        self.is_dirty = true;
        let (before, statement) = (self.pool.localize(first.0), self.pool.localize(statement));
        let client = self.client()?;
        let all = async {
            let beginning = async {
                match begin {
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
        self.is_dirty = committed.is_err();
        committed
    }

    /// Commits the transaction. After [`Fault::Lost`] it is unknown whether it is committed.
    pub(crate) async fn commit(&mut self) -> Result<(), Fault> {
        let committing = self.client()?.batch_execute("COMMIT");
        let committed = within(self.timeout, committing).await;
        self.is_dirty = committed.is_err();
        committed
    }

    pub(crate) async fn roll_back(&mut self) -> Result<(), Fault> {
        let undoing = self.client()?.batch_execute("ROLLBACK");
        let undone = within(self.timeout, undoing).await;
        self.is_dirty = undone.is_err();
        undone
    }

    fn settle<T>(&mut self, was_dirty: bool, answer: Result<T, Fault>) -> Result<T, Fault> {
        let is_lost = matches!(answer, Err(Fault::Lost(_)));
        self.is_dirty = was_dirty || is_lost;
        if is_lost {
            self.pool.drop_idle();
        }
        answer
    }

    fn client(&self) -> Result<&Client, Fault> {
        self.client.as_ref().ok_or(Fault::Closed)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let client = self.client.take().filter(|client| {
            let is_usable = !self.is_dirty && !client.is_closed();
            is_usable && self.slot.is_some() && !self.pool.is_closed()
        });
        if let Some(client) = client {
            let mut idle = self.pool.idle.lock();
            idle.as_mut()
                .unwrap_or_else(|poisoned| poisoned.get_mut())
                .push(client);
        }
    }
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

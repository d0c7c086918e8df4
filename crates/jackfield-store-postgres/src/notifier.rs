//! Notifications between processes: each tells the others which sessions have changed, so that they look at once.
//!
//! A notification is a hint. One that is lost costs no more than the time until the next look, which comes in any case.
//!
//! It is sent after the change is committed, by a statement of its own, and at most one in [`PAUSE`]: PostgreSQL
//! orders the commits of all transactions that notify by one lock (`src/backend/commands/async.c`, PostgreSQL 15).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use tokio::sync::{Notify, oneshot};
use tokio_postgres::{Client, Notification};

use crate::arrivals::Arrivals;
use crate::connector::Connector;
use crate::error::{Fault, LATE};
use crate::pool::{column, values};

/// Tells other processes of changes, and hears of theirs.
pub(crate) struct Notifier {
    arrivals: Arc<Arrivals>,
    /// What this process has changed since its last notification.
    changed: Mutex<Changes>,
    connector: Connector,
    has_changed: Notify,
    heard: Arc<Notify>,
    /// The name of the channel is that of the schema.
    schema: String,
    timeout: Duration,
}

impl Notifier {
    pub(crate) fn new(
        connector: Connector,
        arrivals: Arc<Arrivals>,
        schema: &str,
        timeout: Duration,
    ) -> Self {
        Self {
            arrivals,
            changed: Mutex::default(),
            connector,
            has_changed: Notify::new(),
            heard: Arc::default(),
            schema: schema.to_owned(),
            timeout,
        }
    }

    /// Notes that this process has committed a change of a session.
    pub(crate) fn add(&self, session: &SessionId) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if changed.add(session) {
            self.has_changed.notify_one();
        }
    }

    /// Waits until another process may have changed a session that this one waits for. Cancel-safe.
    pub(crate) async fn hear(&self) {
        self.heard.notified().await;
    }

    /// Listens and notifies until it is dropped. A connection that is lost is opened again.
    pub(crate) async fn run(&self) {
        loop {
            let Err(fault) = self.listen().await;
            let place = self.connector.place();
            tracing::warn!(%fault, place, "changes of other processes are noticed later: nothing listens for them");
            tokio::time::sleep(RECONNECT_DELAY).await;
        }
    }

    /// Listens and notifies over one connection, until it is lost.
    async fn listen(&self) -> Result<std::convert::Infallible, Fault> {
        // Dropped with the connection.
        let (alive, lost) = oneshot::channel::<()>();
        let (arrivals, heard) = (Arc::clone(&self.arrivals), Arc::clone(&self.heard));
        let own = Arc::new(Mutex::new(None));
        let known = Arc::clone(&own);
        let on_notification = move |notification: Notification| {
            let _alive = &alive;
            let own = *known.lock().unwrap_or_else(PoisonError::into_inner);
            let is_own = own == Some(notification.process_id());
            if !is_own && names_one(notification.payload(), &arrivals) {
                heard.notify_one();
            }
        };
        let client = self
            .connector
            .connect(self.timeout, on_notification)
            .await?;
        let row = self.ask(client.query_typed("SELECT pg_backend_pid()", &[]));
        let row = row.await?.into_iter().next();
        let pid: Option<i32> = row.map(|row| column(&row, 0)).transpose()?;
        *own.lock().unwrap_or_else(PoisonError::into_inner) = pid;
        // The name is one of letters, digits and `_`. The connection is not pooled, and keeps its limits.
        let listen = format!(
            "SET statement_timeout = {}; SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; \
             SET tcp_keepalives_count = 3; LISTEN \"{}\"",
            self.timeout.as_millis(),
            self.schema
        );
        self.ask(client.batch_execute(&listen)).await?;
        // What was committed before is looked for now.
        self.heard.notify_one();
        let notifying = async {
            loop {
                self.has_changed.notified().await;
                self.notify(&client).await?;
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::select! {
            fault = notifying => fault,
            _ = lost => Err(Fault::Lost("it has ended".into())),
        }
    }

    /// Sends one notification of all that has changed.
    async fn notify(&self, client: &Client) -> Result<(), Fault> {
        let changed = {
            let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *changed)
        };
        let payload = changed.payload();
        let values = values![self.schema => TEXT, payload => TEXT];
        self.ask(client.execute_typed("SELECT pg_notify($1, $2)", values))
            .await?;
        Ok(())
    }

    async fn ask<T>(
        &self,
        asking: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Fault> {
        match tokio::time::timeout(self.timeout, asking).await {
            Ok(answer) => answer.map_err(|error| Fault::of_statement(&error)),
            Err(_) => Err(Fault::Lost(LATE.into())),
        }
    }
}

/// The sessions that were changed. Its size has a limit, as nothing may be able to send a notification for long.
#[derive(Debug, Default, PartialEq)]
pub enum Changes {
    /// More than a notification has room for.
    All,
    /// Nothing.
    #[default]
    None,
    Some {
        ids: BTreeSet<SessionId>,
        /// The size of the payload in bytes.
        size: usize,
    },
}

impl Changes {
    pub fn add(&mut self, session: &SessionId) -> bool {
        let added = session.as_str().len() + SEPARATOR.len();
        match self {
            Self::All => false,
            Self::None => {
                *self = Self::Some {
                    ids: BTreeSet::from([session.clone()]),
                    size: added,
                };
                true
            }
            Self::Some { ids, .. } if ids.contains(session) => false,
            Self::Some { size, .. } if *size + added > MAX_PAYLOAD => {
                *self = Self::All;
                true
            }
            Self::Some { ids, size } => {
                *size += added;
                ids.insert(session.clone())
            }
        }
    }

    /// The ids, or `*`.
    #[must_use]
    pub fn payload(&self) -> String {
        match self {
            Self::All => ALL.to_owned(),
            Self::None => String::new(),
            Self::Some { ids, .. } => {
                let ids: Vec<&str> = ids.iter().map(SessionId::as_str).collect();
                ids.join(SEPARATOR)
            }
        }
    }
}

/// Whether a payload names a session that a task of this process waits for.
fn names_one(payload: &str, arrivals: &Arrivals) -> bool {
    if payload == ALL {
        return true;
    }
    // What another sender writes there may be anything.
    let ids = payload.split(SEPARATOR).map(SessionId::parse);
    ids.flatten().any(|id| arrivals.is_waited_for(&id))
}

/// Every session may have changed. No id is this.
const ALL: &str = "*";
/// No id has it.
const SEPARATOR: &str = " ";
/// The size of a notification in bytes; PostgreSQL allows 7,999 (`NOTIFY`, PostgreSQL 15).
const MAX_PAYLOAD: usize = 7000;
/// The time between two notifications of a process.
const PAUSE: Duration = Duration::from_millis(10);
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

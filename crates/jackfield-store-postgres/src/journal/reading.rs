//! Reading a session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::{JournalError, Loaded};
use jackfield_record::DecodeError;

use super::errors::{unknown, unreadable};
use super::{PostgresJournal, Range, again};
use crate::error::Fault;
use crate::pool::Pool;
use crate::records;
use crate::rows::StoredSession;

/// A session, if there is one.
type Read = Result<Option<Result<Loaded, DecodeError>>, Fault>;

impl PostgresJournal {
    pub(super) async fn read(
        &self,
        session: &SessionId,
        from: Range,
    ) -> Result<Loaded, JournalError> {
        self.answer(session, read(&self.pool, session, from).await)
    }

    /// The same for one that waits: as it waits in any case, it reads again as long as the database may answer soon.
    ///
    /// It reads in a task of its own: a future that its caller keeps without polling it, as one that waits for
    /// deliveries, must not keep a connection that others wait for.
    pub(super) async fn read_apart(
        &self,
        session: &SessionId,
        from: Range,
    ) -> Result<Loaded, JournalError> {
        let begun = Instant::now();
        loop {
            let (pool, id) = (Arc::clone(&self.pool), session.clone());
            let read = tokio::spawn(async move { read(&pool, &id, from).await });
            let read = read.await.unwrap_or_else(|ended| {
                let why = ended.to_string();
                Err(Fault::Lost(why.into()))
            });
            match &read {
                Err(fault) if fault.is_passing() && begun.elapsed() < self.options.timeout => {
                    tracing::debug!(%fault, "a session cannot be read; reading again");
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(_) | Err(_) => return self.answer(session, read),
            }
        }
    }

    fn answer(&self, session: &SessionId, read: Read) -> Result<Loaded, JournalError> {
        let read = read.map_err(|fault| self.session_error(session, fault))?;
        let read = read.ok_or_else(|| unknown(session))?;
        read.map_err(|error| unreadable(session, error))
    }
}

/// Reads a session, in two attempts: it may be deleted and made again in between.
async fn read(pool: &Arc<Pool>, session: &SessionId, from: Range) -> Read {
    let read = again!(read_once(pool, session, from).await);
    if matches!(read, Err(Fault::Row(_))) {
        return read_once(pool, session, from).await;
    }
    read
}

async fn read_once(pool: &Arc<Pool>, session: &SessionId, from: Range) -> Read {
    let mut connection = pool.get().await?;
    let Some(row) = records::session(&mut connection, session).await? else {
        return Ok(None);
    };
    if let (Some(newer), Some(_)) = (row.newer(), from.steps) {
        return Ok(Some(Err(newer)));
    }
    let steps = from.steps.unwrap_or(row.steps);
    let steps = match records::steps(&mut connection, &row, steps).await? {
        Ok(steps) => steps,
        Err(error) => return Ok(Some(Err(error))),
    };
    let deliveries = from.deliveries.unwrap_or(row.deliveries);
    let StoredSession { restored, .. } = row;
    let deliveries = records::deliveries(&mut connection, &row, deliveries).await?;
    Ok(Some(deliveries.map(|deliveries| Loaded {
        deliveries,
        restored,
        steps,
    })))
}

/// The pause before a session is read again.
const PAUSE: Duration = Duration::from_millis(100);

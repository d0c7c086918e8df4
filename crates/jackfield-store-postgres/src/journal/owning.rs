//! Taking a session.

use std::time::Instant;

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::{JournalError, Lease};
use tokio_postgres::Row;

use super::errors::not_owned;
use super::{PostgresJournal, again};
use crate::commit::{self, NotOwned};
use crate::error::Fault;
use crate::options::POLL_INTERVAL;
use crate::pool::{column, values};

impl PostgresJournal {
    /// Takes a session. An owner that was not heard of lately is waited for: it comes back, or its lease passes.
    pub(super) async fn take(&self, session: &SessionId) -> Result<Lease, JournalError> {
        let begun = Instant::now();
        let (mut silent, mut was_free) = (None, false);
        loop {
            match again!(self.try_own(session).await) {
                Ok(Err(NotOwned::Ourselves)) => {}
                // An owner that was not heard of lately is waited for: it comes back, or its lease passes.
                Ok(Err(NotOwned::Owned)) => {
                    let found = self.silent_owner(session).await;
                    let found = found.map_err(|fault| self.session_error(session, fault))?;
                    // Its owner may just have released it.
                    if found.is_none() && !was_free {
                        was_free = true;
                        continue;
                    }
                    let is_alive =
                        found.is_none() || silent.is_some_and(|last| Some(last) != found);
                    if is_alive || begun.elapsed() > 2 * self.options.lease {
                        return Err(not_owned(session, NotOwned::Owned));
                    }
                    silent = Some(found).flatten();
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                owned => return self.changed(session, owned),
            }
        }
    }

    /// One attempt to take a session.
    async fn try_own(&self, session: &SessionId) -> Result<Result<Lease, NotOwned>, Fault> {
        self.background.ensure()?;
        let incarnation = self.process.ensure(&self.pool).await?;
        let mut connection = self.pool.get().await?;
        let owned = commit::own(&mut connection, session, &incarnation, self.options.now());
        match owned.await? {
            Ok(row) => {
                let epoch = row.epoch;
                self.known().insert(session.clone(), row);
                let deadline = incarnation.deadline.clone();
                Ok(Ok(Lease { epoch, deadline }))
            }
            Err(NotOwned::Ourselves) => {
                self.process.end(&incarnation);
                Ok(Err(NotOwned::Ourselves))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// The owner of a session and until when it counts as alive, if it was not heard of lately: it may be dead.
    async fn silent_owner(&self, session: &SessionId) -> Result<Option<(String, String)>, Fault> {
        let lately = self
            .options
            .lease
            .saturating_sub(2 * self.options.heartbeat());
        let (id, lately) = (session.as_str(), lately.as_secs_f64());
        let mut connection = self.pool.get().await?;
        let values = values![id => TEXT, lately => FLOAT8];
        let row = connection.query_row(SILENT, values).await?;
        let read = |row: Row| Ok((column(&row, 0)?, column(&row, 1)?));
        row.map(read).transpose()
    }
}

const SILENT: &str = "SELECT p.name, p.alive_until::text
     FROM jackfield.sessions s JOIN jackfield.processes p ON p.name = s.owner
     WHERE s.id = $1 AND p.alive_until <= clock_timestamp() + make_interval(secs => $2)";

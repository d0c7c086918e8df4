//! Titles that sessions are given.

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::JournalError;
use rusqlite::Connection;

use super::SqliteJournal;
use super::errors::not_owned;
use crate::commit;

impl SqliteJournal {
    /// Gives a session a title; an empty one takes it away.
    pub(super) async fn set_title(
        &self,
        session: &SessionId,
        title: &str,
    ) -> Result<(), JournalError> {
        let (id, title) = (session.clone(), title.to_owned());
        let work = move |connection: &Connection| commit::rename(connection, &id, &title);
        let concurrency = self.owned.concurrent_writers(session);
        let renamed = self.writer.execute(concurrency, work).await;
        let renamed = renamed.map_err(|failed| self.session_error(session, failed.fault))?;
        renamed.map_err(|why| not_owned(session, why))
    }
}

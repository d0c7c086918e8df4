//! Labels of sessions.

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::sessions::LabelChange;
use rusqlite::Connection;

use super::SqliteJournal;
use super::errors::not_owned;
use crate::commit;

impl SqliteJournal {
    pub(super) async fn change_labels(
        &self,
        session: &SessionId,
        change: &LabelChange,
    ) -> Result<(), JournalError> {
        let (id, change) = (session.clone(), change.clone());
        let work = move |connection: &Connection| commit::label(connection, &id, &change);
        let concurrency = self.owned.concurrent_writers(session);
        let labelled = self.writer.execute(concurrency, work).await;
        let labelled = labelled.map_err(|failed| self.session_error(session, failed.fault))?;
        labelled.map_err(|why| not_owned(session, why))
    }
}

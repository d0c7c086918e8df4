//! The logins in a file that can be written.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::logins::{Login, Logins};
use rusqlite::Connection;

use super::SqliteJournal;
use crate::jobs::ConcurrentWriters;
use crate::logins;

#[async_trait]
impl Logins for SqliteJournal {
    async fn store_login(&self, login: &Login, now: WallTime) -> Result<(), JournalError> {
        let login = login.clone();
        self.change_logins(move |connection| logins::insert(connection, &login, now))
            .await
    }

    async fn find_login(&self, secret: &Digest) -> Result<Option<Login>, JournalError> {
        let secret = *secret;
        self.inspect(move |connection| logins::find(connection, &secret))
            .await
    }

    async fn remove_login(&self, secret: &Digest) -> Result<(), JournalError> {
        let secret = *secret;
        self.change_logins(move |connection| logins::remove(connection, &secret))
            .await
    }
}

impl SqliteJournal {
    async fn change_logins(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), JournalError> {
        let changed = self.writer.execute(ConcurrentWriters::Others, work).await;
        changed.map_err(|failed| self.unreachable(failed.fault))
    }
}

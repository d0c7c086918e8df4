//! The logins.

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::logins::{Login, Logins};

use super::{PostgresJournal, again};
use crate::logins;

#[async_trait]
impl Logins for PostgresJournal {
    async fn store_login(&self, login: &Login, now: WallTime) -> Result<(), JournalError> {
        let inserted = again!(logins::insert(&mut self.pool.get().await?, login, now).await);
        inserted.map_err(|fault| self.unreachable(fault))
    }

    async fn find_login(&self, secret: &Digest) -> Result<Option<Login>, JournalError> {
        let found = again!(logins::find(&mut self.pool.get().await?, secret).await);
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn remove_login(&self, secret: &Digest) -> Result<(), JournalError> {
        let removed = again!(logins::remove(&mut self.pool.get().await?, secret).await);
        removed.map_err(|fault| self.unreachable(fault))
    }
}

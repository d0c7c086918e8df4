//! The logins in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::logins::{Login, Logins, MAX_LOGINS};

use super::MemoryJournal;

/// The logins by the digests of their secrets.
pub(super) type LoginTable = Arc<Mutex<HashMap<Digest, Login>>>;

#[async_trait]
impl Logins for MemoryJournal {
    async fn store_login(&self, login: &Login, now: WallTime) -> Result<(), JournalError> {
        let mut table = self.login_table();
        table.retain(|_, one| one.expires > now);
        table.insert(login.secret, login.clone());
        let of_client = table.values().filter(|one| one.client == login.client);
        let mut of_client: Vec<(WallTime, Digest)> =
            of_client.map(|one| (one.expires, one.secret)).collect();
        of_client.sort_unstable_by_key(|(expires, _)| *expires);
        let surplus = of_client.len().saturating_sub(MAX_LOGINS);
        for (_, secret) in of_client.drain(..surplus) {
            table.remove(&secret);
        }
        Ok(())
    }

    async fn find_login(&self, secret: &Digest) -> Result<Option<Login>, JournalError> {
        Ok(self.login_table().get(secret).cloned())
    }

    async fn remove_login(&self, secret: &Digest) -> Result<(), JournalError> {
        self.login_table().remove(secret);
        Ok(())
    }
}

impl MemoryJournal {
    fn login_table(&self) -> MutexGuard<'_, HashMap<Digest, Login>> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

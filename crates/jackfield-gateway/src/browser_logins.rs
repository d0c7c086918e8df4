//! Logins of browsers: each is a random value in a cookie, and stands for the client whose API key was shown for it.
//!
//! They are in memory alone: a restart ends them all. Only the digest of a value is kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::digest::Digest;
use tokio::time::Instant;

use crate::api_keys::Principal;

/// A login that is open.
#[derive(Clone, Debug)]
pub struct BrowserLogin {
    /// The client.
    pub client: Arc<Principal>,
    /// When it ends.
    expires: Instant,
}

impl BrowserLogin {
    /// How long it lasts from now on.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.expires.saturating_duration_since(Instant::now())
    }
}

/// The open logins, at most [`MAX_LOGINS`].
#[derive(Debug, Default)]
pub(crate) struct BrowserLogins(Mutex<HashMap<Digest, BrowserLogin>>);

impl BrowserLogins {
    /// Opens a login. At the limit, the one that would end first makes room.
    pub(crate) fn open(&self, client: Arc<Principal>) -> Result<String, getrandom::Error> {
        let mut random = [0; 32];
        getrandom::fill(&mut random)?;
        let value = Digest::from_bytes(random).to_hex();
        let mut logins = self.lock();
        if logins.len() >= MAX_LOGINS {
            let first = logins.iter().min_by_key(|(_, login)| login.expires);
            if let Some(first) = first.map(|(digest, _)| *digest) {
                logins.remove(&first);
            }
        }
        let expires = Instant::now() + LOGIN_LIFETIME;
        let login = BrowserLogin { client, expires };
        logins.insert(Digest::of(value.as_bytes()), login);
        Ok(value)
    }

    /// The login of this value.
    pub(crate) fn find(&self, value: &str) -> Option<BrowserLogin> {
        self.lock().get(&Digest::of(value.as_bytes())).cloned()
    }

    /// Ends the login of this value.
    pub(crate) fn close(&self, value: &str) {
        self.lock().remove(&Digest::of(value.as_bytes()));
    }

    /// All that are not over.
    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, BrowserLogin>> {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        logins.retain(|_, login| login.expires > now);
        logins
    }
}

/// How long a login lasts.
pub const LOGIN_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// How many logins are open at once.
const MAX_LOGINS: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jackfield_engine::ServerTools;

    use super::{BrowserLogins, LOGIN_LIFETIME, MAX_LOGINS};
    use crate::api_keys::Principal;

    fn client() -> Arc<Principal> {
        Arc::new(Principal {
            admin: false,
            endpoints: Vec::new(),
            has_own_servers: false,
            models: None,
            name: "ann".into(),
            passthrough: None,
            principal: "ann".into(),
            quotas: Vec::new(),
            secret: None,
            tools: ServerTools::All,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_ends_when_it_is_closed_or_its_time_is_over() {
        let logins = BrowserLogins::default();
        let closed = logins.open(client()).expect("random numbers");
        let old = logins.open(client()).expect("random numbers");
        assert_ne!(closed, old);
        logins.close(&closed);
        assert!(logins.find(&closed).is_none());
        assert!(logins.find("").is_none());
        assert_eq!(&*logins.find(&old).expect("a login").client.name, "ann");
        tokio::time::advance(LOGIN_LIFETIME).await;
        assert!(logins.find(&old).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_login_makes_room_for_a_new_one() {
        let logins = BrowserLogins::default();
        let first = logins.open(client()).expect("random numbers");
        tokio::time::advance(LOGIN_LIFETIME / 2).await;
        let second = logins.open(client()).expect("random numbers");
        for _ in 2..=MAX_LOGINS {
            logins.open(client()).expect("random numbers");
        }
        assert!(logins.find(&first).is_none());
        assert!(logins.find(&second).is_some());
    }
}

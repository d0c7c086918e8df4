//! Where the sign-in of one user at one server is kept: encrypted in the journal, for all gateways that share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{EntryKind, EntryName, OwnServer, SignIn};
use jackfield_domain::time::WallTime;
use jackfield_ports::credential::Credential;
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace};
use jackfield_ports::journal::{Journal, JournalError};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::master_keys::{MasterKeys, SecretError, random};

/// The sign-in of one user at one server.
pub struct SignInStore {
    entry: EntryName,
    /// The lock of this value, while it has it.
    held: Mutex<Option<String>>,
    identity: Digest,
    journal: Arc<dyn Journal>,
    keys: MasterKeys,
}

/// The lock between gateways over one sign-in; dropping it releases it.
pub struct SignInLock(Option<Arc<SignInStore>>);

/// A sign-in cannot be read, changed or locked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SignInError {
    /// Another gateway does not release the lock.
    #[error("another gateway renews it, and does not end")]
    Busy,
    /// It was taken away or replaced meanwhile.
    #[error("it was taken away or replaced meanwhile")]
    Gone,
    /// Its secret cannot be read, opened or stored.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// What is kept of a sign-in. The form outlives the process, so later versions must still read it.
#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct SignInSecret {
    /// Which server it is at.
    pub(crate) identity: String,
    /// Who has the lock.
    #[serde(default)]
    pub(crate) holder: Option<String>,
    /// A sign-in that the user has yet to confirm.
    #[serde(default)]
    pub(crate) login: Option<PendingLogin>,
    /// The tokens, as the client of the server writes them.
    #[serde(default)]
    pub(crate) tokens: Option<String>,
}

/// A sign-in that a user has yet to confirm.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct PendingLogin {
    /// It, as the client of the server writes it.
    pub(crate) text: String,
    /// Until when it can be confirmed, in milliseconds since 1970.
    pub(crate) until: i64,
}

impl PendingLogin {
    /// Whether it can be confirmed at this time.
    pub(crate) fn is_open(&self, now: WallTime) -> bool {
        now < WallTime::from_millis(self.until)
    }
}

impl SignInStore {
    /// That of this user at this server, in this journal.
    pub(crate) fn new(
        (journal, keys): (Arc<dyn Journal>, MasterKeys),
        server: &OwnServer,
        user: &EntryName,
    ) -> Self {
        Self {
            entry: SignIn::entry_at(&server.entry(), user),
            held: Mutex::default(),
            identity: server.identity(),
            journal,
            keys,
        }
    }

    /// The tokens, as they were stored; `None` if the user has not signed in at this server.
    ///
    /// # Errors
    ///
    /// [`SignInError::Secret`] if they cannot be read or opened.
    pub async fn load(&self) -> Result<Option<Credential>, SignInError> {
        let read = self.read().await?;
        let tokens = read.and_then(|(_, secret)| secret.tokens);
        Ok(tokens.map(Credential::new))
    }

    /// The name of the entry, which names the server and the user.
    #[must_use]
    pub const fn entry(&self) -> &EntryName {
        &self.entry
    }

    /// Waits for the lock between gateways, under which one of them renews the tokens. One that has had it for
    /// half a minute does not live any more, and loses it.
    ///
    /// # Errors
    ///
    /// [`SignInError`] if it cannot be had.
    pub async fn lock(self: &Arc<Self>) -> Result<SignInLock, SignInError> {
        let own = new_holder()?;
        let mut seen: Option<(String, Instant)> = None;
        for _ in 0..MAX_LOOKS {
            let Some((sealed, mut secret)) = self.read().await? else {
                // Nothing to renew.
                return Ok(SignInLock(None));
            };
            if let Some(holder) = &secret.holder {
                let since = match &seen {
                    Some((before, since)) if before == holder => *since,
                    Some(_) | None => Instant::now(),
                };
                if since.elapsed() < LOCK_TIME {
                    seen = Some((holder.clone(), since));
                    sleep(LOOK_INTERVAL).await;
                    continue;
                }
            }
            secret.holder = Some(own.clone());
            if self.replace(&sealed, &secret).await? {
                *self.held() = Some(own);
                return Ok(SignInLock(Some(Arc::clone(self))));
            }
        }
        Err(SignInError::Busy)
    }

    /// Replaces the tokens, and releases the lock, which the caller has. Tries again for a few seconds where the journal
    /// cannot be reached.
    ///
    /// # Errors
    ///
    /// [`SignInError::Gone`] if the sign-in or the lock was taken away meanwhile: nothing is stored then.
    pub async fn store(&self, tokens: &Credential) -> Result<(), SignInError> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.release(Some(tokens)).await {
                // A token that was used to renew these may be of no use again.
                Err(SignInError::Secret(SecretError::Journal(_))) if pause <= MAX_PAUSE => {
                    sleep(pause).await;
                    pause *= 4;
                }
                stored => return stored,
            }
        }
    }

    /// Releases the lock, and replaces the tokens if there are new ones.
    async fn release(&self, tokens: Option<&Credential>) -> Result<(), SignInError> {
        let own = self.held().clone().ok_or(SignInError::Gone)?;
        for _ in 0..MAX_LOOKS {
            let read = self.read().await?;
            let is_stored = |secret: &SignInSecret| {
                tokens.is_some_and(|tokens| {
                    secret.holder.is_none() && secret.tokens.as_deref() == Some(tokens.expose())
                })
            };
            if read.as_ref().is_some_and(|(_, secret)| is_stored(secret)) {
                // By an attempt whose answer was lost.
                *self.held() = None;
                return Ok(());
            }
            let read = read.filter(|(_, secret)| secret.holder.as_ref() == Some(&own));
            let (sealed, mut secret) = read.ok_or(SignInError::Gone)?;
            secret.holder = None;
            if let Some(tokens) = tokens {
                secret.tokens = Some(tokens.expose().to_owned());
            }
            if self.replace(&sealed, &secret).await? {
                *self.held() = None;
                return Ok(());
            }
        }
        Err(SignInError::Busy)
    }

    /// What is kept of it, as it is stored and in plain text; `None` if there is nothing, or of another server only.
    pub(crate) async fn read(&self) -> Result<Option<(SealedSecret, SignInSecret)>, SecretError> {
        let secrets = self.journal.secrets().ok_or_else(no_secrets)?;
        let all = secrets.secrets_of(EntryKind::SignIn, &self.entry).await?;
        let Some(sealed) = all.into_iter().find(|one| &*one.name == SECRET) else {
            return Ok(None);
        };
        let place = self.place();
        let opened = self.keys.open(&place, &sealed)?;
        let secret: SignInSecret = serde_json::from_str(opened.expose())
            // The error may quote a token.
            .map_err(|_| SecretError::Damaged { place })?;
        Ok((secret.identity == self.identity.to_hex()).then_some((sealed, secret)))
    }

    /// Replaces what is kept, if it is what was read. Returns whether it was.
    pub(crate) async fn replace(
        &self,
        seen: &SealedSecret,
        secret: &SignInSecret,
    ) -> Result<bool, SecretError> {
        let secrets = self.journal.secrets().ok_or_else(no_secrets)?;
        let (place, anew) = (self.place(), self.seal(secret)?);
        Ok(secrets.reseal(&place, seen, &anew).await?)
    }

    /// Encrypts what is to be kept, for this server.
    pub(crate) fn seal(&self, secret: &SignInSecret) -> Result<SealedSecret, SecretError> {
        let secret = SignInSecret {
            identity: self.identity.to_hex(),
            ..secret.clone()
        };
        let text = serde_json::to_string(&secret);
        let text = text.map_err(|_| SecretError::Damaged {
            place: self.place(),
        })?;
        self.keys.seal(&self.place(), &Credential::new(text))
    }

    fn place(&self) -> SecretPlace {
        SecretPlace::new(EntryKind::SignIn, &self.entry, SECRET)
    }

    fn held(&self) -> MutexGuard<'_, Option<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for SignInStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignInStore")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

impl Drop for SignInLock {
    fn drop(&mut self) {
        let Some(store) = self.0.take().filter(|store| store.held().is_some()) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = store.release(None).await {
                    tracing::debug!(entry = %store.entry, %error, "a lock was not released");
                }
            });
        }
    }
}

impl std::fmt::Debug for SignInLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SignInLock").field(&self.0).finish()
    }
}

/// A random name of a holder of the lock.
fn new_holder() -> Result<String, SecretError> {
    Ok(Digest::from_bytes(random()?).to_hex())
}

fn no_secrets() -> JournalError {
    JournalError::Unreachable {
        source: "this journal keeps no secrets".into(),
    }
}

/// The name of the secret of a sign-in.
const SECRET: &str = "sign-in";
/// The first and the longest pause before tokens are stored again that the journal did not take.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(4);
/// How long a gateway may have the lock; a renewal takes at most 20 s.
const LOCK_TIME: Duration = Duration::from_secs(30);
/// How often a gateway that waits for the lock looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How often it looks at most: others may have the lock one after another.
const MAX_LOOKS: u32 = 600;

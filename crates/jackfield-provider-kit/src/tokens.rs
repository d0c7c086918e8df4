//! Tokens that live for a while, such as those of OAuth: fetched before a request, kept, and renewed in time.
//!
//! An adapter with [`Tokens`] returns them by [`Adapter::tokens`](crate::exchange::Adapter::tokens); the exchange then
//! sends one with each request.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::secret::Secret;

/// Fetches tokens from the one who issues them. Never retries and keeps none: [`Tokens`] does.
#[async_trait]
pub trait TokenSource: Debug + Send + Sync {
    /// Fetches a new token.
    ///
    /// # Errors
    ///
    /// A failure with the phase `BeforeSend` whose message names the remedy, without secrets.
    async fn fetch(&self) -> Result<FetchedToken, ModelFailure>;
}

/// A new token.
#[derive(Clone, Debug)]
pub struct FetchedToken {
    /// How long it lives from now.
    pub lifetime: Duration,
    /// The token.
    pub secret: Secret,
}

/// The tokens of one source: one is kept until shortly before it expires. Requests that need a new one at the same time
/// wait for the same fetch.
#[derive(Debug)]
pub struct Tokens {
    kept: Mutex<Option<KeptToken>>,
    source: Box<dyn TokenSource>,
}

/// A token for a request.
#[derive(Clone, Debug)]
pub struct IssuedToken {
    /// Whether it was fetched for this request.
    pub is_fresh: bool,
    /// The token.
    pub secret: Secret,
}

#[derive(Debug)]
struct KeptToken {
    expires: Instant,
    secret: Secret,
}

impl Tokens {
    /// The tokens of a source; fetches none yet.
    #[must_use]
    pub fn new(source: impl TokenSource + 'static) -> Self {
        Self {
            kept: Mutex::new(None),
            source: Box::new(source),
        }
    }

    /// A token for a request: the kept one, or a new one. A failed fetch is not kept.
    ///
    /// # Errors
    ///
    /// Those of the source, and `Timeout` if it takes longer than 30 s.
    pub async fn issue(&self) -> Result<IssuedToken, ModelFailure> {
        timeout(TIME_LIMIT, self.kept_or_new())
            .await
            .unwrap_or_else(|_| {
                let seconds = TIME_LIMIT.as_secs();
                let message = format!("no token was issued within {seconds} s");
                let kind = ModelFailureKind::Timeout;
                Err(ModelFailure::new(kind, Phase::BeforeSend, message))
            })
    }

    async fn kept_or_new(&self) -> Result<IssuedToken, ModelFailure> {
        let mut kept = self.kept.lock().await;
        if let Some(kept) = &*kept
            && Instant::now() < kept.expires
        {
            return Ok(IssuedToken {
                is_fresh: false,
                secret: kept.secret.clone(),
            });
        }
        *kept = None;
        let fetched = self.source.fetch().await?;
        // A lifetime that no clock can hold is as good as none.
        let lifetime = fetched.lifetime.saturating_sub(MARGIN).min(LONGEST);
        *kept = Some(KeptToken {
            expires: Instant::now() + lifetime,
            secret: fetched.secret.clone(),
        });
        Ok(IssuedToken {
            is_fresh: true,
            secret: fetched.secret,
        })
    }

    /// Forgets a token that was refused, unless another has taken its place.
    pub async fn forget(&self, refused: &Secret) {
        let mut kept = self.kept.lock().await;
        if kept
            .as_ref()
            .is_some_and(|kept| kept.secret.expose() == refused.expose())
        {
            *kept = None;
        }
    }
}

/// How long before its end a token is renewed.
const MARGIN: Duration = Duration::from_secs(60);
/// The longest time for which a token is kept.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a request waits for a token.
const TIME_LIMIT: Duration = Duration::from_secs(30);

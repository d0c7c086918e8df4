//! Tokens: kept, renewed in time, and forgotten where they are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::tokens::{FetchedToken, TokenSource, Tokens};

/// Issues `token-1`, `token-2` and so on, after a second each; the first ones may fail.
#[derive(Clone, Debug, Default)]
struct Counted {
    asked: Arc<AtomicUsize>,
    failing: usize,
    lifetime: u64,
    takes: u64,
}

#[async_trait]
impl TokenSource for Counted {
    async fn fetch(&self) -> Result<FetchedToken, ModelFailure> {
        let nth = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        tokio::time::sleep(Duration::from_secs(self.takes)).await;
        if nth <= self.failing {
            let kind = ModelFailureKind::Unauthenticated;
            return Err(ModelFailure::new(kind, Phase::BeforeSend, "no"));
        }
        Ok(FetchedToken {
            lifetime: Duration::from_secs(self.lifetime),
            secret: Secret::new(&format!("token-{nth}")),
        })
    }
}

/// An issued token: its text, and whether it is fresh.
async fn issued(tokens: &Tokens) -> (String, bool) {
    let token = tokens.issue().await.unwrap();
    (token.secret.expose().to_owned(), token.is_fresh)
}

#[tokio::test(start_paused = true)]
async fn a_token_is_kept_until_shortly_before_its_end() {
    let tokens = Tokens::new(Counted {
        lifetime: 3600,
        ..Counted::default()
    });
    assert_eq!(issued(&tokens).await, ("token-1".to_owned(), true));
    tokio::time::advance(Duration::from_secs(3539)).await;
    assert_eq!(issued(&tokens).await, ("token-1".to_owned(), false));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(issued(&tokens).await, ("token-2".to_owned(), true));
}

#[tokio::test(start_paused = true)]
async fn requests_at_the_same_time_wait_for_one_fetch() {
    let counted = Counted {
        lifetime: 3600,
        takes: 1,
        ..Counted::default()
    };
    let asked = Arc::clone(&counted.asked);
    let tokens = Tokens::new(counted);
    let (one, two) = tokio::join!(issued(&tokens), issued(&tokens));
    assert_eq!(one, ("token-1".to_owned(), true));
    assert_eq!(two, ("token-1".to_owned(), false));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn only_the_refused_token_is_forgotten() {
    let tokens = Tokens::new(Counted {
        lifetime: 3600,
        ..Counted::default()
    });
    let first = tokens.issue().await.unwrap().secret;
    tokens.forget(&Secret::new("another")).await;
    assert_eq!(issued(&tokens).await, ("token-1".to_owned(), false));
    tokens.forget(&first).await;
    assert_eq!(issued(&tokens).await, ("token-2".to_owned(), true));
    // A late refusal of the first one.
    tokens.forget(&first).await;
    assert_eq!(issued(&tokens).await, ("token-2".to_owned(), false));
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_kept_and_no_fetch_lasts_for_ever() {
    let tokens = Tokens::new(Counted {
        failing: 1,
        lifetime: u64::MAX,
        ..Counted::default()
    });
    assert_eq!(tokens.issue().await.unwrap_err().message, "no");
    assert_eq!(issued(&tokens).await, ("token-2".to_owned(), true));
    let slow = Tokens::new(Counted {
        takes: 3600,
        ..Counted::default()
    });
    let failure = slow.issue().await.unwrap_err();
    assert_eq!(failure.kind, ModelFailureKind::Timeout);
    assert_eq!(failure.phase, Phase::BeforeSend);
    assert!(failure.message.contains("30 s"), "{}", failure.message);
}

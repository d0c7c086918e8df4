//! Progress notices: names the checks that take long.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::render;

/// The pending checks, in a few words each.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending(Arc<Mutex<BTreeSet<String>>>);

/// A pending check, until it is dropped.
#[derive(Debug)]
pub(super) struct PendingCheck {
    all: Pending,
    what: String,
}

/// Prints notices, until it is dropped.
#[derive(Debug)]
pub(super) struct PendingNotice(JoinHandle<()>);

impl Pending {
    pub(super) fn wait(&self, what: String) -> PendingCheck {
        self.with(|waits| waits.insert(what.clone()));
        PendingCheck {
            all: self.clone(),
            what,
        }
    }

    /// Prints the pending checks at intervals.
    pub(super) fn start_notice(&self) -> PendingNotice {
        let all = self.clone();
        PendingNotice(tokio::spawn(async move {
            let mut pause = FIRST;
            loop {
                sleep(pause).await;
                pause = LATER;
                let waits = all.with(|waits| waits.iter().cloned().collect::<Vec<_>>());
                if !waits.is_empty() {
                    render::remark(&format!("waiting for {}", waits.join(", ")));
                }
            }
        }))
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeSet<String>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for PendingCheck {
    fn drop(&mut self) {
        self.all.with(|waits| waits.remove(&self.what));
    }
}

impl Drop for PendingNotice {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The delay before the first notice.
const FIRST: Duration = Duration::from_secs(2);
/// The interval between later notices.
const LATER: Duration = Duration::from_secs(10);

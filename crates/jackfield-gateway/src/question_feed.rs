//! Notices changes of the open questions of all sessions, whichever process asks or answers them.
//!
//! One task looks at the journal for all watchers, and ends with the last of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_engine::Engine;
use tokio::sync::watch;

/// The feed of a gateway.
#[derive(Debug)]
pub(crate) struct QuestionFeed {
    /// Whether the task is at work.
    is_running: Mutex<bool>,
    /// A number that grows with each change.
    changes: watch::Sender<u64>,
}

impl Default for QuestionFeed {
    fn default() -> Self {
        Self {
            is_running: Mutex::new(false),
            changes: watch::Sender::new(0),
        }
    }
}

impl QuestionFeed {
    /// Tells of each change from now on.
    pub(crate) fn subscribe(self: &Arc<Self>, engine: &Engine) -> watch::Receiver<u64> {
        let receiver = self.changes.subscribe();
        let mut is_running = self.lock();
        if !*is_running {
            *is_running = true;
            let (feed, engine) = (Arc::clone(self), engine.clone());
            tokio::spawn(async move { feed.run(&engine).await });
        }
        receiver
    }

    async fn run(&self, engine: &Engine) {
        let mut known = None;
        loop {
            // A journal that cannot be read has no news; a request for the questions gets the error.
            if let Ok(mark) = engine.open_waits_mark().await
                && known != Some(mark)
            {
                // The first look counts, too: a question may have come since the subscriber looked.
                known = Some(mark);
                self.changes.send_modify(|changes| *changes += 1);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            let mut is_running = self.lock();
            if self.changes.receiver_count() == 0 || engine.is_draining() {
                *is_running = false;
                return;
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, bool> {
        self.is_running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often the journal is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

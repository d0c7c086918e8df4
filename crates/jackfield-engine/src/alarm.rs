//! An alarm that is set again and again, nearly always to a later instant.

use std::pin::Pin;

use tokio::time::{Instant, Sleep, sleep_until};

/// Wakes at an instant. Its timer is not set anew with every later instant, but when it wakes in vain: pieces of
/// a reply come far more often than a deadline passes.
#[derive(Default)]
pub(crate) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Waits until then. Can be dropped at any time.
    pub(crate) async fn ring(&mut self, until: Instant) {
        let timer = self.0.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if timer.deadline() > until {
            timer.as_mut().reset(until);
        }
        loop {
            timer.as_mut().await;
            if Instant::now() >= until {
                return;
            }
            timer.as_mut().reset(until);
        }
    }
}

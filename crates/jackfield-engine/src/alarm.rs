//! A reusable alarm, which is usually set to ever later instants.

use std::pin::Pin;

use tokio::time::{Instant, Sleep, sleep_until};

/// Wakes at an instant. A later instant does not reset the timer at once: the timer is reset when it fires
/// early. Pieces of a reply arrive far more often than a deadline passes.
#[derive(Default)]
pub(crate) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Waits until `until`. Cancel-safe: the future can be dropped at any time.
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

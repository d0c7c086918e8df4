//! The stream of a server's own messages, in the older era.

use tokio::sync::watch;
use tokio::time::sleep;

use super::exchange::Exchange;
use super::stream::{MAX_RETRY, RETRY};
use crate::link::LinkEvent;

impl Exchange {
    /// Keeps the stream open as long as the server offers one, and says once that the server has answered.
    pub(super) async fn listen(&self, listens: &watch::Sender<bool>) {
        let (mut last_id, mut retry) = (None::<String>, RETRY);
        let mut pause = retry;
        let mut was_open = false;
        loop {
            let opened = self.open_stream(last_id.as_deref()).await;
            listens.send_replace(true);
            let incoming = match opened {
                Ok(incoming) => incoming,
                Err(failure) => {
                    // Most servers offer no such stream, and say so by any status: only one that was open is lost.
                    if was_open && failure.session_lost {
                        let _gone = self.events.send(LinkEvent::SessionLost).await;
                    }
                    return;
                }
            };
            was_open = true;
            self.settings.subscribed.send_replace(true);
            // What was announced before was missed.
            self.settings.changes.send_modify(|times| *times += 1);
            let mut events = incoming.into_events();
            while let Ok(Some(event)) = events.next().await {
                pause = retry;
                self.deliver(event.data.into_bytes(), None).await;
            }
            last_id = events.last_id().map(str::to_owned).or(last_id);
            if let Some(asked) = events.retry() {
                retry = asked.min(MAX_RETRY);
                pause = retry;
            }
            self.settings.subscribed.send_replace(false);
            self.settings.changes.send_modify(|times| *times += 1);
            sleep(pause).await;
            pause = pause.saturating_mul(2).clamp(RETRY, MAX_RETRY);
        }
    }
}

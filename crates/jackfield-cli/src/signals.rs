//! Signals: the first one asks for the turn to end, the second one leaves at once.
//!
//! They are watched by a task of their own, so that they are heard while the answer is being written
//! to somebody who does not read.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::exit::Exit;

/// Watches for Ctrl-C, and for the request to terminate, until it is dropped.
pub(crate) struct Interrupts {
    heard: mpsc::UnboundedReceiver<()>,
    watching: JoinHandle<()>,
}

impl Interrupts {
    pub(crate) fn watch() -> Self {
        let (hear, heard) = mpsc::unbounded_channel();
        let signals = Signals::new();
        let watching = tokio::spawn(async move {
            let mut asked = false;
            let Some(mut signals) = signals else { return };
            while signals.next().await {
                if asked {
                    // Nothing holds what is left: it is what a crash would leave.
                    std::process::exit(i32::from(Exit::Cancelled.code()));
                }
                asked = true;
                let _gone = hear.send(());
            }
        });
        Self { heard, watching }
    }

    /// The first signal. Can be dropped at any time without losing it.
    pub(crate) async fn asked(&mut self) -> bool {
        match self.heard.recv().await {
            Some(()) => true,
            // Signals cannot be watched here: there are none.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// What is watched; kept, so that nothing gets lost between two signals.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Option<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt()).ok()?;
        let terminate = signal(SignalKind::terminate()).ok()?;
        Some(Self {
            interrupt,
            terminate,
        })
    }

    /// Waits for a signal; says whether there can be any more.
    async fn next(&mut self) -> bool {
        tokio::select! {
            heard = self.interrupt.recv() => heard.is_some(),
            heard = self.terminate.recv() => heard.is_some(),
        }
    }
}

/// What is watched.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Option<Self> {
        Some(Self)
    }

    /// Waits for a signal; says whether there can be any more.
    async fn next(&mut self) -> bool {
        tokio::signal::ctrl_c().await.is_ok()
    }
}

//! Signals: the first one asks for the turn to end, the second one leaves at once.
//!
//! They are watched by a task of their own, so that they are heard while the answer is being written
//! to somebody who does not read.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::exit::Exit;
use crate::tty;

/// What was heard.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// The process is to end.
    Terminate,
}

/// Keeps in mind that the process is to end, once what is under way has ended.
pub(crate) fn remember(signal: Signal) {
    if signal == Signal::Terminate {
        TERMINATING.store(true, Ordering::Relaxed);
    }
}

/// Whether the process is to end.
pub(crate) fn is_terminating() -> bool {
    TERMINATING.load(Ordering::Relaxed)
}

static TERMINATING: AtomicBool = AtomicBool::new(false);

/// Leaves at once. Nothing holds what is left: it is what a crash would leave.
pub(crate) fn leave() -> ! {
    tty::restore();
    std::process::exit(i32::from(Exit::Cancelled.code()))
}

/// Watches for Ctrl-C, and for the request to terminate, until it is dropped.
pub(crate) struct Interrupts {
    heard: mpsc::UnboundedReceiver<Signal>,
    watching: JoinHandle<()>,
}

impl Interrupts {
    pub(crate) fn watch() -> Self {
        let (hear, heard) = mpsc::unbounded_channel();
        let signals = Signals::new();
        let watching = tokio::spawn(async move {
            let mut asked = false;
            let Some(mut signals) = signals else { return };
            while let Some(signal) = signals.next().await {
                if asked {
                    leave();
                }
                asked = true;
                let _gone = hear.send(signal);
            }
        });
        Self { heard, watching }
    }

    /// A signal that has come already.
    pub(crate) fn heard(&mut self) -> Option<Signal> {
        self.heard.try_recv().ok()
    }

    /// The first signal. Can be dropped at any time without losing it.
    pub(crate) async fn asked(&mut self) -> Signal {
        match self.heard.recv().await {
            Some(signal) => signal,
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
    /// The terminal is gone. Whoever reads from none may have been told not to mind, as by `nohup`.
    hangup: Option<tokio::signal::unix::Signal>,
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Option<Self> {
        use std::io::IsTerminal as _;

        use tokio::signal::unix::{SignalKind, signal};
        let hangup = std::io::stdin()
            .is_terminal()
            .then(|| signal(SignalKind::hangup()));
        let hangup = hangup.transpose().ok()?;
        let interrupt = signal(SignalKind::interrupt()).ok()?;
        let terminate = signal(SignalKind::terminate()).ok()?;
        Some(Self {
            hangup,
            interrupt,
            terminate,
        })
    }

    /// Waits for a signal, if there can be any more.
    async fn next(&mut self) -> Option<Signal> {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            heard = hangup => heard.map(|()| Signal::Terminate),
            heard = self.interrupt.recv() => heard.map(|()| Signal::Interrupt),
            heard = self.terminate.recv() => heard.map(|()| Signal::Terminate),
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

    /// Waits for a signal, if there can be any more.
    async fn next(&mut self) -> Option<Signal> {
        let heard = tokio::signal::ctrl_c().await;
        heard.ok().map(|()| Signal::Interrupt)
    }
}

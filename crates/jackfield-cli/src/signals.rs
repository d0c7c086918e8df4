//! Signals: the first one cancels the turn, the second one exits immediately.
//!
//! A task of its own watches them, so that they are handled even while writing to a reader that does not read.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::exit::Exit;
use crate::tty;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
}

/// Records that the process should end after the current work.
pub(crate) fn remember(signal: Signal) {
    if signal == Signal::Terminate {
        TERMINATING.store(true, Ordering::Relaxed);
    }
}

/// Whether the process should end.
pub(crate) fn is_terminating() -> bool {
    TERMINATING.load(Ordering::Relaxed)
}

static TERMINATING: AtomicBool = AtomicBool::new(false);

/// Exits immediately. The state left behind is the same as after a crash.
pub(crate) fn exit_now() -> ! {
    tty::restore();
    std::process::exit(i32::from(Exit::Cancelled.code()))
}

/// Watches for Ctrl-C and SIGTERM, until it is dropped.
pub(crate) struct Interrupts {
    received: mpsc::UnboundedReceiver<Signal>,
    task: JoinHandle<()>,
}

impl Interrupts {
    pub(crate) fn watch() -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let signals = Signals::new();
        let watching = tokio::spawn(async move {
            let mut is_repeated = false;
            let Some(mut signals) = signals else { return };
            while let Some(signal) = signals.next().await {
                if is_repeated {
                    exit_now();
                }
                is_repeated = true;
                let _gone = sender.send(signal);
            }
        });
        Self {
            received,
            task: watching,
        }
    }

    /// A signal that was already received.
    pub(crate) fn try_recv(&mut self) -> Option<Signal> {
        self.received.try_recv().ok()
    }

    /// The first signal. Cancel-safe: dropping the future loses nothing.
    pub(crate) async fn recv(&mut self) -> Signal {
        match self.received.recv().await {
            Some(signal) => signal,
            // Signals cannot be watched here, so none ever arrives.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The signal streams; kept open, so that no signal is lost between two.
#[cfg(unix)]
struct Signals {
    /// The terminal was closed. Not watched if standard input is no terminal: the process may have been started
    /// to ignore it, as by `nohup`.
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

    /// Waits for a signal; `None` if no more can arrive.
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

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Option<Self> {
        Some(Self)
    }

    /// Waits for a signal; `None` if no more can arrive.
    async fn next(&mut self) -> Option<Signal> {
        let heard = tokio::signal::ctrl_c().await;
        heard.ok().map(|()| Signal::Interrupt)
    }
}

//! The signals that end a server.

/// Listens, from now on, for what ends the process, and waits for it: Ctrl-C, the request to terminate, or a
/// hang-up, unless the process was started deaf to that, as by `nohup`.
///
/// # Panics
///
/// Outside of a Tokio runtime.
pub fn asked_to_end() -> impl Future<Output = ()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).ok();
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        let (interrupt, terminate) = (listen(interrupt), listen(terminate));
        // What is listened for is not ignored any more.
        let hangup = if ignores_hangup() {
            None
        } else {
            listen(SignalKind::hangup())
        };
        async {
            tokio::select! {
                () = received(hangup) => {}
                () = received(interrupt) => {}
                () = received(terminate) => {}
            }
        }
    }
    #[cfg(not(unix))]
    asked_at_once()
}

/// Waits for a signal. One that cannot be listened for never comes.
#[cfg(unix)]
async fn received(signal: Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(mut signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Waits until the process is to end without waiting for anything: Ctrl-C, or the request to terminate. Of a
/// terminal that is closed some processes hear twice, which is no haste.
pub async fn asked_at_once() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                heard = tokio::signal::ctrl_c() => until_heard(heard).await,
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    until_heard(tokio::signal::ctrl_c().await).await;
}

/// Whether whoever started the process told it not to mind a hang-up. Where the system does not say, those
/// are taken to be told so that read from no terminal.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    use std::io::IsTerminal as _;

    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The first bit is the first signal, which this is.
    let ignored = ignored.map(|mask| mask & 1 != 0);
    ignored.unwrap_or_else(|| !std::io::stdin().is_terminal())
}

/// A signal that cannot be listened for never comes.
async fn until_heard(heard: std::io::Result<()>) {
    if heard.is_err() {
        std::future::pending::<()>().await;
    }
}

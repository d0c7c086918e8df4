//! The signals that shut a server down.

/// Installs the signal handlers now, and waits for Ctrl-C, SIGTERM or SIGHUP. SIGHUP is skipped if the process
/// was started to ignore it, as by `nohup`.
///
/// # Panics
///
/// Outside of a Tokio runtime.
pub fn shutdown_signal() -> impl Future<Output = ()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).ok();
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        let (interrupt, terminate) = (listen(interrupt), listen(terminate));
        // Installing a handler would end the ignoring.
        let hangup = if ignores_hangup() {
            None
        } else {
            listen(SignalKind::hangup())
        };
        async {
            tokio::select! {
                () = wait_for_signal(hangup) => {}
                () = wait_for_signal(interrupt) => {}
                () = wait_for_signal(terminate) => {}
            }
        }
    }
    #[cfg(not(unix))]
    immediate_shutdown_signal()
}

/// Waits for a signal; forever, if its handler could not be installed.
#[cfg(unix)]
async fn wait_for_signal(signal: Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(mut signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Waits for the signal of an immediate shutdown: Ctrl-C or SIGTERM. SIGHUP does not count, as some processes get
/// it twice when a terminal closes.
pub async fn immediate_shutdown_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                result = tokio::signal::ctrl_c() => wait_if_failed(result).await,
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    wait_if_failed(tokio::signal::ctrl_c().await).await;
}

/// Whether the parent process set SIGHUP to be ignored. Where the system does not say, a process whose standard
/// input is no terminal counts as such.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    use std::io::IsTerminal as _;

    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, SIGHUP.
    let ignored = ignored.map(|mask| mask & 1 != 0);
    ignored.unwrap_or_else(|| !std::io::stdin().is_terminal())
}

/// Waits for a signal; forever, if its handler could not be installed.
async fn wait_if_failed(result: std::io::Result<()>) {
    if result.is_err() {
        std::future::pending::<()>().await;
    }
}

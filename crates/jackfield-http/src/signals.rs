//! The signals that end a server.

/// Waits until the process is to end: Ctrl-C, or the request to terminate.
pub async fn asked_to_end() {
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

/// A signal that cannot be listened for never comes.
async fn until_heard(heard: std::io::Result<()>) {
    if heard.is_err() {
        std::future::pending::<()>().await;
    }
}

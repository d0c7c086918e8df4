//! The accept loop: the connection limit and graceful shutdown.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_gateway::Gateway;
use jackfield_mcp_server::HttpService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::auth::Places;
use crate::certificate::Certificate;
use crate::connection;
use crate::router::with_mcp;

/// Serves requests until `shutdown`. Then it accepts no more connections, and the open ones have
/// `serve.limits.drain` to finish; `at_once` ends that time early. Turns that are still open are recovered at the
/// next start.
///
/// With a certificate, connections have to speak TLS; a new one counts for those that begin later.
pub async fn serve(
    listener: TcpListener,
    certificate: Option<watch::Receiver<Certificate>>,
    gateway: Gateway,
    shutdown: impl Future<Output = ()>,
    at_once: impl Future<Output = ()>,
) {
    let limits = gateway.config().limits;
    let mcp = HttpService::new();
    let router = with_mcp(&gateway, mcp.clone());
    let slots = Arc::new(Semaphore::new(limits.connections));
    let places = Arc::<Places>::default();
    let (close, closing) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                if slots.available_permits() == 0 {
                    places.make_room();
                }
                // At the limit, more clients wait in the accept queue of the operating system, which is bounded.
                let slot = tokio::select! {
                    biased;
                    () = &mut shutdown => break,
                    slot = Arc::clone(&slots).acquire_owned() => slot,
                };
                let certificate = certificate.as_ref().map(|present| present.borrow().clone());
                let served = connection::serve(
                    stream,
                    certificate,
                    gateway.clone(),
                    router.clone(),
                    places.add(),
                    closing.clone(),
                );
                connections.spawn(async move {
                    served.await;
                    drop(slot);
                });
            }
            // Usually out of file descriptors: accepting again at once would only spin.
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken in");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    drop(listener);
    close.send_replace(true);
    mcp.close();
    if !connections.is_empty() {
        let (connections, within) = (connections.len(), limits.drain);
        tracing::info!(connections, ?within, "ending; asked again, it ends at once");
    }
    let ended = async { while connections.join_next().await.is_some() {} };
    let engine = gateway.engine();
    let in_order = async {
        let ended = tokio::time::timeout(limits.drain, ended);
        tokio::join!(engine.drain(limits.drain), ended)
    };
    let (drained, ended) = tokio::select! {
        ended = in_order => ended,
        () = at_once => (engine.drain(Duration::ZERO).await, Ok(())),
    };
    if drained.stopped > 0 {
        let turns = drained.stopped;
        tracing::warn!(turns, "turns that were not over go on at the next start");
    }
    if ended.is_err() {
        tracing::warn!("not everything was answered in time");
    }
    connections.shutdown().await;
}

/// The pause after a failed accept.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

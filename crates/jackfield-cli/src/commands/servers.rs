//! The MCP servers of a run: startup notices and shutdown.

use std::time::Duration;

use jackfield_assembly::{ServerStatus, ServerToolbox};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::render;

/// Names the servers that take long to start, until it is dropped.
pub(crate) struct StartNotice(JoinHandle<()>);

impl Drop for StartNotice {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(crate) fn start_notice(servers: &[ServerToolbox]) -> StartNotice {
    let servers = servers.to_vec();
    StartNotice(tokio::spawn(async move {
        sleep(NOTICE_DELAY).await;
        let starting = servers
            .iter()
            .filter(|server| server.state() == ServerStatus::Starting);
        let names: Vec<&str> = starting.map(|server| server.config.id.as_str()).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            render::remark(&format!("waiting for MCP servers to start: {names}"));
        }
    }))
}

/// Waits for the servers that a list did not wait for.
pub(crate) async fn wait_for_listings(servers: &[ServerToolbox]) {
    for server in servers {
        server.wait_for_listing().await;
    }
}

/// Stops all servers concurrently. Slow ones are left to their guards.
pub(crate) async fn stop(servers: Vec<ServerToolbox>) {
    let mut stopping = JoinSet::new();
    for server in servers {
        stopping.spawn(async move { server.stop().await });
    }
    let _in_time = timeout(STOP_TIMEOUT, stopping.join_all()).await;
}

/// How long the end of a command waits for servers.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// The delay before the notice.
const NOTICE_DELAY: Duration = Duration::from_secs(2);

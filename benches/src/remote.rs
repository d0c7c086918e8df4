//! A server at an address: what our client adds to a call, and what an idle connection holds.

use std::sync::Arc;

use anyhow::Context as _;
use futures_util::future::try_join_all;
use jackfield_tools_mcp::McpToolbox;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::echo::TOOL;
use crate::mcp::Endpoint;
use crate::measure::{Series, begin};
use crate::ours::{call_tool, toolbox, toolbox_at};
use crate::process::beside;

/// What calls over HTTP took.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// By bare hyper, of the same server: the same request on one connection, whose answer is not read as a message.
    pub bare: Series,
    /// Through the toolbox.
    pub toolbox: Series,
}

/// Calls a tool so often. The server is a gateway, which answers both alike.
///
/// # Errors
///
/// If a call fails.
pub fn calls(runtime: &Runtime, times: usize) -> anyhow::Result<Calls> {
    runtime.block_on(async {
        let mut endpoint = Endpoint::start(1).await?;
        let toolbox = toolbox_at("remote", &url(&endpoint))?;
        toolbox.start().await?;
        let tool = format!("echo__{TOOL}");
        let mut took = Calls::default();
        let warm_up = times.div_ceil(10);
        for nth in 0..times + warm_up {
            // Turn about, as the server may be at work for a moment after each of them.
            for by_toolbox in [nth % 2 == 0, nth % 2 != 0] {
                let watch = begin();
                if by_toolbox {
                    let arguments = Map::from_iter([("text".to_owned(), Value::from(SAID))]);
                    call_tool(&toolbox, &tool, arguments).await?;
                } else {
                    let call = json!({ "name": tool, "arguments": { "text": SAID } });
                    endpoint.ask("tools/call", call).await?;
                }
                let wall = watch().wall;
                if nth >= warm_up && by_toolbox {
                    took.toolbox.push(wall);
                } else if nth >= warm_up {
                    took.bare.push(wall);
                }
            }
        }
        toolbox.stop().await;
        Ok(took)
    })
}

/// What an idle connection holds of this process's memory, in KiB; the server's own process is not counted.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// To a server at an address.
    pub http: u64,
    /// To a server that is a child process.
    pub stdio: u64,
}

/// Opens so many connections of each kind. Known on Linux alone.
///
/// # Errors
///
/// If a server does not start, or the memory is not known.
pub fn idle(runtime: &Runtime, connections: usize) -> anyhow::Result<Idle> {
    runtime.block_on(async {
        let endpoint = Endpoint::start(1).await?;
        let address = url(&endpoint);
        let program = [beside("bench-echo")?.display().to_string()];
        let http = held(connections, |nth| toolbox_at(&format!("h{nth}"), &address)).await?;
        let stdio = held(connections, |nth| toolbox(&format!("s{nth}"), &program)).await?;
        Ok(Idle { http, stdio })
    })
}

/// What a connection holds, on the average of so many; the first one of its kind brings what all of them share.
async fn held(
    connections: usize,
    open: impl Fn(usize) -> anyhow::Result<Arc<McpToolbox>>,
) -> anyhow::Result<u64> {
    let first = open(0)?;
    first.start().await?;
    let before = memory()?;
    let toolboxes: anyhow::Result<Vec<_>> = (1..=connections).map(open).collect();
    let toolboxes = toolboxes?;
    try_join_all(toolboxes.iter().map(|toolbox| toolbox.start())).await?;
    let more = memory()?.saturating_sub(before);
    for toolbox in toolboxes.iter().chain([&first]) {
        toolbox.stop().await;
    }
    Ok(more / u64::try_from(connections.max(1))?)
}

/// What this process has in memory, in KiB, as Linux tells it.
fn memory() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.context("no such field")?.trim();
    Ok(resident.trim_end_matches(" kB").parse()?)
}

fn url(endpoint: &Endpoint) -> String {
    format!("http://{}/mcp", endpoint.host)
}

/// So many idle connections are opened.
pub const CONNECTIONS: usize = 50;
const SAID: &str = "a call like any other";

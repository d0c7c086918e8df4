//! The MCP endpoint of the gateway, against its server by itself; and a server of many notes.

use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::ensure;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::cold::Home;
use crate::echo::TOOL;
use crate::floor::Bare;
use crate::gateway::subject::{free_port, reachable};
use crate::measure::{Series, begin};
use crate::process::beside;

/// What requests took.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// To the server, by bare `rmcp`.
    pub bare: Series,
    /// To the gateway.
    pub endpoint: Series,
    /// The first one to the gateway.
    pub first: Duration,
}

/// Lists so many tools so often: through `/mcp`, and of the server itself.
///
/// # Errors
///
/// If a tool is missing.
pub fn lists(runtime: &Runtime, tools: usize, times: usize) -> anyhow::Result<Requests> {
    runtime.block_on(async {
        let mut endpoint = Endpoint::start(tools).await?;
        let mut server = Command::new(beside("bench-echo")?);
        server.args(["--more-tools".to_owned(), (tools - 1).to_string()]);
        let bare = Bare::start(server).await?;
        let mut took = Requests::default();
        for nth in 0..=times {
            let watch = begin();
            let reply = endpoint.ask("tools/list", json!({})).await?;
            let wall = watch().wall;
            let found = String::from_utf8_lossy(&reply)
                .matches("\"inputSchema\"")
                .count();
            ensure!(found >= tools, "there are {found} tools");
            if nth == 0 {
                took.first = wall;
            } else {
                took.endpoint.push(wall);
            }
            let watch = begin();
            let found = bare.list().await?;
            took.bare.push(watch().wall);
            ensure!(found == tools, "there are {found} tools");
        }
        bare.stop().await?;
        Ok(took)
    })
}

/// Calls a tool so often: through `/mcp`, and of the server itself.
///
/// # Errors
///
/// If a call fails.
pub fn calls(runtime: &Runtime, times: usize) -> anyhow::Result<Requests> {
    runtime.block_on(async {
        let mut endpoint = Endpoint::start(1).await?;
        let bare = Bare::start(Command::new(beside("bench-echo")?)).await?;
        let mut took = Requests::default();
        let warm_up = times.div_ceil(10);
        for nth in 0..times + warm_up {
            let arguments = json!({ "text": SAID });
            let call = json!({ "name": format!("echo__{TOOL}"), "arguments": arguments });
            let watch = begin();
            let reply = endpoint.ask("tools/call", call).await?;
            let by_endpoint = watch().wall;
            let reply = String::from_utf8_lossy(&reply);
            ensure!(reply.contains(SAID), "not the answer: {reply}");
            let arguments = Map::from_iter([("text".to_owned(), Value::from(SAID))]);
            let watch = begin();
            bare.call(arguments).await?;
            let by_bare = watch().wall;
            if nth == 0 {
                took.first = by_endpoint;
            }
            if nth >= warm_up {
                took.endpoint.push(by_endpoint);
                took.bare.push(by_bare);
            }
        }
        bare.stop().await?;
        Ok(took)
    })
}

/// Searches so many notes so often, as a client of `jackfield notes-server`.
///
/// # Errors
///
/// If a search finds something else than it should.
pub fn searches(
    runtime: &Runtime,
    notes: usize,
    times: usize,
) -> anyhow::Result<Vec<(&'static str, Series)>> {
    // A hundred thousand notes, each synced, would take long on a disk; searches read memory in any case.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    runtime.block_on(async {
        let mut server = Command::new(beside("jackfield")?);
        server.args(["notes-server", "--person", "ann"]);
        server.arg(folder.path().join("notes.db"));
        let server = Bare::start(server).await?;
        for nth in 0..notes {
            let text = format!("{} {} {}", WORDS[nth % 7], WORDS[nth % 11], nth % 1000);
            let note = [
                ("title".to_owned(), Value::from(format!("Note {nth}"))),
                (
                    "text".to_owned(),
                    Value::from(format!("{text} {EVERYWHERE}")),
                ),
            ];
            server.call_tool("add_note", Map::from_iter(note)).await?;
        }
        let last = format!("{}", notes - 1);
        let searches = [
            ("one note by its number", last.as_str()),
            ("a word of one note in seven", WORDS[1]),
            ("two words, each of many notes", "amber copper"),
            ("a word of all notes", "ledger"),
        ];
        let mut took = Vec::new();
        for (what, words) in searches {
            let mut series = Series::default();
            for _ in 0..times {
                let arguments = Map::from_iter([("query".to_owned(), Value::from(words))]);
                let watch = begin();
                let found = server.call_tool("search_notes", arguments).await?;
                series.push(watch().wall);
                ensure!(found.contains("Note"), "nothing was found: {found}");
            }
            took.push((what, series));
        }
        server.stop().await?;
        Ok(took)
    })
}

/// A gateway, and a client of its `/mcp` on one connection. Dropping it ends the gateway.
pub(crate) struct Endpoint {
    pub(crate) host: String,
    process: Child,
    sender: SendRequest<Full<Bytes>>,
    _home: Home,
}

impl Endpoint {
    pub(crate) async fn start(tools: usize) -> anyhow::Result<Self> {
        let home = Home::with_tools(tools)?;
        let host = format!("127.0.0.1:{}", free_port()?);
        let mut serve = home.jackfield(&["serve", "--bind", &host]);
        let serve = serve.stdin(Stdio::null()).stdout(Stdio::null());
        let process = serve.stderr(Stdio::null()).spawn()?;
        reachable(&host).await?;
        let stream = TcpStream::connect(&host).await?;
        stream.set_nodelay(true)?;
        let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream));
        let (sender, connection) = shaken.await?;
        tokio::spawn(connection);
        Ok(Self {
            host,
            process,
            sender,
            _home: home,
        })
    }

    /// The body of the reply to a request of the revision 2026-07-28.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value) -> anyhow::Result<Bytes> {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::post("/mcp")
            .header("host", &self.host)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", REVISION)
            .header("mcp-method", method)
            .header("mcp-name", name)
            .body(Full::new(Bytes::from(body.to_string())))?;
        self.sender.ready().await?;
        let reply = self.sender.send_request(request).await?;
        let status = reply.status();
        let body = reply.into_body().collect().await?.to_bytes();
        let text = || {
            String::from_utf8_lossy(&body)
                .chars()
                .take(500)
                .collect::<String>()
        };
        ensure!(status.is_success(), "{status}: {}", text());
        Ok(body)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

/// So many notes.
pub const NOTES: usize = 100_000;
/// The newest revision of the protocol, which needs no session.
const REVISION: &str = "2026-07-28";
const SAID: &str = "a call like any other";
/// What stands in every note.
const EVERYWHERE: &str = "is in the ledger of this year, with what was paid and what is due.";
const WORDS: [&str; 11] = [
    "amber", "birch", "copper", "dune", "ember", "fjord", "glacier", "harbour", "island",
    "juniper", "kestrel",
];

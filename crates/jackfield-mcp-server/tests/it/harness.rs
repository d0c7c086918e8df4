//! A server of scripted tools, and a client that says what it is told to, line by line.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::ToolboxId;
use jackfield_domain::request::ModelRef;
use jackfield_engine::{Engine, ToolboxStatus, TurnOptions};
use jackfield_mcp_server::{ServerSettings, ToolServer};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::ScriptedToolbox;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A client, and the server on the other end.
pub(crate) struct Wire {
    input: Option<WriteHalf<DuplexStream>>,
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

/// A toolbox of this id, and nothing else.
pub(crate) fn toolbox(id: &str) -> ScriptedToolbox {
    ScriptedToolbox::new(ToolboxId::parse(id).expect("an id"))
}

/// A server of these tools, under their bare names; they are believed.
pub(crate) fn server(tools: &ScriptedToolbox) -> ToolServer {
    let standing = ToolboxStatus {
        prefix: Some("".into()),
        server: None,
        trusted: true,
    };
    let journal = Arc::new(MemoryJournal::default());
    let engine = Engine::builder(journal).toolbox_as(tools.port(), standing);
    ToolServer::new(engine.build(), options())
}

pub(crate) fn options() -> TurnOptions {
    TurnOptions::new(ModelRef {
        model: "none".into(),
        provider: "none".into(),
    })
}

impl Wire {
    pub(crate) fn to(server: ToolServer) -> Self {
        Self::with_buffer(server, 1 << 20)
    }

    /// A client that takes this many bytes unread.
    pub(crate) fn with_buffer(server: ToolServer, bytes: usize) -> Self {
        let (ours, theirs) = tokio::io::duplex(bytes);
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(async move {
            let (read, write) = tokio::io::split(theirs);
            let stopped = async {
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            server.serve(read, write, stopped).await;
        });
        let (read, write) = tokio::io::split(ours);
        Self {
            input: Some(write),
            lines: BufReader::new(read).lines(),
            server,
            stop: Some(stop),
        }
    }

    /// The same with settings of its own.
    pub(crate) fn with(tools: &ScriptedToolbox, change: impl FnOnce(&mut ServerSettings)) -> Self {
        let mut settings = ServerSettings::default();
        change(&mut settings);
        Self::to(server(tools).with(settings))
    }

    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input has not ended");
        input.write_all(bytes).await.expect("the server reads");
        input.flush().await.expect("the server reads");
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    /// Asks in the newer era.
    pub(crate) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let message = request(id, method, params);
        self.say(message).await;
    }

    /// Calls a tool in the newer era.
    pub(crate) async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask(id, "tools/call", params).await;
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(TIME_LIMIT, self.lines.next_line()).await;
        let line = line.expect("something is said in time");
        let line = line.expect("the output can be read").expect("a message");
        serde_json::from_str(&line).expect("each line is JSON")
    }

    /// Whatever is answered to this, and that it is answered at all.
    pub(crate) async fn answer(&mut self, message: Value) -> Value {
        self.say(message).await;
        self.hear().await
    }

    /// The server lives, and has nothing else to say.
    pub(crate) async fn lives(&mut self) {
        self.say(json!({ "jsonrpc": "2.0", "id": "alive", "method": "ping" }))
            .await;
        assert_eq!(self.hear().await["id"], "alive");
    }

    /// Begins in the older era, with this revision; gives the answer.
    pub(crate) async fn greet(&mut self, version: &str) -> Value {
        self.greet_with(version, json!({})).await
    }

    /// The same, with these capabilities.
    pub(crate) async fn greet_with(&mut self, version: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let hello =
            json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params });
        let answer = self.answer(hello).await;
        self.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        answer
    }

    /// Says nothing more.
    pub(crate) async fn hang_up(&mut self) {
        let mut input = self.input.take().expect("the input has not ended");
        input.shutdown().await.expect("the input can end");
    }

    /// Stops the server from its own side.
    pub(crate) fn stop(&mut self) {
        let stop = self.stop.take().expect("it was not stopped");
        stop.send(()).expect("the server runs");
    }

    /// Drops the server in the middle of whatever it does.
    pub(crate) fn drop_server(&self) {
        self.server.abort();
    }

    /// Waits for the server's end; gives what it said until then.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(line) = tokio::time::timeout(TIME_LIMIT, self.lines.next_line())
            .await
            .expect("the output ends in time")
            .expect("the output can be read")
        {
            rest.push(serde_json::from_str(&line).expect("each line is JSON"));
        }
        let ended = tokio::time::timeout(TIME_LIMIT, self.server).await;
        ended.expect("the server ends in time").expect("no panic");
        rest
    }
}

/// A request of the newer era.
pub(crate) fn request(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    let ours = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let meta = params["_meta"].take();
    params["_meta"] = ours;
    for (name, value) in meta.as_object().into_iter().flatten() {
        params["_meta"][name] = value.clone();
    }
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// The text of an answer's only part.
#[track_caller]
pub(crate) fn text(answer: &Value) -> &str {
    let content = answer["result"]["content"].as_array();
    let only = content.filter(|content| content.len() == 1);
    let only = only.unwrap_or_else(|| panic!("no outcome of one part: {answer}"));
    only[0]["text"].as_str().expect("a text")
}

/// Nothing takes longer.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

//! A scripted MCP server, as it is configured, and what it wrote down.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jackfield_testservers::mcp::http::ScriptedMcpHttp;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::beside;

/// A scripted MCP server; `jackfield_testservers::mcp` says what a script can say.
pub(crate) struct McpServer {
    folder: TempDir,
}

impl McpServer {
    /// A server of this script.
    pub(crate) fn new(script: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let server = Self { folder };
        server.becomes(script);
        server
    }

    /// The same server, which keeps to this script from its next start on.
    pub(crate) fn becomes(&self, mut script: Value) {
        script["log"] = json!(self.folder.path().join("log"));
        fs::write(self.folder.path().join("script"), script.to_string())
            .expect("the folder can be written");
    }

    /// A server of one tool that changes nothing and does this.
    pub(crate) fn of(name: &str, steps: &Value) -> Self {
        Self::new(json!({ "tools": [tool(name)], "calls": { name: steps } }))
    }

    /// How it is configured.
    pub(crate) fn entry(&self) -> Value {
        let program = beside("scripted-mcp", super::SERVERS);
        json!({ "command": program, "args": [self.folder.path().join("script")] })
    }

    /// The same, trusted.
    pub(crate) fn trusted(&self) -> Value {
        self.with(&json!({ "trust": true }))
    }

    /// The same with more.
    pub(crate) fn with(&self, more: &Value) -> Value {
        let mut entry = self.entry();
        for (name, value) in more.as_object().into_iter().flatten() {
            entry[name] = value.clone();
        }
        entry
    }

    /// What it wrote down.
    pub(crate) fn log(&self) -> Vec<String> {
        log(&self.folder)
    }

    /// How many lines of the log begin so.
    pub(crate) fn count(&self, begin: &str) -> usize {
        count(&self.folder, begin)
    }

    /// Waits until a line of the log begins so.
    pub(crate) async fn until(&self, begin: &str) {
        until(&self.folder, begin).await;
    }

    /// It ran, the protocol was kept, and none of its processes is there any more.
    pub(crate) async fn kept_and_gone(&self) {
        let log = self.log();
        let starts: Vec<&str> = log
            .iter()
            .filter_map(|line| line.strip_prefix("start "))
            .collect();
        assert!(!starts.is_empty(), "it never ran");
        let broken: Vec<&String> = log
            .iter()
            .filter(|line| line.starts_with("violation"))
            .collect();
        assert!(broken.is_empty(), "{broken:?}");
        let gone = tokio::time::timeout(MAX_SHUTDOWN_TIME, async {
            while starts.iter().any(|pid| is_alive(pid)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(gone.await.is_ok(), "one of {starts:?} stays: {log:?}");
    }
}

/// A scripted MCP server over HTTP.
pub(crate) struct McpEndpoint {
    folder: TempDir,
    pub(crate) server: ScriptedMcpHttp,
}

impl McpEndpoint {
    /// A server of this script.
    pub(crate) fn new(mut script: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        script["log"] = json!(folder.path().join("log"));
        let server = ScriptedMcpHttp::start(script).expect("a port can be opened");
        Self { folder, server }
    }

    /// How it is configured, with more.
    pub(crate) fn with(&self, more: &Value) -> Value {
        let mut entry = json!({ "url": self.server.url() });
        for (name, value) in more.as_object().into_iter().flatten() {
            entry[name] = value.clone();
        }
        entry
    }

    /// How many lines of the log begin so.
    pub(crate) fn count(&self, begin: &str) -> usize {
        count(&self.folder, begin)
    }

    /// Waits until a line of the log begins so.
    pub(crate) async fn until(&self, begin: &str) {
        until(&self.folder, begin).await;
    }
}

/// What the server of this folder wrote down.
fn log(folder: &TempDir) -> Vec<String> {
    let log = fs::read_to_string(folder.path().join("log"));
    log.unwrap_or_default().lines().map(str::to_owned).collect()
}

fn count(folder: &TempDir, begin: &str) -> usize {
    let log = log(folder);
    log.iter().filter(|line| line.starts_with(begin)).count()
}

async fn until(folder: &TempDir, begin: &str) {
    let seen = tokio::time::timeout(TIME_LIMIT, async {
        while count(folder, begin) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(seen.await.is_ok(), "never {begin:?}: {:?}", log(folder));
}

/// The definition of a tool that changes nothing, as it says.
pub(crate) fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name}."),
        "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true },
    })
}

/// Whether there is such a process, and it has not ended.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    let state = stat.as_deref().ok().and_then(|stat| stat.rsplit_once(") "));
    state.is_some_and(|(_, state)| !state.starts_with('Z'))
}

/// How long a process may take to end after ours: far less than one that stays.
pub(crate) const MAX_SHUTDOWN_TIME: Duration = Duration::from_secs(60);
const TIME_LIMIT: Duration = Duration::from_secs(60);

//! A scripted MCP server: the protocol as lines of JSON, written from the specification alone (revisions 2024-11-05
//! to 2026-07-28, read 2026-11-22), so that no client library verifies itself.
//!
//! A script is a JSON object with these optional fields:
//!
//! | field | meaning |
//! |---|---|
//! | `asks_before` | what a prompt or a resource asks before it is given: `{"name or uri": requests}` |
//! | `calls` | the steps of each tool: `{"name": [step, …]}`, see below |
//! | `completions` | the values of arguments: `{"argument": [value, …]}` |
//! | `contents` | the contents of resources: `{"uri": [content, …]}` |
//! | `deaf` | never sends list changes to subscribers |
//! | `effects` | a file that gets a line of JSON for every call before anything else is done: `tool`, `key` and `arguments`; synced, so that it survives any end of the process |
//! | `era` | `"legacy"`, `"modern"` or `"both"`, the default |
//! | `exit` | exits at once, with this code |
//! | `flood` | this many lines to standard error, at once |
//! | `garbage` | lines that are not the protocol, to standard output, at once |
//! | `http` | how it behaves over HTTP, see [`http`] |
//! | `hang` | reads its input, and never answers |
//! | `id_last` | the id is the last field of an answer |
//! | `instructions` | its instructions |
//! | `list_changed` | announces list changes |
//! | `log` | a file that gets a line for everything that happens |
//! | `logging` | sends log messages of calls, and takes a level for them |
//! | `loop_cursor` | the list of tools never ends |
//! | `many` | the number of further tools, `tool_00000` and so on |
//! | `messages` | the messages of prompts: `{"name": [message, …]}`, with `{argument}` in their texts |
//! | `no_subscriptions` | accepts no subscriptions to resources |
//! | `no_tools` | has no tools, and does not know their methods |
//! | `page` | the number of tools on a page of the list |
//! | `probe` | the reaction of an old server to `server/discover`: `"die"`, `"silent"`, or an error by default |
//! | `prompts` | the definitions of prompts |
//! | `resources` | the definitions of resources |
//! | `stays` | keeps running after its input has ended |
//! | `subscribe` | announces changes of resources and of their list |
//! | `templates` | the definitions of resource templates |
//! | `tools` | the definitions |
//! | `version` | the older revision that it speaks, `2025-11-25` by default |
//!
//! The steps of a call run in order until one ends it: `{"reply": result}`, `{"text": words}`, `{"error": {code,
//! message, data, unless}}` (unless there is a file of that path), `{"echo": true}`, `{"environment": true}`,
//! `{"size": bytes}`, `{"twice": words}`, `{"wait": true}` (until it is cancelled; with a text instead of `true`, it
//! still answers with that text), `{"hold": n}` (until n calls are held, which are then answered in reverse order), `{"elicit": params}` and `{"sample": params}` (ask the
//! client in the older era, and answer with its reply as text), `{"die": code}`. Intermediate steps are `{"progress":
//! [done, of, message]}`, `{"log": {level, data, logger}}` (a log message; in the newer era only if the call wants some), `{"announce": {method, params}}` (a notification to each subscriber), `{"sleep": milliseconds}`, `{"until": path}` (until there is such a file), `{"raw": line}`, `{"tools": definitions}` (from now on),
//! `{"unlisten": true}` (ends the subscriptions to list changes), `{"ask": {requests, state, states, polite}}` (unless there are
//! answers, or one of these states comes back; if polite, only what the client can answer) and `{"task": [state, …]}` (the answers of `tasks/get`, in order).

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

mod context;
mod effects;
pub mod http;
mod steps;

/// Serves a script, given as JSON or as the path of a file, until the input ends.
///
/// # Errors
///
/// If the script cannot be read.
pub fn serve(script: &str) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let text = if script.trim_start().starts_with('{') {
        script.to_owned()
    } else {
        std::fs::read_to_string(script)?
    };
    let server = Arc::new(ScriptedMcpServer::new(serde_json::from_str(&text)?, None));
    server.log(&format!("start {}", std::process::id()));
    if let Some(code) = server.script["exit"].as_u64() {
        return Ok(ExitCode::from(u8::try_from(code)?));
    }
    for _ in 0..server.script["flood"].as_u64().unwrap_or(0) {
        writeln!(
            io::stderr(),
            "one of very many lines that nobody wants to read"
        )?;
    }
    for line in server.script["garbage"].as_array().into_iter().flatten() {
        server.raw(line.as_str().unwrap_or_default());
    }
    for line in io::stdin().lock().lines() {
        let line = line?;
        match serde_json::from_str(&line) {
            Ok(message) if server.script["hang"] != true => server.take(message),
            Ok(_) => {}
            Err(fault) => server.violated(&format!("a line is no JSON: {fault}")),
        }
    }
    server.log("end of input");
    if server.script["stays"] == true {
        loop {
            std::thread::park();
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct ScriptedMcpServer {
    changed: Condvar,
    /// Where its messages go, unless it is to standard output.
    front: Option<Arc<http::HttpFront>>,
    script: Value,
    state: Mutex<ScriptedMcpState>,
}

#[derive(Default)]
struct ScriptedMcpState {
    cancelled: HashSet<String>,
    held: Vec<(Value, Value)>,
    initialized: bool,
    listeners: Vec<Value>,
    open: HashSet<String>,
    /// The replies of the client, by the ids of our requests.
    replies: HashMap<String, Value>,
    tasks: HashMap<String, Vec<Value>>,
    tools: Vec<Value>,
}

impl ScriptedMcpServer {
    fn new(script: Value, front: Option<Arc<http::HttpFront>>) -> Self {
        let mut tools = script["tools"].as_array().cloned().unwrap_or_default();
        for nth in 0..script["many"].as_u64().unwrap_or(0) {
            tools.push(json!({
                "name": format!("tool_{nth:05}"),
                "description": "One of many.",
                "inputSchema": { "type": "object" },
            }));
        }
        Self {
            changed: Condvar::new(),
            front,
            script,
            state: Mutex::new(ScriptedMcpState {
                tools,
                ..ScriptedMcpState::default()
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, ScriptedMcpState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, message: Value) {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let id = message.get("id").cloned();
        self.log(&format!("said {method}"));
        let Some(id) = id else {
            return self.heed(&method, &message["params"]);
        };
        if method.is_empty() {
            let answer = message.get("error").or_else(|| message.get("result"));
            let kind = if message.get("error").is_some() {
                "refused"
            } else {
                "replied"
            };
            let answer = answer.unwrap_or(&Value::Null);
            self.log(&format!("{kind} {id} {answer}"));
            self.state().replies.insert(id.to_string(), answer.clone());
            self.changed.notify_all();
            return;
        }
        if !self.state().open.insert(id.to_string()) {
            self.violated(&format!("the id {id} is used twice"));
        }
        let params = message["params"].clone();
        match method.as_str() {
            "initialize" => self.initialize(&id, &params),
            "server/discover" => self.discover(&id, &params),
            _ => {
                if let Err((code, reason)) = self.may_ask(&params) {
                    self.violated(reason);
                    return self.refuse(&id, code, reason);
                }
                self.ask(&method, id, params);
            }
        }
    }

    fn ask(self: &Arc<Self>, method: &str, id: Value, params: Value) {
        match method {
            "logging/setLevel" if self.script["logging"] == true => {
                self.log(&format!("level {}", params["level"]));
                self.answer(&id, Map::new());
            }
            "ping" => self.answer(&id, Map::new()),
            "resources/subscribe" | "resources/unsubscribe" if self.script["subscribe"] == true => {
                self.log(&format!("{method} {}", params["uri"]));
                if self.script["no_subscriptions"] == true {
                    return self.refuse(&id, -32602, "no such resource");
                }
                self.answer(&id, Map::new());
            }
            "subscriptions/listen" if self.script["deaf"] != true => self.listen(id, &params),
            "tasks/cancel" => {
                self.log(&format!("cancelled task {}", params["taskId"]));
                self.answer(&id, Map::new());
            }
            "tasks/get" => self.task(&id, &params),
            "tasks/list" | "tasks/result" => self.refuse(&id, -32601, "no such method"),
            "tasks/update" => {
                let answers = &params["inputResponses"];
                self.log(&format!("updated task {} {answers}", params["taskId"]));
                self.answer(&id, Map::new());
            }
            "tools/call" => {
                let server = Arc::clone(self);
                std::thread::spawn(move || server.call(&id, &params));
            }
            "tools/list" if self.script["no_tools"] != true => self.list(&id, &params),
            method if self.context(method, &id, &params) => {}
            _ => self.refuse(&id, -32601, "no such method"),
        }
    }

    fn heed(&self, method: &str, params: &Value) {
        match method {
            "notifications/cancelled" => {
                let id = params["requestId"].to_string();
                if !self.state().open.contains(&id) {
                    self.violated(&format!("nothing of the id {id} can be cancelled"));
                }
                self.state().cancelled.insert(id);
                self.changed.notify_all();
            }
            "notifications/initialized" => self.state().initialized = true,
            _ => {}
        }
    }

    fn speaks(&self, era: &str) -> bool {
        let spoken = self.script["era"].as_str().unwrap_or("both");
        spoken == era || spoken == "both"
    }

    fn info(&self) -> Value {
        let mut info = json!({ "name": "scripted-mcp", "version": "1.0" });
        if let Some(icons) = self.script.get("icons") {
            info["icons"] = icons.clone();
        }
        info
    }

    fn initialize(&self, id: &Value, params: &Value) {
        for field in ["capabilities", "clientInfo", "protocolVersion"] {
            if params[field].is_null() {
                self.violated(&format!("initialize has no {field}"));
            }
        }
        self.log(&format!("capable of {}", params["capabilities"]));
        if !self.speaks("legacy") {
            return self.refuse(id, -32601, "only 2026-07-28 is spoken here");
        }
        let version = self.script["version"].as_str().unwrap_or("2025-11-25");
        let mut result = self.about();
        result.insert("protocolVersion".to_owned(), version.into());
        result.insert("serverInfo".to_owned(), self.info());
        self.answer(id, result);
    }

    fn discover(&self, id: &Value, params: &Value) {
        if self.speaks("modern") {
            if let Err(reason) = has_meta(params) {
                self.violated(reason);
                return self.refuse(id, -32602, reason);
            }
            let mut result = self.about();
            result.insert("supportedVersions".to_owned(), json!([MODERN]));
            result.insert("ttlMs".to_owned(), json!(0));
            result.insert("cacheScope".to_owned(), json!("private"));
            return self.answer(id, result);
        }
        match self.script["probe"].as_str() {
            Some("die") => std::process::exit(1),
            Some("silent") => {}
            _ => self.refuse(id, -32601, "no such method"),
        }
    }

    /// The description of the server in both eras.
    fn about(&self) -> Map<String, Value> {
        let changes = self.script["list_changed"] == true;
        let mut about = Map::new();
        let mut capabilities = json!({ "tools": { "listChanged": changes } });
        if self.script["no_tools"] == true {
            capabilities = json!({});
        }
        if self.script["logging"] == true {
            capabilities["logging"] = json!({});
        }
        self.add_context_capabilities(&mut capabilities);
        about.insert("capabilities".to_owned(), capabilities);
        if let Some(text) = self.script["instructions"].as_str() {
            about.insert("instructions".to_owned(), text.into());
        }
        about
    }

    /// Checks that a request of the newer era identifies its client, and that one of the older era comes after the
    /// handshake.
    fn may_ask(&self, params: &Value) -> Result<(), (i64, &'static str)> {
        if self.speaks("modern") && has_meta(params).is_ok() {
            return Ok(());
        }
        if self.speaks("legacy") && self.state().initialized {
            return Ok(());
        }
        Err((-32602, "it is not said who asks"))
    }

    fn list(&self, id: &Value, params: &Value) {
        let tools = self.state().tools.clone();
        let page = self.script["page"].as_u64().unwrap_or(u64::MAX);
        let page = usize::try_from(page).unwrap_or(usize::MAX);
        let from = params["cursor"].as_str().unwrap_or("0");
        let Ok(from) = from.parse::<usize>() else {
            return self.refuse(id, -32602, "no such cursor");
        };
        let to = from.saturating_add(page).min(tools.len());
        let mut result = Map::new();
        let shown = tools.get(from..to).unwrap_or_default();
        result.insert("tools".to_owned(), shown.into());
        if self.script["loop_cursor"] == true {
            result.insert("nextCursor".to_owned(), json!("0"));
        } else if to < tools.len() {
            result.insert("nextCursor".to_owned(), json!(to.to_string()));
        }
        result.insert("ttlMs".to_owned(), json!(0));
        result.insert("cacheScope".to_owned(), json!("private"));
        self.answer(id, result);
    }

    fn listen(&self, id: Value, params: &Value) {
        let mut wanted = params["notifications"].clone();
        if self.script["no_subscriptions"] == true
            && let Some(wanted) = wanted.as_object_mut()
        {
            wanted.remove("resourceSubscriptions");
        }
        self.state().listeners.push(id.clone());
        self.notify_one(
            "notifications/subscriptions/acknowledged",
            json!({ "notifications": wanted, "_meta": { SUBSCRIPTION: id } }),
        );
        self.log("listens");
    }

    /// Sends a notification in the form of each era.
    fn announce(&self, method: &str, params: &Value) {
        let listeners = self.state().listeners.clone();
        if self.state().initialized {
            self.notify_one(method, params.clone());
        }
        for id in listeners {
            let mut params = params.clone();
            params["_meta"] = json!({ SUBSCRIPTION: id });
            self.notify_one(method, params);
        }
    }

    /// Announces a list change, in the form of each era.
    fn tools_changed(&self) {
        if self.script["list_changed"] != true {
            return;
        }
        self.announce("notifications/tools/list_changed", &json!({}));
    }

    fn task(&self, id: &Value, params: &Value) {
        let task = params["taskId"].as_str().unwrap_or_default().to_owned();
        let mut state = self.state();
        let Some(states) = state.tasks.get_mut(&task) else {
            drop(state);
            return self.refuse(id, -32602, "no such task");
        };
        let now = if states.len() > 1 {
            states.remove(0)
        } else {
            states.first().cloned().unwrap_or_default()
        };
        drop(state);
        let mut result = now.as_object().cloned().unwrap_or_default();
        result.insert("taskId".to_owned(), task.into());
        result.extend(task_times());
        self.answer(id, result);
    }

    fn notify_one(&self, method: &str, params: Value) {
        self.say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn refuse(&self, id: &Value, code: i64, message: &str) {
        self.refuse_with(id, &json!({ "code": code, "message": message }));
    }

    fn refuse_with(&self, id: &Value, error: &Value) {
        self.state().open.remove(&id.to_string());
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    fn answer(&self, id: &Value, mut result: Map<String, Value>) {
        self.state().open.remove(&id.to_string());
        if self.speaks("modern") {
            let kind = json!("complete");
            result.entry("resultType").or_insert(kind);
            let about = json!({ "io.modelcontextprotocol/serverInfo": self.info() });
            result.entry("_meta").or_insert(about);
        }
        let message = if self.script["id_last"] == true {
            json!({ "result": result, "jsonrpc": "2.0", "id": id })
        } else {
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        };
        self.say(&message);
    }

    fn say(&self, message: &Value) {
        self.raw(&message.to_string());
    }

    fn raw(&self, line: &str) {
        if let Some(front) = &self.front {
            return front.carry(line);
        }
        let mut output = io::stdout().lock();
        let said = writeln!(output, "{line}").and_then(|()| output.flush());
        if said.is_err() {
            self.log("nobody listens");
        }
    }

    fn violated(&self, rule: &str) {
        self.log(&format!("violation: {rule}"));
    }

    fn log(&self, line: &str) {
        let Some(path) = self.script["log"].as_str() else {
            return;
        };
        let mut open = std::fs::OpenOptions::new();
        if let Ok(mut file) = open.append(true).create(true).open(path) {
            let _full = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

fn has_meta(params: &Value) -> Result<(), &'static str> {
    let meta = &params["_meta"];
    if meta["io.modelcontextprotocol/protocolVersion"] != MODERN {
        return Err("the version is not in _meta");
    }
    if !meta["io.modelcontextprotocol/clientCapabilities"].is_object() {
        return Err("the client's capabilities are not in _meta");
    }
    Ok(())
}

fn task_times() -> Map<String, Value> {
    let mut times = Map::new();
    for field in ["createdAt", "lastUpdatedAt"] {
        times.insert(field.to_owned(), json!("2026-11-22T00:00:00Z"));
    }
    times.insert("ttlMs".to_owned(), Value::Null);
    times
}

/// The field of a request's `_meta` that names the call it belongs to.
const DURING: &str = "scripted/during";
const MODERN: &str = "2026-07-28";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

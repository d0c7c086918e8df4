//! The steps of a scripted tool's call.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{DURING, ScriptedMcpServer, task_times};

impl ScriptedMcpServer {
    /// Runs the steps of this tool.
    pub(super) fn call(&self, id: &Value, params: &Value) {
        let name = params["name"].as_str().unwrap_or_default();
        let known = |tool: &Value| tool["name"] == name;
        if !self.state().tools.iter().any(known) {
            return self.refuse(id, -32602, &format!("Unknown tool: {name}"));
        }
        self.log(&format!("call {name}"));
        self.record(name, params);
        let steps = &self.script["calls"][name];
        let steps = steps.as_array().cloned().unwrap_or_default();
        for step in &steps {
            let step = step.as_object();
            for (what, with) in step.into_iter().flatten() {
                if self.step(id, params, what, with) {
                    self.log(&format!("done {name}"));
                    return;
                }
            }
        }
        self.answer(id, words("done"));
        self.log(&format!("done {name}"));
    }

    /// One step; `true` if it was the last.
    fn step(&self, id: &Value, params: &Value, what: &str, with: &Value) -> bool {
        match what {
            "announce" => {
                let method = with["method"].as_str().unwrap_or_default();
                self.announce(method, &with["params"]);
                return false;
            }
            "ask" => {
                let state = &params["requestState"];
                let is_answered = match with["states"].as_array() {
                    Some(states) => states.contains(state),
                    None => !params["inputResponses"].is_null() || !state.is_null(),
                };
                if is_answered {
                    self.log(&format!("answers {}", params["inputResponses"]));
                    return false;
                }
                let mut asked = Map::new();
                asked.insert("resultType".to_owned(), json!("input_required"));
                let mut requests = with["requests"].clone();
                if let (true, Some(requests)) = (with["polite"] == true, requests.as_object_mut()) {
                    requests.retain(|_, request| is_capable(params, request));
                }
                asked.insert("inputRequests".to_owned(), requests);
                asked.insert("requestState".to_owned(), with["state"].clone());
                asked.retain(|_, value| !value.is_null());
                self.answer(id, asked);
            }
            "die" => {
                if let Some(front) = &self.front {
                    // What a crash looks like over HTTP: every connection is gone.
                    front.break_off();
                    return true;
                }
                let code = with.as_i64().and_then(|code| i32::try_from(code).ok());
                std::process::exit(code.unwrap_or(1));
            }
            "echo" => {
                let said = json!({ "arguments": params["arguments"], "meta": params["_meta"] });
                let mut result = words(&said.to_string());
                result.insert("structuredContent".to_owned(), said);
                self.answer(id, result);
            }
            "elicit" => {
                let reply = self.ask_client(id, "elicitation/create", with);
                self.answer(id, words(&reply.to_string()));
            }
            "environment" => {
                let names = std::env::vars_os().map(|(name, _)| name);
                let names: Vec<_> = names.map(|n| n.to_string_lossy().into_owned()).collect();
                self.answer(id, words(&names.join(" ")));
            }
            "error" => {
                if with["unless"]
                    .as_str()
                    .is_some_and(|path| Path::new(path).exists())
                {
                    return false;
                }
                let mut error = json!({
                    "code": with["code"].as_i64().unwrap_or(-32603),
                    "message": with["message"].as_str().unwrap_or_default(),
                });
                if !with["data"].is_null() {
                    error["data"] = with["data"].clone();
                }
                self.refuse_with(id, &error);
            }
            "hold" => self.hold(id, params, with),
            "log" => {
                // In the newer era a request says whether it wants log messages.
                let wanted = &params["_meta"]["io.modelcontextprotocol/logLevel"];
                if self.state().initialized || !wanted.is_null() {
                    self.log(&format!("logs for {wanted}"));
                    let mut message = with.clone();
                    message["_meta"] = json!({ DURING: id });
                    self.notify_one("notifications/message", message);
                }
                return false;
            }
            "progress" => {
                let mut progress = json!({
                    "progressToken": params["_meta"]["progressToken"],
                    "progress": with[0],
                });
                if !with[1].is_null() {
                    progress["total"] = with[1].clone();
                }
                if !with[2].is_null() {
                    progress["message"] = with[2].clone();
                }
                self.notify_one("notifications/progress", progress);
                return false;
            }
            "raw" => {
                self.raw(with.as_str().unwrap_or_default());
                return false;
            }
            "reply" => self.answer(id, with.as_object().cloned().unwrap_or_default()),
            "sample" => {
                let reply = self.ask_client(id, "sampling/createMessage", with);
                self.answer(id, words(&reply.to_string()));
            }
            "size" => {
                let size = with.as_u64().and_then(|size| usize::try_from(size).ok());
                self.answer(id, words(&"x".repeat(size.unwrap_or(0))));
            }
            "sleep" => {
                std::thread::sleep(Duration::from_millis(with.as_u64().unwrap_or(0)));
                return false;
            }
            "task" => {
                let task = format!("task-{id}");
                let states = with.as_array().cloned().unwrap_or_default();
                self.state().tasks.insert(task.clone(), states);
                let mut begun = task_times();
                begun.insert("taskId".to_owned(), task.into());
                begun.insert("status".to_owned(), json!("working"));
                let mut result = Map::new();
                result.insert("resultType".to_owned(), json!("task"));
                result.insert("task".to_owned(), begun.into());
                self.answer(id, result);
            }
            "text" => self.answer(id, words(with.as_str().unwrap_or_default())),
            "tools" => {
                self.state().tools = with.as_array().cloned().unwrap_or_default();
                self.tools_changed();
                return false;
            }
            "twice" => {
                for _ in 0..2 {
                    self.answer(id, words(with.as_str().unwrap_or_default()));
                }
            }
            "unlisten" => {
                let listeners = std::mem::take(&mut self.state().listeners);
                for id in listeners {
                    self.notify_one("notifications/cancelled", json!({ "requestId": id }));
                }
                return false;
            }
            "until" => {
                wait_for_file(with.as_str().unwrap_or_default());
                return false;
            }
            "wait" => {
                self.wait(id, params);
                // It ignores the cancellation, and still answers.
                if let Some(text) = with.as_str() {
                    self.answer(id, words(text));
                }
            }
            unknown => self.violated(&format!("the script has a step `{unknown}`")),
        }
        true
    }

    /// Asks the client during a call, and waits for its reply.
    fn ask_client(&self, during: &Value, method: &str, params: &Value) -> Value {
        let id = json!(format!("ask-{during}"));
        let mut params = params.clone();
        params["_meta"] = json!({ DURING: during });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.raw(&request.to_string());
        let mut state = self.state();
        loop {
            if let Some(reply) = state.replies.remove(&id.to_string()) {
                return reply;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Waits until the call is cancelled.
    fn wait(&self, id: &Value, params: &Value) {
        let id = id.to_string();
        let mut state = self.state();
        while !state.cancelled.contains(&id) {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        state.open.remove(&id);
        drop(state);
        self.log(&format!("cancelled {}", params["name"]));
    }

    /// Holds the call until this many are held, and then answers them in reverse order.
    fn hold(&self, id: &Value, params: &Value, most: &Value) {
        let answer = json!(words(&params["arguments"]["nth"].to_string()));
        let mut state = self.state();
        state.held.push((id.clone(), answer));
        let full = most
            .as_u64()
            .is_some_and(|most| state.held.len() as u64 >= most);
        let held = if full {
            std::mem::take(&mut state.held)
        } else {
            Vec::new()
        };
        drop(state);
        for (id, answer) in held.into_iter().rev() {
            self.answer(&id, answer.as_object().cloned().unwrap_or_default());
        }
    }
}

pub(super) fn wait_for_file(path: &str) {
    while !Path::new(path).exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the client of this call has declared that it takes this request.
fn is_capable(params: &Value, request: &Value) -> bool {
    let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    let method = request["method"].as_str().unwrap_or_default();
    let needed = method.split('/').next().unwrap_or_default();
    !capabilities[needed].is_null()
}

/// A result of plain text.
fn words(text: &str) -> Map<String, Value> {
    let mut result = Map::new();
    let content = json!([{ "type": "text", "text": text }]);
    result.insert("content".to_owned(), content);
    result
}

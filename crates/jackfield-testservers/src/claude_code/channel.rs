//! The pipes: one JSON object per line, in the order of the protocol.

use std::io::{BufRead as _, Read as _, Write as _};

use serde_json::{Value, json};

use super::{Fault, text, version};

#[derive(Debug, Default)]
pub(super) struct Channel {
    /// A message that came before it was expected.
    early: Option<Value>,
    next_request: u32,
    next_rpc: u32,
}

impl Channel {
    pub(super) fn open() -> Self {
        Self::default()
    }

    /// The first line; returns the system prompt.
    pub(super) fn initialize(&mut self, mode: &str) -> Result<String, Fault> {
        let line = self.read()?;
        let request = line.get("request").unwrap_or(&Value::Null);
        if text(&line, "type") != "control_request" || text(request, "subtype") != "initialize" {
            return Err("the first line is not `initialize`".to_owned());
        }
        if request.get("systemPromptSnapshot") != Some(&json!(false)) {
            return Err("a resumed session would keep its old system prompt".to_owned());
        }
        let system = match request.get("systemPrompt") {
            Some(Value::Array(parts)) => parts
                .iter()
                .map(|part| {
                    part.as_str()
                        .ok_or("a part of the system prompt is no text")
                })
                .collect::<Result<Vec<_>, _>>()?
                .join("\n\n"),
            Some(_) => return Err("the system prompt is no list".to_owned()),
            None => text(request, "appendSystemPrompt").to_owned(),
        };
        let id = line.get("request_id");
        let source = if mode == "logged-out" {
            "none"
        } else {
            "claude.ai"
        };
        let response = json!({
            "models": [
                { "value": "sonnet", "displayName": "Sonnet" },
                { "value": "opus", "displayName": "Opus" },
            ],
            "account": { "tokenSource": source, "apiProvider": "firstParty" },
            "claude_code_version": version(mode),
        });
        let response = json!({ "subtype": "success", "request_id": id, "response": response });
        self.write(&json!({ "type": "control_response", "response": response }));
        Ok(system)
    }

    /// The handshake of MCP; returns the tools.
    pub(super) fn handshake(&mut self) -> Result<Vec<Value>, Fault> {
        let client = json!({ "name": "claude-code", "version": "2.1.332" });
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client,
        });
        let result = self.rpc("initialize", params)?;
        if text(&result, "protocolVersion") != "2025-11-25" || result.get("serverInfo").is_none() {
            return Err(format!("this is no result of `initialize`: {result}"));
        }
        let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.mcp(&notification)?;
        let result = self.rpc("tools/list", json!({}))?;
        let tools = result.get("tools").and_then(Value::as_array);
        let tools = tools.ok_or("there is no list of tools")?.clone();
        for tool in &tools {
            if text(tool, "name").is_empty() || tool.get("inputSchema").is_none() {
                return Err(format!("this is no tool: {tool}"));
            }
        }
        Ok(tools)
    }

    /// The message of the user.
    pub(super) fn user(&mut self) -> Result<Vec<Value>, Fault> {
        let line = match self.early.take() {
            Some(line) => line,
            None => self.read()?,
        };
        let message = line.get("message").unwrap_or(&Value::Null);
        if text(&line, "type") != "user" || text(message, "role") != "user" {
            return Err(format!("this is no message of a user: {line}"));
        }
        let blocks = message.get("content").and_then(Value::as_array);
        let blocks = blocks.ok_or("a message has no blocks")?.clone();
        // The real program reads commands and names of files there.
        let last = blocks.last().map(|block| text(block, "text"));
        match last {
            Some("(End of the message.)" | "Go on.") => Ok(blocks),
            _ => Err(format!("a text of a user is the last one: {last:?}")),
        }
    }

    /// Sends a request of MCP, and waits for its result.
    pub(super) fn rpc(&mut self, method: &str, params: Value) -> Result<Value, Fault> {
        let id = self.next_rpc;
        self.next_rpc += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.mcp(&message)?;
        if response.get("id") != Some(&json!(id)) {
            return Err(format!("this answers another request: {response}"));
        }
        let result = response.get("result").cloned();
        result.ok_or_else(|| format!("`{method}` failed: {response}"))
    }

    fn mcp(&mut self, message: &Value) -> Result<Value, Fault> {
        let request = json!({
            "subtype": "mcp_message", "server_name": "gateway", "message": message,
        });
        let response = self.control(&request)?;
        let response = response.get("mcp_response").cloned();
        response.ok_or_else(|| "an answer has no `mcp_response`".to_owned())
    }

    /// Sends a control request, and waits for its answer.
    pub(super) fn control(&mut self, request: &Value) -> Result<Value, Fault> {
        self.next_request += 1;
        let id = format!("request-{}", self.next_request);
        self.write(&json!({ "type": "control_request", "request_id": id, "request": request }));
        loop {
            let line = self.read()?;
            if text(&line, "type") == "user" && self.early.is_none() {
                self.early = Some(line);
                continue;
            }
            let response = line.get("response").unwrap_or(&Value::Null);
            if text(&line, "type") != "control_response" || text(response, "request_id") != id {
                return Err(format!("this does not answer {id}: {line}"));
            }
            return match text(response, "subtype") {
                "success" => Ok(response.get("response").cloned().unwrap_or_default()),
                "error" => Err(text(response, "error").to_owned()),
                other => Err(format!("there is no answer `{other}`")),
            };
        }
    }

    pub(super) fn write(&mut self, line: &Value) {
        self.write_raw(&line.to_string());
    }

    pub(super) fn write_raw(&mut self, line: &str) {
        let mut output = std::io::stdout().lock();
        let written = writeln!(output, "{line}").and_then(|()| output.flush());
        if written.is_err() {
            // The client is gone.
            std::process::exit(0);
        }
    }

    /// The next line. At the end of the input the program ends, as the real one does.
    fn read(&mut self) -> Result<Value, Fault> {
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(1..) => {
                serde_json::from_str(&line).map_err(|error| format!("this is no JSON: {error}"))
            }
            Ok(0) | Err(_) => std::process::exit(0),
        }
    }

    pub(super) fn read_to_end(&mut self) {
        let mut rest = Vec::new();
        let _ended = std::io::stdin().lock().read_to_end(&mut rest);
    }
}

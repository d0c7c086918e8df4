//! A turn: replies of the model and calls of tools, until there is an answer.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::{Command, ExitCode};

use serde_json::{Map, Value, json};

use super::api::{Answer, ask};
use super::arguments::Arguments;
use super::channel::Channel;
use super::sessions::{self, Entry};
use super::{Fault, text, version};

/// A turn, with all that it begins with.
pub(super) struct Turn {
    pub(super) arguments: Arguments,
    pub(super) channel: Channel,
    pub(super) mode: String,
    pub(super) system: String,
    pub(super) tools: Vec<Value>,
}

/// The tokens of a turn.
#[derive(Default)]
struct Tokens {
    input: u64,
    output: u64,
}

impl Turn {
    /// Runs to the result, and until the input ends.
    pub(super) fn run(mut self, content: Vec<Value>) -> Result<ExitCode, Fault> {
        let mut entries = Vec::new();
        if let (Some(session), Some(at)) = (&self.arguments.resume, &self.arguments.resume_at) {
            match sessions::load(session, at) {
                Ok(loaded) => entries = loaded,
                Err(missing) => {
                    let errors = [missing];
                    let end = json!({ "subtype": "error_during_execution", "errors": errors });
                    return Ok(self.end(true, &end, &Tokens::default()));
                }
            }
        }
        let version = version(&self.mode);
        let session = self.arguments.session.clone();
        let names: Vec<String> = self.tools.iter().map(full_name).collect();
        self.channel.write(&json!({
            "type": "system", "subtype": "init", "session_id": session, "tools": names,
            "mcp_servers": [{ "name": "gateway", "status": "connected", "source": "sdk" }],
            "model": self.arguments.model, "claude_code_version": version,
        }));
        if self.mode == "odd-question" {
            let odd = json!({ "subtype": "request_user_dialog", "dialog_kind": "odd" });
            if self.channel.control(&odd).is_ok() {
                return Err("an unknown request was answered".to_owned());
            }
        }
        if self.mode == "logged-out" {
            return Ok(self.fail(
                "authentication_failed",
                None,
                "Not logged in · Please run /login",
            ));
        }
        let id = format!("{session}-user");
        let message = json!({ "role": "user", "content": content });
        entries.push(Entry { id, message });
        let mut tokens = Tokens::default();
        for nth in 0..self.arguments.max_turns {
            let (blocks, reason) = match self.reply(nth, &mut entries, &mut tokens)? {
                Ok(reply) => reply,
                Err(code) => return Ok(code),
            };
            if reason != "tool_use" {
                let texts = blocks.iter().map(|block| text(block, "text"));
                let result: String = texts.collect();
                let end = json!({ "subtype": "success", "result": result });
                return Ok(self.end(false, &end, &tokens));
            }
            let answer = blocks.iter().find(|block| text(block, "name") == ANSWER);
            if let (Some(answer), Some(_)) = (answer, &self.arguments.schema) {
                let end = json!({
                    "subtype": "success", "result": "", "structured_output": answer["input"],
                });
                return Ok(self.end(false, &end, &tokens));
            }
            let mut results = Vec::new();
            for block in blocks
                .iter()
                .filter(|block| text(block, "type") == "tool_use")
            {
                results.push(self.call(block)?);
            }
            let id = format!("{session}-results-{nth}");
            let message = json!({ "role": "user", "content": results });
            entries.push(Entry { id, message });
            self.store(&entries);
        }
        let end = json!({ "subtype": "error_max_turns" });
        Ok(self.end(true, &end, &tokens))
    }

    /// One reply of the model: its blocks and its stop reason, or the end of the program.
    fn reply(
        &mut self,
        nth: usize,
        entries: &mut Vec<Entry>,
        tokens: &mut Tokens,
    ) -> Result<Result<(Vec<Value>, String), ExitCode>, Fault> {
        let messages: Vec<&Value> = entries.iter().map(|entry| &entry.message).collect();
        let mut tools: Vec<Value> = self.tools.iter().map(api_tool).collect();
        if let Some(schema) = &self.arguments.schema {
            tools.push(json!({
                "name": ANSWER, "description": "Gives the answer.", "input_schema": schema,
            }));
        }
        let mut body = json!({
            "model": self.arguments.model, "max_tokens": max_tokens(), "stream": true,
            "messages": messages, "tools": tools,
        });
        if let Some(effort) = &self.arguments.effort {
            body["output_config"] = json!({ "effort": effort });
        }
        if !self.system.is_empty() {
            body["system"] = json!([{ "type": "text", "text": self.system }]);
        }
        let mut events = match ask(&body) {
            Ok(Answer::Events(events)) => events,
            Ok(Answer::Failed(status, message)) => {
                let kind = match status {
                    401 => "authentication_failed",
                    404 => "model_not_found",
                    429 => "rate_limit",
                    529 => "overloaded",
                    500.. => "server_error",
                    _ => "unknown",
                };
                let message = format!("API Error: {status} {message}");
                return Ok(Err(self.fail(kind, Some(status), &message)));
            }
            Err(_) => {
                let message = "API Error: Connection refused (ECONNREFUSED)";
                return Ok(Err(self.fail("unknown", None, message)));
            }
        };
        let mut blocks: Vec<Value> = Vec::new();
        let mut inputs: Vec<String> = Vec::new();
        let mut reason = String::new();
        let mut is_complete = false;
        let mut output = 0;
        while !is_complete && let Some(event) = events.next() {
            let index = event
                .get("index")
                .and_then(Value::as_u64)
                .unwrap_or_default();
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            match text(&event, "type") {
                "message_start" => {
                    let used = event.pointer("/message/usage/input_tokens");
                    tokens.input += used.and_then(Value::as_u64).unwrap_or_default();
                }
                "content_block_start" => {
                    blocks.push(event.get("content_block").cloned().unwrap_or_default());
                    inputs.push(String::new());
                }
                "content_block_delta" => {
                    let delta = event.get("delta").cloned().unwrap_or_default();
                    if let (Some(block), Some(input)) =
                        (blocks.get_mut(index), inputs.get_mut(index))
                    {
                        input.push_str(text(&delta, "partial_json"));
                        for key in ["text", "thinking", "signature"] {
                            let more = text(&delta, key);
                            if !more.is_empty() {
                                block[key] = json!(format!("{}{more}", text(block, key)));
                            }
                        }
                    }
                }
                "content_block_stop" => {
                    if let (Some(block), Some(input)) = (blocks.get_mut(index), inputs.get(index))
                        && text(block, "type") == "tool_use"
                    {
                        let input = if input.is_empty() { "{}" } else { input };
                        block["input"] = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
                    }
                    // As the real program, before the event.
                    let content = blocks.get(index).cloned().unwrap_or_default();
                    let id = format!("{}-{nth}-{index}", self.arguments.session);
                    self.assistant(&id, &content);
                }
                "message_delta" => {
                    reason = text(&event["delta"], "stop_reason").to_owned();
                    // Each count is the total so far.
                    let used = event.pointer("/usage/output_tokens");
                    output = used.and_then(Value::as_u64).unwrap_or(output);
                }
                "message_stop" => {
                    is_complete = true;
                    // Before the client knows of the end, so that a killed program has it.
                    let last = blocks.len().saturating_sub(1);
                    let id = format!("{}-{nth}-{last}", self.arguments.session);
                    let message = json!({ "role": "assistant", "content": blocks });
                    entries.push(Entry { id, message });
                    self.store(entries);
                }
                "error" => {
                    let kind = match text(&event["error"], "type") {
                        "authentication_error" => "authentication_failed",
                        "invalid_request_error" => "invalid_request",
                        "not_found_error" => "model_not_found",
                        "overloaded_error" => "overloaded",
                        "rate_limit_error" => "rate_limit",
                        "permission_error" => "account_on_hold",
                        _ => "server_error",
                    };
                    let message = format!("API Error: {}", text(&event["error"], "message"));
                    return Ok(Err(self.fail(kind, None, &message)));
                }
                _ => {}
            }
            let is_text = text(&event, "type") == "content_block_delta";
            self.channel.write(&json!({
                "type": "stream_event", "event": event, "parent_tool_use_id": null,
                "session_id": self.arguments.session,
            }));
            if self.mode == "dies-before-its-child" && is_text {
                let child = Command::new("cat").spawn();
                drop(child.map_err(|error| error.to_string())?);
                std::process::exit(3);
            }
            if self.mode == "dies-mid-reply" && is_text {
                std::process::exit(3);
            }
        }
        tokens.output += output;
        if !is_complete {
            let message = "API Error: the connection was closed in the middle of a reply";
            return Ok(Err(self.fail("unknown", None, message)));
        }
        Ok(Ok((blocks, reason)))
    }

    fn assistant(&mut self, id: &str, content: &Value) {
        self.channel.write(&json!({
            "type": "assistant", "uuid": id, "parent_tool_use_id": null,
            "session_id": self.arguments.session,
            "message": { "role": "assistant", "content": [content], "stop_reason": null },
        }));
    }

    /// Calls a tool, and returns the block of its result.
    fn call(&mut self, block: &Value) -> Result<Value, Fault> {
        let name = text(block, "name");
        let id = text(block, "id").to_owned();
        if self.mode.starts_with("asks-permission") && !name.starts_with("mcp__") {
            let question = json!({
                "subtype": "can_use_tool", "tool_name": name, "input": block["input"],
                "tool_use_id": id, "permission_suggestions": [],
            });
            let answer = self.channel.control(&question)?;
            return match (text(&answer, "behavior"), answer.get("updatedInput")) {
                ("allow", Some(input @ Value::Object(_))) => {
                    note_run(name, input);
                    if self.mode == "asks-permission-and-dies" {
                        std::process::exit(3);
                    }
                    Ok(self.result(&id, &json!(format!("{name} ran with {input}")), false))
                }
                ("deny", _) if !text(&answer, "message").is_empty() => {
                    Ok(self.result(&id, &json!(text(&answer, "message")), true))
                }
                _ => Err(format!(
                    "`{name}` was neither allowed nor denied with a reason: {answer}"
                )),
            };
        }
        let Some(own) = name.strip_prefix("mcp__gateway__") else {
            let content =
                format!("<tool_use_error>Error: No such tool available: {name}</tool_use_error>");
            return Ok(self.result(&id, &json!(content), true));
        };
        if self.mode == "dies-waiting" {
            let mut params = Map::new();
            params.insert("name".to_owned(), json!(own));
            let request = json!({
                "subtype": "mcp_message", "server_name": "gateway",
                "message": { "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params },
            });
            let line =
                json!({ "type": "control_request", "request_id": "last", "request": request });
            self.channel.write(&line);
            std::process::exit(3);
        }
        let meta = json!({ "claudecode/toolUseId": id });
        let params = json!({ "name": own, "arguments": block["input"], "_meta": meta });
        let result = self.channel.rpc("tools/call", params)?;
        let parts = result.get("content").and_then(Value::as_array);
        let parts = parts.ok_or("a result has no content")?;
        let content = parts.iter().map(|part| match text(part, "type") {
            "image" => Ok(json!({
                "type": "image",
                "source": {
                    "type": "base64", "media_type": part.get("mimeType"), "data": part.get("data"),
                },
            })),
            "text" => Ok(part.clone()),
            other => Err(format!("a result has a part of the type `{other}`")),
        });
        let content = content.collect::<Result<Vec<Value>, Fault>>()?;
        let is_error = result.get("isError") == Some(&json!(true));
        Ok(self.result(&id, &json!(content), is_error))
    }

    /// The block of a result, which the client sees, too.
    fn result(&mut self, id: &str, content: &Value, is_error: bool) -> Value {
        let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
        if is_error {
            block["is_error"] = json!(true);
        }
        self.channel.write(&json!({
            "type": "user", "message": { "role": "user", "content": [block] },
            "parent_tool_use_id": null, "session_id": self.arguments.session,
        }));
        block
    }

    /// Ends with a failure of the API, in the real program's form: a success that is an error.
    fn fail(&mut self, kind: &str, status: Option<u16>, words: &str) -> ExitCode {
        self.channel.write(&json!({
            "type": "assistant", "error": kind, "uuid": "synthetic", "parent_tool_use_id": null,
            "message": {
                "model": "<synthetic>", "role": "assistant",
                "content": [{ "type": "text", "text": words }],
            },
        }));
        let end = json!({ "subtype": "success", "result": words, "api_error_status": status });
        self.end(true, &end, &Tokens::default())
    }

    /// Writes the result, and waits for the end of the input.
    fn end(&mut self, is_error: bool, end: &Value, tokens: &Tokens) -> ExitCode {
        let mut line = json!({
            "type": "result", "is_error": is_error, "session_id": self.arguments.session,
            "total_cost_usd": 0.001,
            "usage": { "input_tokens": tokens.input, "output_tokens": tokens.output },
        });
        for (key, value) in end.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        self.channel.write(&line);
        self.channel.read_to_end();
        if is_error {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }

    fn store(&self, entries: &[Entry]) {
        if self.mode != "forgets" && self.arguments.keeps {
            sessions::store(&self.arguments.session, entries);
        }
    }
}

/// Writes the run of a tool of its own into the file of this variable, for tests that count runs.
fn note_run(name: &str, input: &Value) {
    let Ok(path) = std::env::var("SCRIPTED_CLAUDE_RAN") else {
        return;
    };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        let _full = writeln!(file, "{name} {input}");
    }
}

/// The tool for an answer with a schema.
const ANSWER: &str = "StructuredOutput";

fn max_tokens() -> u64 {
    let limit = std::env::var("CLAUDE_CODE_MAX_OUTPUT_TOKENS").ok();
    limit.and_then(|limit| limit.parse().ok()).unwrap_or(32_000)
}

fn full_name(tool: &Value) -> String {
    format!("mcp__gateway__{}", text(tool, "name"))
}

/// A tool in the form of the Messages API.
fn api_tool(tool: &Value) -> Value {
    json!({
        "name": full_name(tool), "description": text(tool, "description"),
        "input_schema": tool.get("inputSchema"),
    })
}

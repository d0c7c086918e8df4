//! A client of the gateway that sends again what it has no whole answer to.

use serde_json::{Value, json};

use crate::served::Asking;

/// What a client speaks, and how it says that it sends something again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Speaks {
    /// Chat Completions, whole, with an idempotency key.
    Chat,
    /// Messages, as events, counting its tries.
    Messages,
    /// Responses, as events, saying nothing: its connection broke.
    Responses,
}

impl Speaks {
    pub(crate) const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];

    const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }
}

/// A client, and what it has of its conversation.
pub(crate) struct Client {
    history: Vec<Value>,
    name: String,
    speaks: Speaks,
    /// How many requests have been answered.
    answered: usize,
    tries: u32,
}

/// What came of a request, as far as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// The client's calls: their ids.
    pub(crate) calls: Vec<String>,
    /// The id of the reply.
    pub(crate) id: Option<String>,
    /// The whole of what was said, in the form in which it is sent back.
    said: Vec<Value>,
    /// The calls of ours whose outcomes were shown.
    pub(crate) shown: Vec<String>,
    /// The status, and the body, if it is no answer.
    pub(crate) refused: Option<String>,
    pub(crate) text: String,
    pub(crate) whole: bool,
}

impl Client {
    pub(crate) fn new(speaks: Speaks) -> Self {
        Self::named("", speaks)
    }

    /// One of several, whose conversations are apart.
    pub(crate) fn named(name: &str, speaks: Speaks) -> Self {
        let question = format!("Pay the three bills.{name}");
        Self {
            history: vec![json!({ "role": "user", "content": question })],
            name: name.to_owned(),
            speaks,
            answered: 0,
            tries: 0,
        }
    }

    /// The next try at the request.
    pub(crate) fn request(&self) -> Asking {
        let request = Asking::post(self.speaks.path(), &self.body());
        let request = request.header("x-jackfield-tools", "all");
        match self.speaks {
            Speaks::Chat => {
                let key = format!("bills{}-{}", self.name, self.answered);
                request.header("idempotency-key", &key)
            }
            Speaks::Messages => request
                .header("x-stainless-retry-count", &self.tries.to_string())
                .header("anthropic-version", "2023-06-01"),
            Speaks::Responses => request,
        }
    }

    /// The body of the request, the same for each try.
    fn body(&self) -> Value {
        let model = "claude/claude-sonnet-5";
        let schema = json!({ "type": "object" });
        let about = "Stamps a bill.";
        match self.speaks {
            Speaks::Chat => json!({
                "model": model,
                "messages": self.history,
                "tools": [{ "type": "function", "function": {
                    "name": "stamp", "description": about, "parameters": schema,
                } }],
            }),
            Speaks::Messages => json!({
                "model": model,
                "max_tokens": 1000,
                "stream": true,
                "messages": self.history,
                "tools": [{ "name": "stamp", "description": about, "input_schema": schema }],
            }),
            Speaks::Responses => json!({
                "model": model,
                "stream": true,
                "input": self.history,
                "tools": [{
                    "type": "function", "name": "stamp", "description": about,
                    "parameters": schema, "strict": false,
                }],
            }),
        }
    }

    /// Understands an answer, as far as it came.
    pub(crate) fn heard(&mut self, bytes: &[u8]) -> Heard {
        self.tries += 1;
        let mut heard = Heard::default();
        let text = String::from_utf8_lossy(bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            return heard;
        };
        if head.split(' ').nth(1) != Some("200") {
            heard.refused = Some(text.into_owned());
            return heard;
        }
        match self.speaks {
            Speaks::Chat => chat(body, &mut heard),
            Speaks::Messages => events(body).for_each(|event| message(&event, &mut heard)),
            Speaks::Responses => events(body).for_each(|event| response(&event, &mut heard)),
        }
        heard
    }

    /// Takes an answer that is whole. Says whether there is something to bring in turn.
    pub(crate) fn takes(&mut self, heard: &Heard) -> bool {
        self.answered += 1;
        self.tries = 0;
        match self.speaks {
            Speaks::Chat => {
                self.history.extend(heard.said.iter().cloned());
                self.history.extend(
                    heard.calls.iter().map(
                        |id| json!({ "role": "tool", "tool_call_id": id, "content": "stamped" }),
                    ),
                );
            }
            Speaks::Messages => {
                self.history
                    .push(json!({ "role": "assistant", "content": heard.said }));
                let results = heard.calls.iter().map(
                    |id| json!({ "type": "tool_result", "tool_use_id": id, "content": "stamped" }),
                );
                let results: Vec<Value> = results.collect();
                self.history
                    .push(json!({ "role": "user", "content": results }));
            }
            Speaks::Responses => {
                self.history.extend(heard.said.iter().cloned());
                self.history.extend(heard.calls.iter().map(|id| {
                    json!({ "type": "function_call_output", "call_id": id, "output": "stamped" })
                }));
            }
        }
        !heard.calls.is_empty()
    }
}

/// The events of a body that are whole.
fn events(body: &str) -> impl Iterator<Item = Value> {
    body.lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
}

fn chat(body: &str, heard: &mut Heard) {
    let Ok(reply) = serde_json::from_str::<Value>(body) else {
        return;
    };
    heard.whole = true;
    heard.id = reply["id"].as_str().map(str::to_owned);
    let message = &reply["choices"][0]["message"];
    heard.text = message["content"].as_str().unwrap_or_default().to_owned();
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        heard.calls.extend(call["id"].as_str().map(str::to_owned));
    }
    heard.said.push(message.clone());
}

fn message(event: &Value, heard: &mut Heard) {
    let kind = event["type"].as_str().unwrap_or_default();
    let block = &event["content_block"];
    if kind == "message_start" {
        heard.id = event["message"]["id"].as_str().map(str::to_owned);
    } else if kind == "content_block_start" {
        if block["type"] == "tool_use" {
            heard.calls.extend(block["id"].as_str().map(str::to_owned));
            heard.said.push(json!({
                "type": "tool_use", "id": block["id"], "name": block["name"], "input": {},
            }));
        } else if block["type"] == "mcp_tool_result" {
            let call = block["tool_use_id"].as_str();
            heard.shown.extend(call.map(str::to_owned));
        } else if block["type"] == "text" {
            heard.said.push(json!({ "type": "text", "text": "" }));
        }
    } else if kind == "content_block_delta" {
        let text = event["delta"]["text"].as_str().unwrap_or_default();
        heard.text.push_str(text);
        let last = heard.said.last_mut().map(|block| &mut block["text"]);
        if let Some(Value::String(said)) = last {
            said.push_str(text);
        }
    } else if kind == "message_stop" {
        heard.whole = true;
    } else if kind == "error" {
        heard.refused = Some(event.to_string());
    }
}

fn response(event: &Value, heard: &mut Heard) {
    let kind = event["type"].as_str().unwrap_or_default();
    let item = &event["item"];
    if kind == "response.created" {
        heard.id = event["response"]["id"].as_str().map(str::to_owned);
    } else if kind == "response.output_text.delta" {
        heard
            .text
            .push_str(event["delta"].as_str().unwrap_or_default());
    } else if kind == "response.output_item.done" {
        if item["type"] == "function_call" {
            heard
                .calls
                .extend(item["call_id"].as_str().map(str::to_owned));
        }
        if item["type"] == "mcp_call" {
            heard.shown.extend(item["id"].as_str().map(str::to_owned));
        } else {
            heard.said.push(item.clone());
        }
    } else if kind == "response.completed" {
        heard.whole = true;
    } else if kind == "response.failed" || kind == "error" {
        heard.refused = Some(event.to_string());
    }
}

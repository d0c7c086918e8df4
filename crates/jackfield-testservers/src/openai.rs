//! A server with OpenAI's API, or a compatible one, and scripted replies.
//!
//! It serves Chat Completions and Responses, with the same script for both.

pub mod chat;
mod ids;
mod memory;
pub mod responses;
mod rules;

use std::ops::Deref;

use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use self::memory::ResponseMemory;
use self::rules::{items, text};
use crate::checks::{CheckFindings, Violation};
use crate::script::{Script, ScriptReply, collect_texts};
use crate::scripted::ScriptedServer;
use crate::vendor::{Post, Vendor, VendorRefusal};

/// A scripted OpenAI. Dropping it closes its port, and fails the test if there are violations that were not read.
#[derive(Debug)]
pub struct ScriptedOpenAi(ScriptedServer);

impl ScriptedOpenAi {
    /// Starts a server on a free port of the loopback address that is as strict as the vendor's own.
    ///
    /// Its replies are in the order of the script; a request without a remaining reply is a violation.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn start(script: impl Into<Script>) -> Self {
        Self::like(VendorQuirks::OpenAi, script).await
    }

    /// The same, with the deviations of another server.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn like(like: VendorQuirks, script: impl Into<Script>) -> Self {
        let vendor = OpenAiScript {
            like,
            memory: ResponseMemory::default(),
        };
        Self(ScriptedServer::start(vendor, script.into()).await)
    }
}

impl Deref for ScriptedOpenAi {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        &self.0
    }
}

/// The server whose deviations are imitated on Chat Completions.
///
/// On Responses all are as strict as OpenAI; Mistral does not serve it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum VendorQuirks {
    /// Ignores unknown fields, sends reasoning in `reasoning_content`, and refuses a history of calls without it.
    /// Does not accept images.
    DeepSeek,
    /// Accepts no unknown fields, and only call ids of nine letters and digits, and is strict about the order of
    /// roles. Has no `stream_options`.
    Mistral,
    /// Ignores unknown fields, including `tool_choice`, needs no key, and sends reasoning in `reasoning`. Accepts only
    /// inline images, and parses the arguments of calls.
    Ollama,
    #[default]
    OpenAi,
}

impl VendorQuirks {
    /// All names, for the program.
    pub const NAMES: &[&str] = &["deepseek", "mistral", "ollama", "openai"];

    /// The server with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "deepseek" => Some(Self::DeepSeek),
            "mistral" => Some(Self::Mistral),
            "ollama" => Some(Self::Ollama),
            "openai" => Some(Self::OpenAi),
            _ => None,
        }
    }
}

struct OpenAiScript {
    like: VendorQuirks,
    memory: ResponseMemory,
}

impl Vendor for OpenAiScript {
    fn takes(&self, path: &str) -> bool {
        match path {
            CHAT => true,
            // DeepSeek's own URL contains no version.
            "/chat/completions" => self.like == VendorQuirks::DeepSeek,
            RESPONSES => self.like != VendorQuirks::Mistral,
            _ => false,
        }
    }

    fn tell(&self, path: &str) -> Option<Value> {
        let model = |id: &str| json!({ "id": id, "object": "model", "created": CREATED, "owned_by": "openai" });
        let models = [model("gpt-6.2-sol"), model("gpt-4.1")];
        (path == "/v1/models").then(|| json!({ "object": "list", "data": models }))
    }

    fn judge(&self, asked: &Post<'_>) -> Vec<Violation> {
        let mut found = CheckFindings(self.headers(asked));
        if asked.path == RESPONSES {
            found.0.extend(responses::check(asked.body));
            self.memory.check_responses(asked.body, &mut found);
        } else {
            found.0.extend(chat::check(asked.body, self.like));
            self.memory.check_chat(asked.body, &mut found);
        }
        found.0
    }

    fn last_text(&self, asked: &Post<'_>) -> String {
        let sent = match asked.body.get("input") {
            Some(Value::String(text)) => return text.clone(),
            Some(input) => items(Some(input)),
            None => items(asked.body.get("messages")),
        };
        let is_models = |item: &&Value| {
            let kinds = ["custom_tool_call", "function_call", "reasoning"];
            text(item, "role") == "assistant" || kinds.contains(&text(item, "type"))
        };
        let last: Vec<&Value> = sent
            .iter()
            .rev()
            .take_while(|item| !is_models(item))
            .collect();
        let mut texts = Vec::new();
        for item in last.into_iter().rev() {
            // A system prompt does not count as the last message.
            if matches!(text(item, "role"), "developer" | "system") {
                continue;
            }
            collect_texts(item.get("content"), &mut texts);
            collect_texts(item.get("output"), &mut texts);
        }
        texts.join("\n")
    }

    fn say(&mut self, asked: &Post<'_>, reply: &ScriptReply) -> Response {
        let response = if asked.path == RESPONSES {
            let items = responses::speak::items(asked, reply, self.like);
            let response = responses::speak::respond(asked, reply, &items);
            let id = responses::speak::response_id(asked.nth);
            self.memory.keep(id, asked.body, items);
            response
        } else {
            if self.like == VendorQuirks::DeepSeek {
                let (calls, thought) = chat::speak::shown(asked, reply, self.like);
                self.memory
                    .keep_thought(calls, &thought.unwrap_or_default());
            }
            chat::speak::respond(asked, reply, self.like)
        };
        head(response, asked.nth)
    }

    fn refuse(&self, why: &VendorRefusal<'_>, nth: usize) -> Response {
        let response = match why {
            VendorRefusal::Broken(broken) => self.refuse_broken(broken),
            VendorRefusal::NotFound => {
                error(404, "invalid_request_error", "Invalid URL", None, None)
            }
            VendorRefusal::Server(problem) => {
                error(500, "server_error", problem, None, Some("server_error"))
            }
        };
        head(response, nth)
    }
}

impl OpenAiScript {
    fn headers(&self, asked: &Post<'_>) -> Vec<Violation> {
        let mut found = CheckFindings::default();
        let key = asked.request.header("authorization");
        let key = key.and_then(|value| value.strip_prefix("Bearer "));
        if key.is_none_or(|key| key.trim().is_empty()) && self.like != VendorQuirks::Ollama {
            let fault = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
            found.coded("authorization", NO_KEY, fault);
        }
        let kind = asked.request.header("content-type").unwrap_or_default();
        if !kind.starts_with("application/json") {
            found.add("content-type", "has to be application/json");
        }
        found.0
    }

    fn refuse_broken(&self, broken: &[Violation]) -> Response {
        let Some(first) = broken.first() else {
            return error(400, "invalid_request_error", "", None, None);
        };
        let status = match first.code {
            Some(NO_KEY) => 401,
            Some("extra_forbidden") => 422,
            _ => 400,
        };
        if self.like == VendorQuirks::Mistral {
            return mistrals(status, broken);
        }
        // The vendor reports one error at a time.
        error(
            status,
            "invalid_request_error",
            &first.fault,
            Some(&first.at),
            first.code,
        )
    }
}

/// An error in Mistral's form.
fn mistrals(status: u16, broken: &[Violation]) -> Response {
    if status == 422 {
        let detail: Vec<Value> = broken
            .iter()
            .map(|violation| {
                json!({ "type": violation.code, "msg": violation.fault, "loc": ["body", violation.at] })
            })
            .collect();
        return Response::json(status, json!({ "detail": detail }).to_string());
    }
    let body = json!({
        "object": "error",
        "message": broken.first().map(|first| &first.fault),
        "type": "invalid_request_error",
        "param": null,
        "code": broken.first().and_then(|first| first.code),
    });
    Response::json(status, body.to_string())
}

fn error(
    status: u16,
    kind: &str,
    message: &str,
    param: Option<&str>,
    code: Option<&str>,
) -> Response {
    let error = json!({ "message": message, "type": kind, "param": param, "code": code });
    Response::json(status, json!({ "error": error }).to_string())
}

fn head(response: Response, nth: usize) -> Response {
    response
        .header("x-request-id", format!("req_scripted_{nth}"))
        .header("openai-version", "2020-10-01")
}

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
/// The code of a request without a key.
const NO_KEY: &str = "invalid_api_key";
/// The time of all replies: 2026-11-01.
const CREATED: u64 = 1_793_491_200;

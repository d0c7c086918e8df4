//! A server with the Gemini API and scripted replies.

mod memory;
mod speak;

use std::ops::Deref;

use jackfield_dialect_gemini::options::Profile;
use jackfield_dialect_rules::gemini as dialect_rules;
use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use self::memory::GivenSignatures;
use crate::checks::{CheckFindings, Violation};
use crate::script::{Script, ScriptReply, collect_texts};
use crate::scripted::ScriptedServer;
use crate::vendor::{Post, Vendor, VendorRefusal, report};

/// A scripted Gemini. Dropping it closes its port, and fails the test if there are violations that were not read.
#[derive(Debug)]
pub struct ScriptedGemini(ScriptedServer);

impl ScriptedGemini {
    /// Starts a server on a free port of the loopback address.
    ///
    /// Its replies are in the order of the script; a request without a remaining reply is a violation.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn start(script: impl Into<Script>) -> Self {
        Self(ScriptedServer::start(GeminiScript::default(), script.into()).await)
    }
}

impl Deref for ScriptedGemini {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        &self.0
    }
}

/// The vendor's rules, and the replies so far.
#[derive(Default)]
struct GeminiScript {
    memory: GivenSignatures,
}

impl Vendor for GeminiScript {
    fn takes(&self, path: &str) -> bool {
        address(path).is_some()
    }

    fn tell(&self, path: &str) -> Option<Value> {
        let model = |id: &str| {
            json!({
                "name": format!("models/{id}"),
                "version": "001",
                "displayName": id,
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            })
        };
        let models = [model("gemini-3.8-flash"), model("gemini-2.5-flash")];
        (path == "/v1beta/models").then(|| json!({ "models": models }))
    }

    fn judge(&self, asked: &Post<'_>) -> Vec<Violation> {
        let mut found = CheckFindings::default();
        let request = asked.request;
        let key = request.header("x-goog-api-key").unwrap_or_default();
        if key.trim().is_empty() {
            found.coded("x-goog-api-key", NO_KEY, NO_KEY_WORDS);
        }
        if request.path.contains("key=") {
            found.add("key", "a key in an address is written into logs");
        }
        let kind = request.header("content-type").unwrap_or_default();
        if !kind.starts_with("application/json") {
            found.add("content-type", "has to be application/json");
        }
        let (model, is_stream) = address(asked.path).unwrap_or_default();
        if is_stream && !request.path.ends_with("?alt=sse") {
            found.add("alt", "Jackfield reads a stream as events");
        }
        for violation in dialect_rules::check(asked.body, &Profile::of(model)) {
            found.add(&violation.path, &violation.rule.to_string());
        }
        self.memory.check(asked.body, model, &mut found);
        found.0
    }

    fn last_text(&self, asked: &Post<'_>) -> String {
        let contents = asked.body.get("contents").and_then(Value::as_array);
        let mut texts = Vec::new();
        // All that follows the model's last content: results, and what the user says to them.
        let contents = contents.into_iter().flatten().rev();
        let last = contents.take_while(|content| content.get("role") != Some(&json!("model")));
        for content in last.collect::<Vec<_>>().into_iter().rev() {
            let parts = content.get("parts").and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                collect_texts(part.get("text"), &mut texts);
                let response = part.get("functionResponse");
                let response = response.and_then(|response| response.get("response"));
                texts.extend(response.map(words));
            }
        }
        texts.join("\n")
    }

    fn say(&mut self, asked: &Post<'_>, reply: &ScriptReply) -> Response {
        let (model, is_stream) = address(asked.path).unwrap_or_default();
        let parts = speak::parts(reply, asked.nth);
        self.memory.keep(&parts, model);
        speak::respond(reply, parts, model, asked.nth, is_stream && !reply.whole)
    }

    fn refuse(&self, why: &VendorRefusal<'_>, _nth: usize) -> Response {
        match why {
            VendorRefusal::Broken(broken) => {
                let is_keyless = broken.iter().any(|broken| broken.code == Some(NO_KEY));
                if is_keyless {
                    return speak::refuse(403, "PERMISSION_DENIED", NO_KEY_WORDS);
                }
                speak::refuse(400, "INVALID_ARGUMENT", &report(broken))
            }
            VendorRefusal::NotFound => speak::refuse(404, "NOT_FOUND", "Not Found"),
            VendorRefusal::Server(problem) => speak::refuse(500, "INTERNAL", problem),
        }
    }
}

/// The model and whether the reply is a stream, by the path of a request.
fn address(path: &str) -> Option<(&str, bool)> {
    let rest = path
        .strip_prefix("/v1beta/models/")
        .or_else(|| path.strip_prefix("/v1/models/"))?;
    let (model, method) = rest.rsplit_once(':')?;
    match method {
        "generateContent" => Some((model, false)),
        "streamGenerateContent" => Some((model, true)),
        _ => None,
    }
}

/// The words of a result.
fn words(response: &Value) -> String {
    let value = response.get("output").or_else(|| response.get("error"));
    let value = value.unwrap_or(response);
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

/// The code of a request without a key.
const NO_KEY: &str = "no_key";
const NO_KEY_WORDS: &str = "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.";

//! A server with Ollama's own API and scripted replies.

mod speak;

use std::ops::Deref;

use jackfield_dialect_rules::ollama as dialect_rules;
use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use crate::checks::{CheckFindings, Violation};
use crate::script::{Script, ScriptReply, collect_texts};
use crate::scripted::ScriptedServer;
use crate::vendor::{Post, Vendor, VendorRefusal, report};

/// A scripted Ollama. Dropping it closes its port, and fails the test if there are violations that were not read.
///
/// Unlike the real server, it refuses what that one would ignore: fields and options that do not exist, and keywords of
/// schemas that would never reach the model.
#[derive(Debug)]
pub struct ScriptedOllama(ScriptedServer);

impl ScriptedOllama {
    /// Starts a server on a free port of the loopback address.
    ///
    /// Its replies are in the order of the script; a request without a remaining reply is a violation.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn start(script: impl Into<Script>) -> Self {
        Self(ScriptedServer::start(OllamaScript, script.into()).await)
    }
}

impl Deref for ScriptedOllama {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        &self.0
    }
}

/// The server's rules; it remembers nothing.
struct OllamaScript;

impl Vendor for OllamaScript {
    fn takes(&self, path: &str) -> bool {
        path == "/api/chat"
    }

    fn tell(&self, path: &str) -> Option<Value> {
        let model = |id: &str| {
            json!({
                "name": id,
                "model": id,
                "modified_at": "2026-05-10T08:06:48.639712648-07:00",
                "size": 5_225_388_164_u64,
                "details": { "format": "gguf", "parameter_size": "8.2B" },
            })
        };
        let models = [model("qwen3:8b"), model("gemma3:4b")];
        (path == "/api/tags").then(|| json!({ "models": models }))
    }

    fn judge(&self, asked: &Post<'_>) -> Vec<Violation> {
        let mut found = CheckFindings::default();
        let kind = asked.request.header("content-type").unwrap_or_default();
        if !kind.starts_with("application/json") {
            found.add("content-type", "has to be application/json");
        }
        for violation in dialect_rules::check(asked.body) {
            found.add(&violation.path, &violation.rule.to_string());
        }
        if asked.body.get("truncate") != Some(&Value::Bool(false)) {
            found.add("truncate", "Jackfield drops no messages in silence");
        }
        found.0
    }

    fn last_text(&self, asked: &Post<'_>) -> String {
        let messages = asked.body.get("messages").and_then(Value::as_array);
        let messages = messages.into_iter().flatten().rev();
        let is_told = |message: &&Value| message.get("role") != Some(&json!("assistant"));
        let told: Vec<&Value> = messages.take_while(is_told).collect();
        let mut texts = Vec::new();
        for message in told.into_iter().rev() {
            collect_texts(message.get("content"), &mut texts);
        }
        texts.join("\n")
    }

    fn say(&mut self, asked: &Post<'_>, reply: &ScriptReply) -> Response {
        // Without the field, it streams.
        let streams = asked.body.get("stream") != Some(&Value::Bool(false));
        speak::respond(reply, asked.model(), asked.nth, streams && !reply.whole)
    }

    fn refuse(&self, why: &VendorRefusal<'_>, _nth: usize) -> Response {
        let (status, error) = match why {
            VendorRefusal::Broken(broken) => (400, report(broken)),
            VendorRefusal::NotFound => (404, "not found".to_owned()),
            VendorRefusal::Server(problem) => (500, (*problem).to_owned()),
        };
        Response::json(status, json!({ "error": error }).to_string())
    }
}

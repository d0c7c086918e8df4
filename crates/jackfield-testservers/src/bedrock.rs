//! A server with Bedrock's Converse API and scripted replies.

mod cached;
pub mod frame;
mod speak;

use std::ops::Deref;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_rules::bedrock as dialect_rules;
use jackfield_domain::usage::Usage;
use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use crate::checks::{CheckFindings, Violation};
use crate::prompt_cache::PromptCache;
use crate::script::{Script, ScriptPart, ScriptReply, collect_texts};
use crate::scripted::ScriptedServer;
use crate::vendor::{Post, Vendor, VendorRefusal, report};

/// A scripted Bedrock. Dropping it closes its port, and fails the test if there are violations that were not read.
#[derive(Debug)]
pub struct ScriptedBedrock(ScriptedServer);

impl ScriptedBedrock {
    /// Starts a server on a free port of the loopback address.
    ///
    /// Its replies are in the order of the script; a request without a remaining reply is a violation.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn start(script: impl Into<Script>) -> Self {
        Self(ScriptedServer::start(BedrockScript::default(), script.into()).await)
    }

    /// Starts a server whose replies have the usage that this cache bills, in place of the script's.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn billing(script: impl Into<Script>, cache: &PromptCache) -> Self {
        let vendor = BedrockScript {
            cache: Some(cache.clone()),
            ..BedrockScript::default()
        };
        Self(ScriptedServer::start(vendor, script.into()).await)
    }
}

impl Deref for ScriptedBedrock {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        &self.0
    }
}

/// The vendor's rules, and the signatures so far, each with its text.
#[derive(Default)]
struct BedrockScript {
    cache: Option<PromptCache>,
    signed: Vec<(String, String)>,
}

impl Vendor for BedrockScript {
    fn takes(&self, path: &str) -> bool {
        method(path).is_some()
    }

    fn tell(&self, _path: &str) -> Option<Value> {
        None
    }

    fn judge(&self, asked: &Post<'_>) -> Vec<Violation> {
        let mut found = CheckFindings::default();
        let authorization = asked.request.header("authorization").unwrap_or_default();
        let schemes = ["AWS4-HMAC-SHA256 Credential=", "Bearer "];
        if !schemes
            .iter()
            .any(|scheme| authorization.starts_with(scheme))
        {
            found.add("authorization", "Missing Authentication Token");
        }
        for violation in dialect_rules::check(asked.body, &model(asked.path)) {
            found.add(&violation.path, &violation.rule.to_string());
        }
        let messages = asked.body.get("messages").and_then(Value::as_array);
        let blocks = messages.into_iter().flatten();
        let blocks = blocks.filter_map(|message| message.get("content")?.as_array());
        for block in blocks.flatten() {
            let Some(sent) = block.pointer("/reasoningContent/reasoningText") else {
                continue;
            };
            let field = |name: &str| sent.get(name).and_then(Value::as_str).unwrap_or_default();
            let is_it = |known: &&(String, String)| {
                known.0 == field("text") && known.1 == field("signature")
            };
            if !self.signed.iter().any(|known| is_it(&known)) {
                found.add("messages", "Invalid `signature` in `thinking` block");
            }
        }
        found.0
    }

    fn last_text(&self, asked: &Post<'_>) -> String {
        let messages = asked.body.get("messages").and_then(Value::as_array);
        let mut texts = Vec::new();
        let last = messages.and_then(|messages| messages.last());
        let blocks = last.and_then(|message| message.get("content")?.as_array());
        for block in blocks.into_iter().flatten() {
            texts.extend(block.get("text").and_then(Value::as_str).map(str::to_owned));
            collect_texts(block.pointer("/toolResult/content"), &mut texts);
        }
        texts.join("\n")
    }

    fn say(&mut self, asked: &Post<'_>, reply: &ScriptReply) -> Response {
        for part in &reply.parts {
            if let ScriptPart::Thinking { signature, text } = part {
                self.signed.push((text.clone(), signature.clone()));
            }
        }
        let is_stream = method(asked.path) == Some("converse-stream");
        let mut reply = reply.clone();
        if let Some(cache) = &self.cache {
            let model = model(asked.path);
            let least = Profile::of(&model).cache_minimum;
            let billed = cache.bill(&model, least, &cached::blocks(asked.body));
            let output = reply.usage.output;
            reply.usage = Usage { output, ..billed };
        }
        let reply = &reply;
        speak::respond(asked.body, reply, asked.nth, is_stream && !reply.whole)
    }

    fn refuse(&self, why: &VendorRefusal<'_>, nth: usize) -> Response {
        let (status, kind, message) = match why {
            VendorRefusal::Broken(broken) => (400, "ValidationException", report(broken)),
            VendorRefusal::NotFound => (404, "UnknownOperationException", String::new()),
            VendorRefusal::Server(problem) => {
                (500, "InternalServerException", (*problem).to_owned())
            }
        };
        Response::json(status, json!({ "message": message }).to_string())
            .header(
                "x-amzn-errortype",
                format!("{kind}:http://internal.amazon.com/"),
            )
            .header("x-amzn-requestid", request_id(nth))
    }
}

/// The method of a path; `None` if it is not one of a model.
fn method(path: &str) -> Option<&str> {
    let (model, method) = path.strip_prefix("/model/")?.split_once('/')?;
    let is_known = ["converse", "converse-stream"].contains(&method) && !model.is_empty();
    is_known.then_some(method)
}

fn model(path: &str) -> String {
    let model = path
        .strip_prefix("/model/")
        .and_then(|rest| rest.split('/').next());
    let model = model.unwrap_or_default();
    model.replace("%3A", ":").replace("%2F", "/")
}

fn request_id(nth: usize) -> String {
    format!("00000000-0000-4000-8000-{nth:012}")
}

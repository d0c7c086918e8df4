//! A server with Claude's API and scripted replies.

mod cached;
mod memory;
pub mod rules;
mod speak;

use std::ops::Deref;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::{DIALECT, request};
use jackfield_dialect_rules::claude as dialect_rules;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::usage::Usage;
use jackfield_testkit::server::Response;
use serde_json::{Value, json};

use self::memory::SignedThinking;
use crate::checks::{CheckFindings, Violation};
use crate::prompt_cache::PromptCache;
use crate::script::{Script, ScriptReply, collect_texts};
use crate::scripted::ScriptedServer;
use crate::vendor::{Post, Vendor, VendorRefusal, report};

/// A scripted Claude. Dropping it closes its port, and fails the test if there are violations that were not read.
#[derive(Debug)]
pub struct ScriptedClaude(ScriptedServer);

impl ScriptedClaude {
    /// Starts a server on a free port of the loopback address.
    ///
    /// Its replies are in the order of the script; a request without a remaining reply is a violation.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn start(script: impl Into<Script>) -> Self {
        Self(ScriptedServer::start(ClaudeScript::default(), script.into()).await)
    }

    /// Starts a server whose replies have the usage that this cache bills, in place of the script's.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn billing(script: impl Into<Script>, cache: &PromptCache) -> Self {
        let vendor = ClaudeScript {
            cache: Some(cache.clone()),
            ..ClaudeScript::default()
        };
        Self(ScriptedServer::start(vendor, script.into()).await)
    }
}

impl Deref for ScriptedClaude {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        &self.0
    }
}

/// The vendor's rules, and the replies so far.
#[derive(Default)]
struct ClaudeScript {
    cache: Option<PromptCache>,
    memory: SignedThinking,
}

impl Vendor for ClaudeScript {
    fn takes(&self, path: &str) -> bool {
        path == "/v1/messages"
    }

    fn tell(&self, path: &str) -> Option<Value> {
        let list = json!({ "data": [], "has_more": false, "first_id": null, "last_id": null });
        (path == "/v1/models").then_some(list)
    }

    fn judge(&self, asked: &Post<'_>) -> Vec<Violation> {
        let mut broken = rules::headers(|name| asked.request.header(name));
        let version = asked
            .request
            .header("anthropic-version")
            .unwrap_or_default();
        let betas = asked.request.header("anthropic-beta").unwrap_or_default();
        let found = rules::check(asked.body, version);
        broken.extend(
            found
                .into_iter()
                .filter(|found| !rules::is_beta(&found.at, betas)),
        );
        for found in rules::without_beta(asked.body, betas) {
            if !broken.iter().any(|known| known.at == found.at) {
                broken.push(found);
            }
        }
        let mut found = CheckFindings::default();
        self.memory.check(asked.body, &mut found);
        broken.extend(found.0);
        broken.extend(second_opinion(asked, version, &broken));
        broken
    }

    fn last_text(&self, asked: &Post<'_>) -> String {
        let messages = asked.body.get("messages").and_then(Value::as_array);
        let mut texts = Vec::new();
        if let Some(message) = messages.and_then(|messages| messages.last()) {
            collect_texts(message.get("content"), &mut texts);
        }
        texts.join("\n")
    }

    fn say(&mut self, asked: &Post<'_>, reply: &ScriptReply) -> Response {
        self.memory.keep(reply, asked.nth, asked.model());
        let mut reply = reply.clone();
        if let Some(cache) = &self.cache {
            let least = Profile::of(asked.model()).cache_minimum;
            let billed = cache.bill(asked.model(), least, &cached::blocks(asked.body));
            let output = reply.usage.output;
            reply.usage = Usage { output, ..billed };
        }
        let reply = &reply;
        speak::respond(reply, asked.nth, asked.model(), asked.is_streamed(reply))
    }

    fn refuse(&self, why: &VendorRefusal<'_>, nth: usize) -> Response {
        match why {
            VendorRefusal::Broken(broken) => {
                speak::refuse(400, "invalid_request_error", &report(broken), nth)
            }
            VendorRefusal::NotFound => speak::refuse(404, "not_found_error", "Not Found", nth),
            VendorRefusal::Server(problem) => speak::refuse(500, "api_error", problem, nth),
        }
    }
}

/// The additional violations by `jackfield-dialect-rules`: two independent checks, with one report per place.
fn second_opinion(asked: &Post<'_>, version: &str, known: &[Violation]) -> Vec<Violation> {
    let mut found = CheckFindings::default();
    for violation in dialect_rules::check(asked.body, &profile(asked.model(), version)) {
        if !known.iter().any(|known| known.at == violation.path) {
            found.add(&violation.path, &violation.rule.to_string());
        }
    }
    let owner = StateOwner {
        dialect: DIALECT.into(),
        endpoint: "http://scripted".into(),
        model: asked.model().into(),
    };
    let parsed = request::parse(&asked.request.body);
    if let Err(invalid) = parsed.and_then(|parsed| request::from_wire(parsed, &owner)) {
        found.add(&invalid.path, &invalid.reason);
    }
    found.0
}

/// The capabilities of this model with this version of the API.
fn profile(model: &str, version: &str) -> Profile {
    let profile = Profile::of(model);
    Profile {
        sampling: profile.sampling && version == rules::OLD_VERSION,
        ..profile
    }
}

//! The vendor-specific parts: paths, rules and wire format. Everything else is in [`ScriptedServer`].
//!
//! [`ScriptedServer`]: crate::scripted::ScriptedServer

use jackfield_testkit::server::{RecordedRequest, Response};
use serde_json::Value;

use crate::checks::Violation;
use crate::script::ScriptReply;

/// A vendor, and its server's memory.
pub(crate) trait Vendor: Send + 'static {
    /// Whether this path is for model requests.
    fn takes(&self, path: &str) -> bool;

    /// The document at this path, if there is one.
    fn tell(&self, path: &str) -> Option<Value>;

    /// Every violation in a request.
    fn judge(&self, asked: &Post<'_>) -> Vec<Violation>;

    /// The text of the last message that is not the model's, including tool outcomes.
    fn last_text(&self, asked: &Post<'_>) -> String;

    /// The response with a reply, whole or as events; the reply is remembered.
    fn say(&mut self, asked: &Post<'_>, reply: &ScriptReply) -> Response;

    /// The response with an error.
    fn refuse(&self, why: &VendorRefusal<'_>, nth: usize) -> Response;
}

/// A request to a model.
pub(crate) struct Post<'a> {
    /// The body; null if it is not JSON.
    pub(crate) body: &'a Value,
    /// The number of earlier requests.
    pub(crate) nth: usize,
    /// The path without its query.
    pub(crate) path: &'a str,
    pub(crate) request: &'a RecordedRequest,
}

/// Why a request is refused.
pub(crate) enum VendorRefusal<'a> {
    /// It violates these rules, at least one.
    Broken(&'a [Violation]),
    /// Its path does not exist.
    NotFound,
    /// The server itself failed, for this reason.
    Server(&'a str),
}

impl Post<'_> {
    /// Whether a reply is sent as events.
    pub(crate) fn is_streamed(&self, reply: &ScriptReply) -> bool {
        !reply.whole && self.body.get("stream") == Some(&Value::Bool(true))
    }

    pub(crate) fn model(&self) -> &str {
        let model = self.body.get("model").and_then(Value::as_str);
        model.unwrap_or_default()
    }
}

/// The violations on one line.
pub(crate) fn report(broken: &[Violation]) -> String {
    let lines: Vec<String> = broken.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

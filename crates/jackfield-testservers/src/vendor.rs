//! What is a vendor's own: its paths, its rules and its words. Everything else is [`ScriptedServer`]'s.
//!
//! [`ScriptedServer`]: crate::scripted::ScriptedServer

use jackfield_testkit::server::{RecordedRequest, Response};
use serde_json::Value;

use crate::checks::Violation;
use crate::script::ScriptReply;

/// A vendor, and what its server remembers.
pub(crate) trait Vendor: Send + 'static {
    /// Whether a model is asked at this path.
    fn takes(&self, path: &str) -> bool;

    /// What is there to be read at this path.
    fn tell(&self, path: &str) -> Option<Value>;

    /// Every rule that a request breaks.
    fn judge(&self, asked: &Post<'_>) -> Vec<Violation>;

    /// The text of what came last in a request and is not the model's, tool outcomes included.
    fn last_text(&self, asked: &Post<'_>) -> String;

    /// The response that carries a reply, whole or as events; what it says is remembered.
    fn say(&mut self, asked: &Post<'_>, reply: &ScriptReply) -> Response;

    /// The response that refuses a request.
    fn refuse(&self, why: &VendorRefusal<'_>, nth: usize) -> Response;
}

/// A request to a model.
pub(crate) struct Post<'a> {
    /// The body; null if it is not JSON.
    pub(crate) body: &'a Value,
    /// How many came before.
    pub(crate) nth: usize,
    /// The path without its query.
    pub(crate) path: &'a str,
    /// All of it.
    pub(crate) request: &'a RecordedRequest,
}

/// Why a request is refused.
pub(crate) enum VendorRefusal<'a> {
    /// It breaks these rules; there is at least one.
    Broken(&'a [Violation]),
    /// There is nothing at its path.
    NotFound,
    /// The server itself is at fault, for this reason.
    Server(&'a str),
}

impl Post<'_> {
    /// Whether a reply is told as events.
    pub(crate) fn is_streamed(&self, reply: &ScriptReply) -> bool {
        !reply.whole && self.body.get("stream") == Some(&Value::Bool(true))
    }

    /// The model that is asked.
    pub(crate) fn model(&self) -> &str {
        let model = self.body.get("model").and_then(Value::as_str);
        model.unwrap_or_default()
    }
}

/// The violations in one line.
pub(crate) fn report(broken: &[Violation]) -> String {
    let lines: Vec<String> = broken.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

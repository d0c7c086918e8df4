//! What a message says about itself, as far as the headers of its request need it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderValue;
use jackfield_ports::call_context::CallContext;
use rmcp::model::RequestId;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::link::Outgoing;
use crate::mark::RequestMark;
use crate::mirrored::MirroredArguments;

pub(super) struct SentMessage {
    pub(super) body: Bytes,
    /// The call that it begins, or continues.
    pub(super) call: CallContext,
    /// The request that a cancellation is about.
    pub(super) cancels: Option<RequestId>,
    /// The arguments that are repeated in headers.
    pub(super) mirrored: MirroredArguments,
    /// Empty for a reply to the server.
    pub(super) method: String,
    /// The name of the tool, the prompt or the resource.
    pub(super) name: Option<String>,
    /// The id, if an answer is due.
    pub(super) request_id: Option<RequestId>,
}

#[derive(Default, Deserialize)]
struct SentEnvelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<SentParams>,
}

#[derive(Deserialize)]
struct SentParams {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "requestId")]
    request_id: Option<RequestId>,
    #[serde(default)]
    uri: Option<String>,
}

impl SentMessage {
    pub(super) fn read(message: Outgoing) -> (Self, Option<RequestMark>) {
        let Outgoing {
            bytes,
            call,
            mark,
            mirrored,
        } = message;
        let envelope: SentEnvelope<'_> = serde_json::from_slice(&bytes).unwrap_or_default();
        let method = envelope.method.unwrap_or_default();
        let id = envelope
            .id
            .and_then(|id| serde_json::from_str(id.get()).ok());
        let params = envelope.params;
        let (name, cancels) = match (params, &*method) {
            (Some(params), "tools/call" | "prompts/get") => (params.name, None),
            (Some(params), "resources/read") => (params.uri, None),
            (Some(params), "notifications/cancelled") => (None, params.request_id),
            (Some(_) | None, _) => (None, None),
        };
        let sent = Self {
            cancels,
            mirrored,
            request_id: id.filter(|_| !method.is_empty()),
            name,
            body: Bytes::from(bytes),
            call,
            method,
        };
        (sent, mark)
    }

    /// Whether sending it twice does no harm.
    pub(super) fn is_repeatable(&self) -> bool {
        matches!(
            &*self.method,
            "initialize"
                | "server/discover"
                | "tools/list"
                | "tasks/get"
                | "ping"
                | "completion/complete"
                | "prompts/get"
                | "prompts/list"
                | "resources/list"
                | "resources/read"
                | "resources/templates/list"
        )
    }
}

/// A value of a header: as it is if it is plain ASCII, and otherwise in base64 between marks (MCP 2026-07-28,
/// "Transports", "Value Encoding", read 2026-11-26).
pub(super) fn header_value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !(text.starts_with(BEGIN) && text.ends_with(END));
    if is_plain {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("{BEGIN}{}{END}", STANDARD.encode(text))).ok()
}

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

//! Claude Messages as the language of a server.

pub(crate) mod errors;
mod history;
mod models;
mod refused;
pub(crate) mod segments;

use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_kit::serve::{ReplyInfo, ServeDialect as _, ServeError};
use jackfield_domain::block::{Block, Content};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool::ToolOrigin;
use serde_json::Value;

use crate::arb::owner;
use crate::examples;
use jackfield_dialect_claude::request::Incoming;

/// What a reply says of itself here.
pub(crate) fn about() -> ReplyInfo {
    ReplyInfo {
        created: 1_795_000_000,
        id: "turn_1_0".to_owned(),
        model: "model-a".to_owned(),
        ..ReplyInfo::default()
    }
}

/// Reads a request without headers.
fn read(body: &Value) -> Result<Incoming, ServeError> {
    with_header(body, "", "")
}

/// Reads a request with one header.
fn with_header(body: &Value, name: &str, value: &str) -> Result<Incoming, ServeError> {
    let header = |asked: &str| (asked == name).then(|| value.to_owned());
    ClaudeServer.request(&header, body.to_string().as_bytes(), &|_| owner())
}

/// What says that we ran a tool.
pub(crate) fn ran_here() -> OpaqueState {
    ServerTool::state(&ToolOrigin {
        tool: "read_file".into(),
        toolbox: ToolboxId::parse("files").expect("an id"),
    })
}

/// A call that we ran, and its outcome.
pub(crate) fn shown(
    id: &str,
    arguments: &str,
    result: jackfield_domain::outcome::ToolResult,
) -> [Block; 2] {
    let mut call = examples::call(id, None, arguments);
    if let Content::ToolCall(known) = &call.content {
        let mut known = (**known).clone();
        known.ran_by = jackfield_domain::block::RanBy::Provider;
        call.content = Content::ToolCall(known.into());
    }
    let mut outcome = examples::outcome(id, result);
    call.opaque = vec![ran_here()];
    outcome.opaque = vec![ran_here()];
    [call, outcome]
}

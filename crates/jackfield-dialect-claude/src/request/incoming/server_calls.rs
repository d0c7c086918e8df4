//! Reads server tool calls that a client sends back in its history.
//!
//! They belong to Jackfield and to no provider: they keep their place in the conversation, and are not sent to
//! providers.

use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::ids::{ToolCallId, ToolboxId};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Invalid;
use super::blocks::RequestReader;
use crate::reply::server_calls::{CALL, OUTCOME};
use crate::wire;

/// A call as sent to the client.
#[derive(Debug, Deserialize)]
struct SentCall {
    id: String,
    #[serde(default)]
    input: Map<String, Value>,
    name: String,
    server_name: String,
}

/// An outcome as sent to the client.
#[derive(Debug, Deserialize)]
struct SentOutcome {
    #[serde(default)]
    content: Option<wire::Content>,
    #[serde(default)]
    is_error: bool,
    tool_use_id: String,
}

/// Whether Jackfield has sent this block.
///
/// The vendor's ids of such calls begin with `mcptoolu_`; ours have the form of [`ToolCallId::derive`].
pub(super) fn is_ours(kind: &str, fields: &Map<String, Value>) -> bool {
    let key = match kind {
        CALL => "id",
        OUTCOME => "tool_use_id",
        _ => return false,
    };
    let id = fields.get(key).and_then(Value::as_str).unwrap_or_default();
    id.strip_prefix("call_")
        .is_some_and(|hex| hex.len() == 24 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl RequestReader<'_> {
    /// Maps a block that Jackfield has sent.
    pub(super) fn server_block(
        &mut self,
        kind: &str,
        fields: Map<String, Value>,
        role: wire::Role,
        path: &str,
    ) -> Result<Block, Invalid> {
        if role != wire::Role::Assistant {
            let reason = "only an assistant message has what a server ran";
            return Err(Invalid::new(path, reason));
        }
        if kind == CALL {
            self.server_call(read(fields, path)?, path)
        } else {
            self.server_outcome(read(fields, path)?, path)
        }
    }

    fn server_call(&mut self, call: SentCall, path: &str) -> Result<Block, Invalid> {
        let invalid = |field: &str, reason: String| Invalid::new(format!("{path}.{field}"), reason);
        let id = ToolCallId::parse(&call.id).map_err(|fault| invalid("id", fault.to_string()))?;
        let toolbox = ToolboxId::parse(&call.server_name)
            .map_err(|fault| invalid("server_name", fault.to_string()))?;
        let name = CalledName::new(&call.name);
        let state = ServerTool::state(&ToolOrigin {
            tool: call.name.into(),
            toolbox,
        });
        self.server_tools.insert(id.clone(), state.clone());
        let content = Content::ToolCall(Arc::new(ToolCall {
            id,
            input: ToolInput::Json(JsonInput::from(call.input)),
            name,
            ran_by: RanBy::Provider,
            upstream: None,
        }));
        let mut block = Block::from(content);
        block.opaque.push(state);
        Ok(block)
    }

    fn server_outcome(&mut self, outcome: SentOutcome, path: &str) -> Result<Block, Invalid> {
        let id = ToolCallId::parse(&outcome.tool_use_id).ok();
        let server_tool =
            id.and_then(|id| self.server_tools.get(&id).cloned().map(|state| (id, state)));
        let Some((call, state)) = server_tool else {
            let reason = "there is no mcp_tool_use block of this id before it";
            return Err(Invalid::new(format!("{path}.tool_use_id"), reason));
        };
        let content = match outcome.content {
            None => Vec::new(),
            Some(wire::Content::Text(text)) => vec![OutcomePart::Text(text.into())],
            Some(wire::Content::Blocks(blocks)) => {
                let mut parts = Vec::with_capacity(blocks.len());
                for (k, block) in blocks.into_iter().enumerate() {
                    let wire::Block::Text { text, .. } = block else {
                        let path = format!("{path}.content.{k}");
                        return Err(Invalid::new(path, "only text blocks can be here"));
                    };
                    parts.push(OutcomePart::Text(text.into()));
                }
                parts
            }
        };
        let content = Content::ToolOutcome(Arc::new(ToolOutcome {
            call,
            result: ToolResult {
                content,
                is_error: outcome.is_error,
                structured: None,
            },
            opaque: Vec::new(),
        }));
        let mut block = Block::from(content);
        block.opaque.push(state);
        Ok(block)
    }
}

fn read<T: serde::de::DeserializeOwned>(
    fields: Map<String, Value>,
    path: &str,
) -> Result<T, Invalid> {
    serde_json::from_value(Value::Object(fields))
        .map_err(|fault| Invalid::new(path, fault.to_string()))
}

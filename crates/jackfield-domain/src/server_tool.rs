//! Which tool of ours stands behind a call that a client is shown as run by its server.

use serde_json::json;

use crate::opaque::{OpaqueState, StateOwner, StateScope};
use crate::tool::ToolOrigin;

/// A tool that Jackfield ran, as it hangs on the call and on the outcome that a client is shown.
///
/// For a client, Jackfield is the provider: such a call is [`RanBy::Provider`](crate::block::RanBy), and
/// each dialect has its own form for it. No provider is ever sent this.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServerTool<'a> {
    /// The toolbox, such as an MCP server.
    pub server: &'a str,
    /// Its own name there.
    pub tool: &'a str,
}

impl<'a> ServerTool<'a> {
    /// The tool that is named by the state of a block, if one is.
    #[must_use]
    pub fn of(states: &'a [OpaqueState]) -> Option<Self> {
        let state = states
            .iter()
            .find(|state| *state.kind == *KIND && *state.owner.dialect == *OWNER)?;
        let text = |key: &str| state.json.get(key)?.as_str();
        Some(Self {
            server: text("server")?,
            tool: text("tool")?,
        })
    }

    /// The state that names this tool.
    #[must_use]
    pub fn state(origin: &ToolOrigin) -> OpaqueState {
        OpaqueState {
            kind: KIND.into(),
            json: json!({ "server": origin.toolbox.as_str(), "tool": &*origin.tool }),
            owner: StateOwner {
                dialect: OWNER.into(),
                endpoint: "".into(),
                model: "".into(),
            },
            scope: StateScope::Block,
        }
    }
}

/// Whose state this is: no dialect of a provider has this name.
const OWNER: &str = "jackfield";
const KIND: &str = "server_tool";

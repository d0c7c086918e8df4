//! Permissions: Claude Code asks for one of its own tools, and a reply passes the question on as a call.

use std::collections::HashMap;

use jackfield_domain::block::{Content, RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::message::Role;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::own_tool::{self, Verdict};
use jackfield_domain::request::ModelRequest;
use serde_json::{Map, Value, json};

use crate::config::ClaudeCodeConfig;
use crate::wire;

/// A question of Claude Code (`can_use_tool`).
#[derive(Debug)]
pub(crate) struct Question {
    /// The id of the call, as the model's message has it.
    call: String,
    pub(crate) control: String,
    input: Map<String, Value>,
    tool: String,
}

impl Question {
    /// Reads the request with this id. If no person can be asked about the tool, it is an answer at once.
    pub(crate) fn read(
        control: String,
        mut request: Map<String, Value>,
        config: &ClaudeCodeConfig,
        may_call: bool,
    ) -> Result<Self, Value> {
        let mut text = |key: &str| wire::take_text(&mut request, key).unwrap_or_default();
        let (call, tool) = (text("tool_use_id"), text("tool_name"));
        let input = request.remove("input").unwrap_or_default();
        if tool.starts_with(crate::setup::PREFIX) {
            // Our own policy decides about our tools.
            return Err(allow(&input));
        }
        if !may_call {
            return Err(deny(NO_MORE));
        }
        if !config.builtin_tools.contains(&tool) {
            return Err(deny(&format!(
                "`{tool}` is denied: nobody can be asked about a tool that `builtin_tools` of the gateway's provider \
                 does not name."
            )));
        }
        let Value::Object(input) = input else {
            return Err(deny("The question has no input, so nobody can decide."));
        };
        Ok(Self {
            call,
            control,
            input,
            tool,
        })
    }

    /// The id of our call.
    pub(crate) fn id(&self) -> String {
        format!("{PERMISSION}{}", self.call)
    }

    /// The call that passes the question on.
    pub(crate) fn deltas(&self, provider: &str, owner: &StateOwner) -> Vec<Delta> {
        let Some(origin) = own_tool::origin(provider, &self.tool) else {
            return Vec::new();
        };
        let start = BlockStart::ToolCall {
            json: true,
            name: own_tool::name(&origin).as_str().into(),
            ran_by: RanBy::Engine,
            upstream: Some(UpstreamId {
                id: self.id().into(),
                owner: owner.clone(),
            }),
        };
        let text = Value::Object(self.input.clone()).to_string();
        vec![
            Delta::BlockStarted {
                index: INDEX,
                start,
            },
            Delta::ArgumentsAppended {
                index: INDEX,
                text: text.into(),
            },
            Delta::BlockEnded { index: INDEX },
        ]
    }

    /// The answer to the question: the outcome of our call.
    pub(crate) fn answer(&self, outcomes: &HashMap<String, ToolResult>) -> Value {
        let Some(outcome) = outcomes.get(&self.id()) else {
            return deny("Nobody has answered the question.");
        };
        match Verdict::read(outcome, &self.input) {
            Verdict::Allowed(input) => allow(&Value::Object(input)),
            Verdict::Denied(why) => deny(&format!("`{}` is denied: {why}", self.tool)),
        }
    }
}

/// The outcomes of the calls of the last reply that pass questions on, by the ids of the calls.
pub(crate) fn outcomes(request: &ModelRequest) -> HashMap<String, ToolResult> {
    let messages: Vec<_> = request.messages.iter().collect();
    let Some(last) = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant)
    else {
        return HashMap::new();
    };
    let mut found = HashMap::new();
    let (reply, after) = messages.split_at(last + 1);
    for block in after.iter().flat_map(|message| &message.blocks) {
        let Content::ToolOutcome(outcome) = &block.content else {
            continue;
        };
        let mut calls = reply.last().into_iter().flat_map(|reply| reply.calls());
        let call = calls.find(|call| call.id == outcome.call);
        let id = call.and_then(|call| call.upstream.as_ref());
        if let Some(UpstreamId { id, .. }) = id.filter(|id| id.id.starts_with(PERMISSION)) {
            found.insert(id.to_string(), outcome.result.clone());
        }
    }
    found
}

/// A `tool_result` block for a session that goes on in another process: one that answers a question answers the call
/// that it was about. Whether that ran is not known where it was allowed.
pub(crate) fn resumed(mut block: Value) -> Value {
    let id = block.get("tool_use_id").and_then(Value::as_str);
    let Some(own) = id.and_then(|id| id.strip_prefix(PERMISSION)) else {
        return block;
    };
    let own = own.to_owned();
    if block.get("is_error") != Some(&json!(true)) {
        block["content"] = json!(RESTARTED);
        block["is_error"] = json!(true);
    }
    block["tool_use_id"] = json!(own);
    block
}

fn allow(input: &Value) -> Value {
    json!({ "behavior": "allow", "updatedInput": input })
}

fn deny(why: &str) -> Value {
    json!({ "behavior": "deny", "message": why })
}

/// The result of a call where tools may not be called any more.
pub(crate) const NO_MORE: &str = "No tool may be called any more. Answer with what is known.";
const RESTARTED: &str = "This call was allowed, but Claude Code was started anew meanwhile, and it is not known \
                         whether the tool ran. See whether it did; to use it again, call it again.";
/// What the ids of our calls begin with; the rest is the id of Claude Code's call.
const PERMISSION: &str = "permission-";
/// The index of the block, beyond those of any message.
const INDEX: u32 = u32::MAX - 1;

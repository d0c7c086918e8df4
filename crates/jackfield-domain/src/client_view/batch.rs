//! The tool calls of a round, as displayed to a client.

use std::sync::Arc;

use crate::block::{Content, RanBy, ToolCall};
use crate::caller::Display;
use crate::client_view::ClientEvent;
use crate::delta::{BlockStart, Delta};
use crate::ids::ToolCallId;
use crate::message::Message;
use crate::opaque::OpaqueState;
use crate::outcome::{ToolOutcome, ToolResult};
use crate::server_tool::ServerTool;
use crate::tool::Catalog;
use crate::tool_input::ToolInput;
use crate::wait::{Wait, WaitKind};

/// The calls of one reply, except provider tool calls and calls that were already streamed.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownBatch {
    calls: Vec<ShownCall>,
    /// Whether all of them were decided and displayed.
    is_shown: bool,
}

#[derive(Clone, Debug)]
struct ShownCall {
    call: Arc<ToolCall>,
    /// Opaque state of providers that belongs to it.
    opaque: Vec<OpaqueState>,
    outcome: Option<Arc<ToolOutcome>>,
    /// How it is displayed.
    display: CallDisplay,
}

/// How a call is displayed.
#[derive(Clone, Debug)]
enum CallDisplay {
    /// As a client tool call.
    Clients,
    /// Not at all, or no longer.
    Nothing,
    /// As a server tool call, with the state that names the tool.
    Servers(OpaqueState),
}

impl ShownBatch {
    /// The calls of this reply, except those in `begun`, which were already streamed.
    pub(super) fn from_reply(reply: &Message, begun: &[ToolCallId]) -> Self {
        let calls = reply
            .blocks
            .iter()
            .filter_map(|block| match &block.content {
                Content::ToolCall(call) if begun.contains(&call.id) => None,
                Content::ToolCall(call) if call.ran_by != RanBy::Provider => Some(ShownCall {
                    call: Arc::clone(call),
                    opaque: block.opaque.clone(),
                    outcome: None,
                    display: CallDisplay::Nothing,
                }),
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_)
                | Content::ToolCall(_)
                | Content::ToolOutcome(_) => None,
            });
        Self {
            calls: calls.collect(),
            is_shown: false,
        }
    }

    /// Records the outcome of a call, as models see it.
    pub(super) fn close(&mut self, id: &ToolCallId, result: &ToolResult, shown: Option<usize>) {
        if let Some(call) = self.find(id) {
            let seen = result.for_models(shown);
            call.outcome = Some(Arc::new(ToolOutcome {
                call: id.clone(),
                opaque: Vec::new(),
                result: seen.unwrap_or_else(|| result.clone()),
            }));
        }
    }

    /// Records a wait; only waits for client tool results matter here.
    pub(super) fn mark_client_call(&mut self, wait: &Wait) {
        if wait.kind == WaitKind::ClientResult
            && let Some(call) = self.find(&wait.call)
        {
            call.display = CallDisplay::Clients;
        }
    }

    /// Displays the calls, once all are decided, and then their outcomes, in the order of the calls.
    pub(super) fn emit(
        &mut self,
        display: Display,
        catalog: &Catalog,
        next: &mut u32,
        events: &mut Vec<ClientEvent>,
    ) {
        if !self.is_shown {
            self.is_shown = true;
            for call in &mut self.calls {
                if matches!(call.display, CallDisplay::Nothing)
                    && display.server_tools
                    && let Some(tool) = catalog.tool(call.call.name.as_str())
                    && tool.ran_by == RanBy::Engine
                {
                    call.display = CallDisplay::Servers(ServerTool::state(&tool.origin));
                }
                call.emit_start(next, events);
            }
        }
        for call in &mut self.calls {
            if !call.emit_outcome(next, events) {
                break;
            }
        }
    }

    /// Displays the available outcomes at the end of the reply.
    pub(super) fn emit_outcomes(&mut self, next: &mut u32, events: &mut Vec<ClientEvent>) {
        for call in &mut self.calls {
            call.emit_outcome(next, events);
        }
    }

    fn find(&mut self, id: &ToolCallId) -> Option<&mut ShownCall> {
        self.calls.iter_mut().find(|call| call.call.id == *id)
    }
}

impl ShownCall {
    /// Displays the call.
    fn emit_start(&self, next: &mut u32, events: &mut Vec<ClientEvent>) {
        let (ran_by, states, upstream) = match &self.display {
            CallDisplay::Nothing => return,
            CallDisplay::Clients => {
                let upstream = self.call.upstream.clone();
                (RanBy::Client, self.opaque.as_slice(), upstream)
            }
            CallDisplay::Servers(state) => (RanBy::Provider, std::slice::from_ref(state), None),
        };
        let (json, text) = match &self.call.input {
            ToolInput::Json(input) => (true, input.raw()),
            ToolInput::Text(text) => (false, &**text),
        };
        let start = BlockStart::ToolCall {
            json,
            name: self.call.name.as_str().into(),
            ran_by,
            upstream,
        };
        let call = Some(self.call.id.clone());
        emit_block(start, call, text, states, next, events);
    }

    /// Displays the outcome of the call, if it has to be displayed and was not yet. Returns whether nothing is
    /// left to display.
    fn emit_outcome(&mut self, next: &mut u32, events: &mut Vec<ClientEvent>) -> bool {
        let CallDisplay::Servers(state) = &self.display else {
            return true;
        };
        let Some(outcome) = &self.outcome else {
            return false;
        };
        let start = BlockStart::Whole(Content::ToolOutcome(Arc::clone(outcome)));
        let states = std::slice::from_ref(state);
        emit_block(start, None, "", states, next, events);
        self.display = CallDisplay::Nothing;
        true
    }
}

/// Displays a complete block.
fn emit_block(
    start: BlockStart,
    call: Option<ToolCallId>,
    arguments: &str,
    states: &[OpaqueState],
    next: &mut u32,
    events: &mut Vec<ClientEvent>,
) {
    let index = *next;
    *next += 1;
    let delta = Delta::BlockStarted { index, start };
    events.push(ClientEvent::Piece { call, delta });
    let mut piece = |delta| events.push(ClientEvent::Piece { call: None, delta });
    if !arguments.is_empty() {
        let text = arguments.into();
        piece(Delta::ArgumentsAppended { index, text });
    }
    for state in states {
        let state = state.clone();
        piece(Delta::StateSet { index, state });
    }
    piece(Delta::BlockEnded { index });
}

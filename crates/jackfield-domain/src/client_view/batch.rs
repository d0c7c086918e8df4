//! The calls of a round, as a client is shown them.

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

/// The calls of one reply, but for those that its provider ran itself or that were shown as they came.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownBatch {
    calls: Vec<ShownCall>,
    /// Whether it was decided what becomes of them, and they were shown.
    is_shown: bool,
}

#[derive(Clone, Debug)]
struct ShownCall {
    call: Arc<ToolCall>,
    /// The state of providers that belongs to it.
    opaque: Vec<OpaqueState>,
    outcome: Option<Arc<ToolOutcome>>,
    /// As what it is shown.
    shown: CallDisplay,
}

/// As what a call is shown.
#[derive(Clone, Debug)]
enum CallDisplay {
    /// The client is to run it.
    Clients,
    /// Not at all, or to its end.
    Nothing,
    /// Jackfield runs it: the state that says which tool it is.
    Servers(OpaqueState),
}

impl ShownBatch {
    /// The calls of this reply, of which these are shown already.
    pub(super) fn of(reply: &Message, begun: &[ToolCallId]) -> Self {
        let calls = reply
            .blocks
            .iter()
            .filter_map(|block| match &block.content {
                Content::ToolCall(call) if begun.contains(&call.id) => None,
                Content::ToolCall(call) if call.ran_by != RanBy::Provider => Some(ShownCall {
                    call: Arc::clone(call),
                    opaque: block.opaque.clone(),
                    outcome: None,
                    shown: CallDisplay::Nothing,
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

    /// A call has its outcome; a model is shown as many bytes of it.
    pub(super) fn close(&mut self, id: &ToolCallId, result: &ToolResult, shown: Option<usize>) {
        if let Some(call) = self.find(id) {
            let cut = shown.and_then(|limit| result.cut(limit));
            call.outcome = Some(Arc::new(ToolOutcome {
                call: id.clone(),
                opaque: Vec::new(),
                result: cut.unwrap_or_else(|| result.clone()),
            }));
        }
    }

    /// Somebody outside is asked about a call.
    pub(super) fn wait(&mut self, wait: &Wait) {
        if wait.kind == WaitKind::ClientResult
            && let Some(call) = self.find(&wait.call)
        {
            call.shown = CallDisplay::Clients;
        }
    }

    /// Shows the calls, once: it is decided what becomes of them. Then shows outcomes, in the order of
    /// their calls.
    pub(super) fn show(
        &mut self,
        display: Display,
        catalog: &Catalog,
        next: &mut u32,
        shown: &mut Vec<ClientEvent>,
    ) {
        if !self.is_shown {
            self.is_shown = true;
            for call in &mut self.calls {
                if matches!(call.shown, CallDisplay::Nothing)
                    && display.server_tools
                    && let Some(tool) = catalog.tool(call.call.name.as_str())
                    && tool.ran_by == RanBy::Engine
                {
                    call.shown = CallDisplay::Servers(ServerTool::state(&tool.origin));
                }
                call.begin(next, shown);
            }
        }
        for call in &mut self.calls {
            if !call.end(next, shown) {
                break;
            }
        }
    }

    /// Shows the outcomes that there are: the reply ends.
    pub(super) fn show_closed(&mut self, next: &mut u32, shown: &mut Vec<ClientEvent>) {
        for call in &mut self.calls {
            call.end(next, shown);
        }
    }

    fn find(&mut self, id: &ToolCallId) -> Option<&mut ShownCall> {
        self.calls.iter_mut().find(|call| call.call.id == *id)
    }
}

impl ShownCall {
    /// Shows the call.
    fn begin(&self, next: &mut u32, shown: &mut Vec<ClientEvent>) {
        let (ran_by, states, upstream) = match &self.shown {
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
        block(start, call, text, states, next, shown);
    }

    /// Shows what came of the call, if that is to be shown and has not been. Says whether there is nothing
    /// left to be shown.
    fn end(&mut self, next: &mut u32, shown: &mut Vec<ClientEvent>) -> bool {
        let CallDisplay::Servers(state) = &self.shown else {
            return true;
        };
        let Some(outcome) = &self.outcome else {
            return false;
        };
        let start = BlockStart::Whole(Content::ToolOutcome(Arc::clone(outcome)));
        let states = std::slice::from_ref(state);
        block(start, None, "", states, next, shown);
        self.shown = CallDisplay::Nothing;
        true
    }
}

/// Shows a block that is whole.
fn block(
    start: BlockStart,
    call: Option<ToolCallId>,
    arguments: &str,
    states: &[OpaqueState],
    next: &mut u32,
    shown: &mut Vec<ClientEvent>,
) {
    let index = *next;
    *next += 1;
    let delta = Delta::BlockStarted { index, start };
    shown.push(ClientEvent::Piece { call, delta });
    let mut piece = |delta| shown.push(ClientEvent::Piece { call: None, delta });
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

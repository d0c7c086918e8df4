//! The trace contexts that the calls of a turn pass on, and what is gathered for the spans of these calls.

use std::sync::{Arc, Mutex, PoisonError};

use jackfield_domain::ids::ToolAttempt;
use jackfield_domain::trace::{TraceContext, TurnSpan, TurnTrace};
use jackfield_domain::turn::Turn;
use jackfield_ports::mcp_observer::McpRequest;

use crate::state::EngineState;

/// What the calls of a turn pass on: spans of the turn's own trace if it is exported, else what the client sent.
#[derive(Clone, Debug)]
pub(crate) struct CallTraces {
    client: Option<Arc<TraceContext>>,
    trace: Option<TurnTrace>,
}

impl CallTraces {
    pub(crate) fn of(shared: &EngineState, turn: &Turn) -> Self {
        let client = turn.setup().trace.clone();
        let trace = (shared.exports_traces())
            .then(|| TurnTrace::of(turn.id(), client.as_ref()))
            .flatten();
        Self { client, trace }
    }

    /// The context for the call of this span.
    pub(crate) fn context(&self, span: &TurnSpan<'_>) -> Option<Arc<TraceContext>> {
        match &self.trace {
            Some(trace) => Some(Arc::new(trace.context(span))),
            None => self.client.clone(),
        }
    }
}

/// The requests to MCP servers that the tool calls of a turn made. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObservedCalls(Option<Arc<Mutex<CallRequests>>>);

/// Requests, each with the attempt at a tool call that it belongs to.
type CallRequests = Vec<(ToolAttempt, McpRequest)>;

impl ObservedCalls {
    /// None yet. They are gathered only for an observer that exports traces.
    pub(crate) fn new(shared: &EngineState) -> Self {
        Self(shared.exports_traces().then(Arc::default))
    }

    pub(crate) fn push(&self, attempt: &ToolAttempt, request: &McpRequest) {
        let Some(requests) = &self.0 else { return };
        let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() < MAX_REQUESTS {
            requests.push((attempt.clone(), request.clone()));
        }
    }

    /// All of them, which are dropped here.
    pub(crate) fn take(&self) -> CallRequests {
        let Some(requests) = &self.0 else {
            return Vec::new();
        };
        std::mem::take(&mut *requests.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The maximum number of requests that are gathered for one turn.
const MAX_REQUESTS: usize = 4096;

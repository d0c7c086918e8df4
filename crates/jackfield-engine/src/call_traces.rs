//! The trace contexts that the calls of a turn pass on.

use std::sync::Arc;

use jackfield_domain::trace::{TraceContext, TurnSpan, TurnTrace};
use jackfield_domain::turn::Turn;

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
        let is_exported = (shared.turn_observers.iter()).any(|one| one.exports_traces());
        let trace = is_exported
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

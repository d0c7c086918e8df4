//! Sees what the turns of an engine did and used, for figures about all of them.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, ToolAttempt};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::trace::TraceContext;
use jackfield_ports::mcp_observer::McpRequest;

use crate::options::Durability;

/// Sees each turn that an engine ends, and each spending record that it stores. Both are committed by then.
///
/// The methods are called between two steps of a turn: they must not block, and not take long.
pub trait TurnObserver: Send + Sync {
    /// A turn has ended.
    fn turn_ended(&self, turn: &EndedTurn);

    /// Whether it exports the traces of turns, so that the calls of a turn belong to its own spans.
    fn exports_traces(&self) -> bool {
        false
    }

    /// A spending record was stored.
    fn record_stored(&self, record: &SpendingRecord);

    /// A request that was passed through has ended. This is reported only if an observer exports traces.
    fn request_passed(&self, request: &PassedRequest) {
        let _untraced = request;
    }
}

/// A turn that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTurn {
    /// The requests to MCP servers that its tool calls made in this process, in the order of their ends. They are no
    /// facts, and are gathered only if an observer exports traces.
    pub requests: Vec<(ToolAttempt, McpRequest)>,
    /// Where its session is. What an ephemeral turn used is stored as spending records, too.
    pub durability: Durability,
    /// Its session.
    pub session: SessionId,
    /// Its steps, from its opening on, those of earlier processes included.
    pub steps: Vec<Envelope>,
}

/// A request that was passed through to a provider, as a span. Its calls of providers are spending records, whose trace
/// context is that of this span.
#[derive(Clone, Debug, PartialEq)]
pub struct PassedRequest {
    /// When it arrived.
    pub at: WallTime,
    /// The context of its span.
    pub context: TraceContext,
    /// The beginning of its path, such as `/v1/chat/completions`.
    pub endpoint: Arc<str>,
    /// Why it failed, in a word; `None` if it did not.
    pub error: Option<Arc<str>>,
    /// Its method.
    pub method: Arc<str>,
    /// The client's trace context, if it sent one.
    pub parent: Option<Arc<TraceContext>>,
    /// The status of its reply; `None` if it got none from a provider.
    pub status: Option<u16>,
    /// The time from its arrival to the end of its reply.
    pub took: Duration,
}

/// The steps of a turn in progress; nothing is kept if there is no observer.
#[derive(Debug, Default)]
pub(crate) struct ObservedSteps(Option<Vec<Envelope>>);

impl ObservedSteps {
    pub(crate) fn new(is_observed: bool) -> Self {
        Self(is_observed.then(Vec::new))
    }

    /// Adds a committed step. A turn begins with its opening.
    pub(crate) fn push(&mut self, step: &Envelope) {
        let Some(steps) = &mut self.0 else { return };
        let mut facts = step.facts.iter();
        if facts.any(|fact| matches!(fact, Fact::TurnOpened { .. })) {
            steps.clear();
        }
        steps.push(step.clone());
    }

    /// All steps so far, which are dropped here.
    pub(crate) fn take(&mut self) -> Vec<Envelope> {
        self.0.take().unwrap_or_default()
    }
}

//! Scripts of a tool's calls.

use std::sync::Arc;

use jackfield_domain::failure::ToolFailure;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::wait::{JobHandle, Question};
use jackfield_ports::toolbox::ToolEnd;
use serde_json::Value;

use crate::gate::Gate;

/// The behaviour of a [`ScriptedToolbox`](super::ScriptedToolbox)'s tool in one call.
#[derive(Clone, Debug)]
#[must_use = "a call is answered when it is given to a toolbox"]
pub struct ScriptedCall {
    pub(super) acts: Vec<FakeCallAct>,
    pub(super) end: FakeCallEnd,
    /// The late outcome of a call that is dropped before its end, and the gate for which it waits.
    pub(super) late: Option<(ToolResult, Gate)>,
}

/// An action of a scripted tool before its end.
#[derive(Clone, Debug)]
pub(super) enum FakeCallAct {
    Accept(JobHandle),
    Progress(f64, Option<f64>, Option<String>),
    Wait(Gate),
}

/// The end of a scripted call.
#[derive(Clone, Debug)]
pub(super) enum FakeCallEnd {
    Come(Box<Result<ToolEnd, ToolFailure>>),
    Panic,
}

impl ScriptedCall {
    const fn ending(end: FakeCallEnd) -> Self {
        Self {
            acts: Vec::new(),
            end,
            late: None,
        }
    }

    /// This result.
    pub fn result(result: ToolResult) -> Self {
        Self::ending(FakeCallEnd::Come(Box::new(Ok(ToolEnd::Finished(result)))))
    }

    /// A result of this text.
    pub fn text(text: &str) -> Self {
        Self::result(ToolResult::text(text))
    }

    /// An end without an outcome.
    pub fn failure(failure: ToolFailure) -> Self {
        Self::ending(FakeCallEnd::Come(Box::new(Err(failure))))
    }

    /// A question, and the handle for its answer.
    pub fn question(message: &str, handle: Value) -> Self {
        let question = Question {
            message: message.into(),
            schema: None,
            sampling: None,
            url: None,
        };
        Self::asks(question, handle)
    }

    /// This question, and the handle for its answer.
    pub fn asks(question: Question, handle: Value) -> Self {
        Self::ending(FakeCallEnd::Come(Box::new(Ok(ToolEnd::Asked {
            handle: JobHandle(Arc::new(handle)),
            question,
        }))))
    }

    /// A panic during the call.
    pub const fn panicking() -> Self {
        Self::ending(FakeCallEnd::Panic)
    }

    /// The same, after reporting that the call continues under this handle.
    pub fn accepted(mut self, handle: Value) -> Self {
        self.acts
            .push(FakeCallAct::Accept(JobHandle(Arc::new(handle))));
        self
    }

    /// The same, after reporting this progress.
    pub fn progressed(mut self, done: f64, of: Option<f64>, message: Option<&str>) -> Self {
        let message = message.map(ToOwned::to_owned);
        self.acts.push(FakeCallAct::Progress(done, of, message));
        self
    }

    /// The same, but if dropped before its end it still has this outcome, once the gate opens.
    pub fn late(mut self, result: ToolResult, gate: &Gate) -> Self {
        self.late = Some((result, gate.clone()));
        self
    }

    /// The same, but it waits at this gate after its earlier actions.
    pub fn held_at(mut self, gate: &Gate) -> Self {
        self.acts.push(FakeCallAct::Wait(gate.clone()));
        self
    }
}

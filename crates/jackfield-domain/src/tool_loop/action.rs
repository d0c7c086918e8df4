//! Actions: work for whoever drives the loop.

use crate::fact::TurnEnd;
use crate::ids::{ModelAttempt, ToolAttempt};
use crate::request::{Attempt, ModelRequest, ToolRun};
use crate::tool::ToolOrigin;
use crate::wait::{ElicitationAnswer, JobHandle, Wait};

/// Work, to be performed once the step's facts are committed. Imperative on purpose.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Stop this try if it is still under way. What it answers from now on is late.
    Abort(Attempt),
    /// Ask the model. Answered by reply deltas and a reply's end, or by its failure.
    CallModel {
        /// The try, repeated by the inputs that answer.
        attempt: ModelAttempt,
        /// What to ask.
        request: Box<ModelRequest>,
    },
    /// The turn is over; nothing will be asked of the driver any more.
    Finish(TurnEnd),
    /// Let somebody outside know of a question. Answered by a delivery.
    OpenWait(Wait),
    /// Find a call that goes on elsewhere, and wait for it. Never runs it again.
    ResumeTool {
        /// The answer to its question, if it had one.
        answer: Option<ElicitationAnswer>,
        /// The try, repeated by the inputs that answer.
        attempt: ToolAttempt,
        /// What finds it.
        handle: JobHandle,
        /// The tool.
        tool: ToolOrigin,
    },
    /// Run a tool. Answered by its outcome, its failure, its question or its acceptance.
    RunTool(Box<ToolRun>),
}

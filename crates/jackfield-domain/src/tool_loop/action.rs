//! Actions: the work that the loop asks its driver to do.

use crate::fact::TurnEnd;
use crate::ids::{ModelAttempt, ToolAttempt};
use crate::request::{Attempt, ModelRequest, ToolRun};
use crate::tool::ToolOrigin;
use crate::wait::{ElicitationAnswer, JobHandle, Wait};

/// Work to be performed after the step's facts are committed. Named in the imperative.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Give up a call whose question gets no answer any more: its tool need not keep it open. It has no answer.
    AbandonTool {
        /// The handle that finds it.
        handle: JobHandle,
        /// The tool.
        tool: ToolOrigin,
    },
    /// Stop this attempt if it is still running. Its results from now on are late.
    Abort(Attempt),
    /// Call the model. Answered by deltas and a reply's end, or by a failure.
    CallModel {
        /// The attempt; the inputs that answer repeat it.
        attempt: ModelAttempt,
        /// The request.
        request: Box<ModelRequest>,
    },
    /// The turn is over; there are no further actions.
    Finish(TurnEnd),
    /// Announce a wait. Answered by a delivery.
    OpenWait(Wait),
    /// Find a call that continues elsewhere, and wait for it. Never runs the call again.
    ResumeTool {
        /// The answer to the tool's question, if it asked one.
        answer: Option<ElicitationAnswer>,
        /// The attempt; the inputs that answer repeat it.
        attempt: ToolAttempt,
        /// The handle that finds it.
        handle: JobHandle,
        /// The tool.
        tool: ToolOrigin,
    },
    /// Run a tool. Answered by its outcome, failure, question or acceptance.
    RunTool(Box<ToolRun>),
}

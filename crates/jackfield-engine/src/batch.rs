//! Batches: the steps that a driver commits in one append.

use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{Envelope, InputKind};
use jackfield_domain::ids::{ModelAttempt, ToolCallId};
use jackfield_domain::time::Now;
use jackfield_domain::tool_loop::{Action, Input, LOOP_VERSION, Step, ToolLoop};

use crate::events::ToolNotice;

/// Steps that are committed in one append, with their actions and events.
#[derive(Default)]
pub(crate) struct StepBatch {
    pub(crate) actions: Vec<Action>,
    pub(crate) undo: Option<Box<BatchUndo>>,
    pub(crate) events: Vec<BatchEvent>,
    /// Whether a call was not begun because another process may own the session by now.
    pub(crate) lease_passed: bool,
    pub(crate) steps: Vec<Envelope>,
}

/// The loop's state before a batch, and the inputs of the batch, so that the batch can be decided again.
pub(crate) struct BatchUndo {
    pub(crate) inputs: Vec<Input>,
    pub(crate) turn: ToolLoop,
}

/// An event for observers, in order.
pub(crate) enum BatchEvent {
    Delta {
        attempt: ModelAttempt,
        call: Option<ToolCallId>,
        delta: Delta,
    },
    Notice(ToolNotice),
    /// The facts of the step at this index.
    Step(usize),
}

impl StepBatch {
    pub(crate) fn add(&mut self, step: Step, input: InputKind, now: Now) {
        let Step { actions, facts, .. } = step;
        if !facts.is_empty() {
            self.events.push(BatchEvent::Step(self.steps.len()));
            self.steps.push(Envelope {
                facts,
                input,
                now,
                step: 0,
                version: LOOP_VERSION,
            });
        }
        self.actions.extend(actions);
    }
}

/// The events that are not inputs of the loop: observers get them even if the batch is discarded.
pub(crate) fn notices_only(events: Vec<BatchEvent>) -> Vec<BatchEvent> {
    let is_no_input = |event: &BatchEvent| matches!(event, BatchEvent::Notice(_));
    events.into_iter().filter(is_no_input).collect()
}

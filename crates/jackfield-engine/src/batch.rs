//! Batches: what a driver commits as one.

use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{Envelope, InputKind};
use jackfield_domain::ids::{ModelAttempt, ToolCallId};
use jackfield_domain::time::Now;
use jackfield_domain::tool_loop::{Action, Input, LOOP_VERSION, Step, ToolLoop};

use crate::events::ToolNotice;

/// Steps that are committed as one, and what follows from them.
#[derive(Default)]
pub(crate) struct StepBatch {
    pub(crate) actions: Vec<Action>,
    pub(crate) before: Option<Box<BatchUndo>>,
    pub(crate) news: Vec<BatchEvent>,
    pub(crate) steps: Vec<Envelope>,
}

/// The machine before a batch, and what it was fed: for batches that may have to be fed again.
pub(crate) struct BatchUndo {
    pub(crate) inputs: Vec<Input>,
    pub(crate) turn: ToolLoop,
}

/// News, in order.
pub(crate) enum BatchEvent {
    Delta {
        attempt: ModelAttempt,
        call: Option<ToolCallId>,
        delta: Delta,
    },
    News(ToolNotice),
    /// The facts of the step at this place.
    Step(usize),
}

impl StepBatch {
    pub(crate) fn add(&mut self, step: Step, input: InputKind, now: Now) {
        let Step { actions, facts, .. } = step;
        if !facts.is_empty() {
            self.news.push(BatchEvent::Step(self.steps.len()));
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

/// What of these news is no input: it is told as it came, whatever becomes of the batch.
pub(crate) fn as_it_came(news: Vec<BatchEvent>) -> Vec<BatchEvent> {
    let is_no_input = |told: &BatchEvent| matches!(told, BatchEvent::News(_));
    news.into_iter().filter(is_no_input).collect()
}

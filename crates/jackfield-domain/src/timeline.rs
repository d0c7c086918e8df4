//! The timeline of a turn: its model calls, tool calls and waits, each from its beginning to its end, and the times in
//! which no process was at work on it.

use std::sync::Arc;
use std::time::Duration;

use crate::fact::{AfterLoss, CallEnd, Envelope, Fact, ModelCallEnd};
use crate::failure::Disposition;
use crate::ids::{ModelAttempt, ToolAttempt, ToolCallId, TurnId, WaitId};
use crate::reply::FinishReason;
use crate::request::ModelRef;
use crate::setup::Setup;
use crate::target::{AttemptTargets, TargetReason};
use crate::time::WallTime;
use crate::usage::Usage;
use crate::wait::{WaitEndKind, WaitKind};

/// What happened in a turn, in the order in which it began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The spans.
    pub spans: Vec<Span>,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// When it began.
    pub began: WallTime,
    /// When it ended; `None` while it goes on.
    pub ended: Option<WallTime>,
    /// The step that recorded its beginning.
    pub first_step: u64,
    /// What it is.
    pub kind: SpanKind,
    /// The step that recorded its end.
    pub last_step: Option<u64>,
}

/// What took time.
#[derive(Clone, Debug, PartialEq)]
pub enum SpanKind {
    /// No process was at work: the one before ended, and another one resumed the turn.
    Away,
    /// A failed model call is made again later.
    Backoff,
    /// An attempt at a tool call, or its outcome without an attempt.
    Call(CallSpan),
    /// The beginning of the conversation was replaced by a summary.
    Compaction {
        /// Whether there is a summary.
        succeeded: bool,
    },
    /// A model call.
    Model(ModelSpan),
    /// A question to a person or to the client.
    Wait(WaitSpan),
}

/// An attempt at a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSpan {
    /// The number of the attempt, from 1; 0 if it was not run.
    pub attempt: u32,
    /// The call.
    pub call: ToolCallId,
    /// How it ended, if it has.
    pub end: Option<CallSpanEnd>,
    /// The name that the model used.
    pub name: Arc<str>,
}

/// How an attempt at a tool call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum CallSpanEnd {
    /// With the outcome of the call.
    Closed {
        /// How the call got it.
        end: CallEnd,
        /// Whether it is an error.
        is_error: bool,
    },
    /// Without an outcome.
    Lost {
        /// What is known of its effects.
        disposition: Disposition,
        /// The failure, in a sentence.
        message: Arc<str>,
        /// The decision about it.
        then: AfterLoss,
    },
}

/// A model call.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpan {
    /// The attempt.
    pub attempt: ModelAttempt,
    /// How it ended, if it has.
    pub end: Option<ModelSpanEnd>,
    /// The time to the first piece of the reply, if it is known.
    pub first_token: Option<Duration>,
    /// The model.
    pub model: ModelRef,
    /// Why this model was called, if a route decided that.
    pub reason: Option<TargetReason>,
    /// Its usage, if it is known.
    pub usage: Option<Usage>,
}

/// How a model call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSpanEnd {
    /// Without a reply.
    Failed(ModelCallEnd),
    /// With a reply.
    Replied(FinishReason),
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitSpan {
    /// The call that it is about.
    pub call: ToolCallId,
    /// How it ended, if it has.
    pub end: Option<WaitEndKind>,
    /// What is asked.
    pub kind: WaitKind,
    /// The wait.
    pub wait: WaitId,
}

impl CallSpan {
    /// The attempt.
    #[must_use]
    pub fn attempt(&self) -> ToolAttempt {
        ToolAttempt {
            attempt: self.attempt,
            call: self.call.clone(),
        }
    }
}

impl Timeline {
    /// The timeline of this turn in the steps of its session; `None` if it is not among them.
    #[must_use]
    pub fn of_turn(turn: &TurnId, steps: &[Envelope]) -> Option<Self> {
        let mut fold: Option<TimelineFold> = None;
        for step in steps {
            for fact in &step.facts {
                if let Fact::TurnOpened {
                    setup, turn: id, ..
                } = fact
                {
                    if let Some(found) = fold {
                        return Some(found.timeline);
                    }
                    fold = (id == turn).then(|| TimelineFold::new(setup, step));
                } else if let Some(fold) = &mut fold {
                    fold.apply(fact, step);
                }
            }
            if let Some(fold) = &mut fold {
                fold.last = step.now.wall;
            }
        }
        fold.map(|fold| fold.timeline)
    }
}

/// The state of the fold.
struct TimelineFold {
    /// The calls of the turn, by id, with the name that the model used.
    calls: Vec<(ToolCallId, Arc<str>)>,
    /// When the last step before the current one was decided.
    last: WallTime,
    setup: Arc<Setup>,
    targets: AttemptTargets,
    timeline: Timeline,
}

impl TimelineFold {
    fn new(setup: &Arc<Setup>, step: &Envelope) -> Self {
        Self {
            calls: Vec::new(),
            last: step.now.wall,
            setup: Arc::clone(setup),
            targets: AttemptTargets::default(),
            timeline: Timeline::default(),
        }
    }

    fn apply(&mut self, fact: &Fact, step: &Envelope) {
        match fact {
            Fact::CallClosed {
                call, end, result, ..
            } => {
                let closed = CallSpanEnd::Closed {
                    end: *end,
                    is_error: result.is_error,
                };
                if !self.end_call(call, &closed, step) {
                    // It was not run here: denied, cached, or not worth a try.
                    self.begin(self.call_span(call, 0), step);
                    self.end_call(call, &closed, step);
                }
            }
            Fact::CallLost {
                attempt,
                disposition,
                message,
                then,
                ..
            } => {
                let lost = CallSpanEnd::Lost {
                    disposition: *disposition,
                    message: Arc::clone(message),
                    then: *then,
                };
                self.end_call(&attempt.call, &lost, step);
            }
            Fact::CallStarted { attempt, .. } => {
                let span = self.call_span(&attempt.call, attempt.attempt);
                self.begin(span, step);
            }
            Fact::Compacted(compaction) => {
                self.targets.add_compaction(compaction.attempt);
                let succeeded = compaction.failure.is_none();
                self.begin(SpanKind::Compaction { succeeded }, step);
                self.end_last(step);
                // No fact says when it began: with the step before.
                if let Some(span) = self.timeline.spans.last_mut() {
                    span.began = self.last;
                }
            }
            Fact::ModelCallEnded {
                attempt,
                first_token,
                retry_at,
                usage,
                why,
                ..
            } => {
                let end = ModelSpanEnd::Failed(why.clone());
                self.end_model(*attempt, &end, *first_token, *usage, step);
                // A turn that waits for room in a budget has the wait's span.
                let is_paused = matches!(why, ModelCallEnd::Failed(why) if why.is_of_budget());
                if retry_at.is_some_and(|at| at > step.now.wall) && !is_paused {
                    self.begin(SpanKind::Backoff, step);
                }
            }
            Fact::ModelCallStarted {
                attempt,
                choice,
                target,
                ..
            } => {
                self.targets.add(*attempt, *target);
                self.end_open(step, |kind| *kind == SpanKind::Backoff);
                let model = self.setup.model_of(*target).unwrap_or(&self.setup.model);
                let span = ModelSpan {
                    attempt: *attempt,
                    end: None,
                    first_token: None,
                    model: model.clone(),
                    reason: choice.as_ref().map(|choice| choice.reason),
                    usage: None,
                };
                self.begin(SpanKind::Model(span), step);
            }
            Fact::ReplyReceived {
                attempt,
                first_token,
                reply,
                ..
            } => {
                for call in reply.message.calls() {
                    self.calls
                        .push((call.id.clone(), call.name.as_str().into()));
                }
                let end = ModelSpanEnd::Replied(reply.end.finish.clone());
                self.end_model(*attempt, &end, *first_token, reply.end.usage, step);
            }
            Fact::TurnEnded { .. } => self.end_open(step, |_| true),
            Fact::TurnResumed { .. } => {
                // A turn that only waited had no process, and missed none.
                let is_at_work =
                    |span: &Span| span.ended.is_none() && !matches!(span.kind, SpanKind::Wait(_));
                let spans = &mut self.timeline.spans;
                if spans.iter().any(is_at_work) || !spans.iter().any(|span| span.ended.is_none()) {
                    spans.push(Span {
                        began: self.last,
                        ended: Some(step.now.wall),
                        first_step: step.step,
                        kind: SpanKind::Away,
                        last_step: Some(step.step),
                    });
                }
            }
            Fact::WaitClosed { end, wait, .. } => {
                let open = self.timeline.spans.iter_mut().rev();
                for span in open.filter(|span| span.ended.is_none()) {
                    if let SpanKind::Wait(asked) = &mut span.kind
                        && asked.wait == *wait
                    {
                        asked.end = Some(end.kind());
                        span.end(step);
                    }
                }
            }
            Fact::WaitOpened { wait } => {
                let span = WaitSpan {
                    call: wait.call.clone(),
                    end: None,
                    kind: wait.kind.clone(),
                    wait: wait.id.clone(),
                };
                self.begin(SpanKind::Wait(span), step);
            }
            Fact::BackendSession { .. }
            | Fact::CallAccepted { .. }
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnOpened { .. } => {}
        }
    }

    fn begin(&mut self, kind: SpanKind, step: &Envelope) {
        self.timeline.spans.push(Span {
            began: step.now.wall,
            ended: None,
            first_step: step.step,
            kind,
            last_step: None,
        });
    }

    fn call_span(&self, call: &ToolCallId, attempt: u32) -> SpanKind {
        let known = self.calls.iter().rev().find(|(id, _)| id == call);
        SpanKind::Call(CallSpan {
            attempt,
            call: call.clone(),
            end: None,
            name: known.map_or_else(|| "?".into(), |(_, name)| Arc::clone(name)),
        })
    }

    /// Ends the attempt at a call that goes on; whether there is one.
    fn end_call(&mut self, call: &ToolCallId, end: &CallSpanEnd, step: &Envelope) -> bool {
        for span in self.timeline.spans.iter_mut().rev() {
            if let SpanKind::Call(made) = &mut span.kind
                && span.ended.is_none()
                && made.call == *call
            {
                made.end = Some(end.clone());
                span.end(step);
                return true;
            }
        }
        false
    }

    fn end_model(
        &mut self,
        attempt: ModelAttempt,
        end: &ModelSpanEnd,
        first_token: Option<Duration>,
        usage: Option<Usage>,
        step: &Envelope,
    ) {
        for span in self.timeline.spans.iter_mut().rev() {
            if let SpanKind::Model(made) = &mut span.kind
                && span.ended.is_none()
                && made.attempt == attempt
            {
                made.end = Some(end.clone());
                made.first_token = first_token;
                made.usage = usage;
                span.end(step);
                return;
            }
        }
    }

    fn end_last(&mut self, step: &Envelope) {
        if let Some(span) = self.timeline.spans.last_mut() {
            span.end(step);
        }
    }

    fn end_open(&mut self, step: &Envelope, is_over: impl Fn(&SpanKind) -> bool) {
        let spans = self.timeline.spans.iter_mut();
        for span in spans.filter(|span| span.ended.is_none() && is_over(&span.kind)) {
            span.end(step);
        }
    }
}

impl Span {
    fn end(&mut self, step: &Envelope) {
        self.ended = Some(step.now.wall);
        self.last_step = Some(step.step);
    }
}

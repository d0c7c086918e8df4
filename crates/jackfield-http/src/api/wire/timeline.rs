//! Wire types of timelines, steps and replays.

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::SessionId;
use jackfield_domain::replay::{ReplayVerdict, StepReplay};
use jackfield_domain::target::TargetReason;
use jackfield_domain::timeline::{CallSpanEnd, ModelSpanEnd, Span, SpanKind, Timeline};
use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_domain::turn_log::TurnLog;
use jackfield_export::values;
use jackfield_export::words::Status;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::turn::{FailureView, UsageView};

/// What happened in a turn, and when.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Timeline)]
pub(crate) struct TimelineView {
    /// The turn.
    turn: String,
    /// Its session.
    session: String,
    /// Its place in the session, from 1.
    number: u32,
    /// When it began.
    began: String,
    /// When it ended; null while it goes on.
    ended: Option<String>,
    /// The time from its beginning to its end, in milliseconds; null while it goes on.
    duration_ms: Option<u64>,
    /// What happened, in the order in which it began. Spans may lie beside each other.
    spans: Vec<SpanView>,
}

/// Something that took time.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = Span)]
pub(crate) struct SpanView {
    /// What it is: `model` (a model call), `call` (an attempt at a tool call), `wait` (a question), `backoff` (until
    /// a model is called again), `compaction` (a summary), or `away` (no process was at work).
    kind: &'static str,
    /// How long after the beginning of the turn it began, in milliseconds.
    offset_ms: u64,
    /// How long it took, in milliseconds; null while it goes on.
    duration_ms: Option<u64>,
    /// The step of the session that recorded its beginning.
    first_step: u64,
    /// The step that recorded its end; null while it goes on.
    last_step: Option<u64>,
    /// How it ended, in a word: of a model call `replied`, `cancelled`, `failed` or `lost`; of a tool call its
    /// status, or `lost`; of a question `answered`, `cancelled`, `expired` or `superseded`; of a compaction
    /// `replaced` or `failed`. Null while it goes on, and where there is nothing to say.
    end: Option<String>,
    /// The round of a model call, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    /// The try, from 1; 0 for a tool call that was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    /// The model, as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Why this model was called, if a route decided that: `affinity`, `content_filter`, `context_too_long`,
    /// `fallback`, `last_left` or `strategy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The time to the first piece of the reply, in milliseconds, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_token_ms: Option<u64>,
    /// How the reply ended, such as `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    finish: Option<String>,
    /// What the model call used.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// Why the model call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureView>,
    /// The tool call, or the one that is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// The tool, by the name that the model used.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait: Option<String>,
    /// What is asked: `approval`, `client_result`, `elicitation` or `unknown_outcome`.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'static str>,
    /// Why an attempt at a tool call was lost, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// A step: what was decided at once.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Step)]
pub(crate) struct StepView {
    /// Its number in the session, from 0.
    step: u64,
    /// When it was decided.
    at: String,
    /// What it answered, such as `reply_ended`.
    input: &'static str,
    /// The version of the rules by which it was decided.
    loop_version: u32,
    /// The facts, in the form in which they are stored, which another version may change.
    #[schema(value_type = Vec<Object>)]
    facts: Value,
}

/// The steps of a turn, decided again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Replay)]
pub(crate) struct ReplayView {
    /// The version of the rules that decided them now.
    loop_version: u32,
    /// How many came out the same.
    same: u64,
    /// How many came out differently, under other rules.
    decided_differently_since: u64,
    /// How many came out differently under the same rules: the record or the rules are damaged.
    differs: u64,
    /// How many cannot be decided again, as the record lacks their input.
    not_rebuilt: u64,
    /// Those that did not come out the same.
    steps: Vec<ReplayedStepView>,
}

/// A step that did not come out the same.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReplayedStep)]
pub(crate) struct ReplayedStepView {
    /// Its number in the session.
    step: u64,
    /// `decided_differently_since`, `differs` or `not_rebuilt`.
    verdict: &'static str,
    /// Where it differs first, or what the record lacks.
    why: String,
}

impl TimelineView {
    pub(crate) fn new(log: &TurnLog, timeline: &Timeline, session: &SessionId) -> Self {
        let ended = log.end().map(|(at, _)| at);
        let spans = timeline.spans.iter();
        Self {
            turn: log.turn.to_string(),
            session: session.to_string(),
            number: log.ordinal,
            began: log.began.to_rfc3339(),
            ended: ended.map(|at| at.to_rfc3339()),
            duration_ms: ended.map(|at| values::millis(at.since(log.began))),
            spans: spans.map(|span| SpanView::new(log, span)).collect(),
        }
    }
}

impl SpanView {
    fn new(log: &TurnLog, span: &Span) -> Self {
        let view = Self {
            offset_ms: values::millis(span.began.since(log.began)),
            duration_ms: span.ended.map(|at| values::millis(at.since(span.began))),
            first_step: span.first_step,
            last_step: span.last_step,
            ..Self::default()
        };
        match &span.kind {
            SpanKind::Away => Self {
                kind: "away",
                ..view
            },
            SpanKind::Backoff => Self {
                kind: "backoff",
                ..view
            },
            SpanKind::Call(call) => {
                let (end, message) = match &call.end {
                    None => (None, None),
                    Some(CallSpanEnd::Closed { end, is_error }) => {
                        (Some(Status::from_end(*end, *is_error).code()), None)
                    }
                    Some(CallSpanEnd::Lost { message, .. }) => (Some("lost"), Some(message)),
                };
                Self {
                    kind: "call",
                    attempt: Some(call.attempt),
                    call: Some(call.call.to_string()),
                    end: end.map(str::to_owned),
                    message: message.map(ToString::to_string),
                    tool: Some(call.name.to_string()),
                    ..view
                }
            }
            SpanKind::Compaction { succeeded } => Self {
                kind: "compaction",
                end: Some(if *succeeded { "replaced" } else { "failed" }.to_owned()),
                ..view
            },
            SpanKind::Model(model) => {
                let (end, finish, failure) = match &model.end {
                    None => (None, None, None),
                    Some(ModelSpanEnd::Replied(finish)) => {
                        let finish = values::finish(finish).to_owned();
                        (Some("replied"), Some(finish), None)
                    }
                    Some(ModelSpanEnd::Failed(why)) => (
                        Some(values::model_call_end(why)),
                        None,
                        FailureView::of(why),
                    ),
                };
                Self {
                    kind: "model",
                    attempt: Some(model.attempt.attempt),
                    end: end.map(str::to_owned),
                    failure,
                    finish,
                    first_token_ms: model.first_token.map(values::millis),
                    model: Some(values::model(&model.model)),
                    reason: model.reason.map(TargetReason::as_str),
                    round: Some(model.attempt.round),
                    usage: model.usage.as_ref().map(UsageView::from),
                    ..view
                }
            }
            SpanKind::Wait(wait) => Self {
                kind: "wait",
                call: Some(wait.call.to_string()),
                end: wait.end.map(|end| end.as_str().to_owned()),
                question: Some(values::wait_kind(&wait.kind)),
                wait: Some(wait.wait.to_string()),
                ..view
            },
        }
    }
}

impl StepView {
    /// Converts a step; the facts are in their stored form.
    pub(crate) fn new(step: &Envelope, facts: Value) -> Self {
        Self {
            step: step.step,
            at: step.now.wall.to_rfc3339(),
            input: step.input.as_str(),
            loop_version: step.version,
            facts,
        }
    }
}

impl Default for ReplayView {
    fn default() -> Self {
        Self {
            loop_version: LOOP_VERSION,
            same: 0,
            decided_differently_since: 0,
            differs: 0,
            not_rebuilt: 0,
            steps: Vec::new(),
        }
    }
}

impl ReplayView {
    pub(crate) fn add(&mut self, replayed: &StepReplay) {
        let (verdict, why) = match &replayed.verdict {
            ReplayVerdict::Same => {
                self.same += 1;
                return;
            }
            ReplayVerdict::DecidedDifferentlySince(difference) => {
                self.decided_differently_since += 1;
                ("decided_differently_since", difference.to_string())
            }
            ReplayVerdict::Differs(difference) => {
                self.differs += 1;
                ("differs", difference.to_string())
            }
            ReplayVerdict::NotRebuilt(missing) => {
                self.not_rebuilt += 1;
                ("not_rebuilt", missing.to_string())
            }
        };
        self.steps.push(ReplayedStepView {
            step: replayed.step,
            verdict,
            why,
        });
    }
}

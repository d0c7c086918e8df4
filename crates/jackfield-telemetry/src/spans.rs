//! The trace of a turn, by its facts: a span for the turn, and one for each model call, tool call, wait and pause in it.

use jackfield_domain::fact::{Envelope, Fact, ModelCallEnd, TurnEnd};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::setup::Setup;
use jackfield_domain::time::WallTime;
use jackfield_domain::timeline::{CallSpanEnd, ModelSpan, ModelSpanEnd, SpanKind, Timeline};
use jackfield_domain::trace::{TurnSpan, TurnTrace};
use jackfield_engine::EndedTurn;
use jackfield_export::values;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind as OtlpKind};

use crate::mcp_spans;
use crate::names::span as names;
use crate::span_parts::{attribute, bounded, fail, nanos, number, text};
use crate::turns::call_error;

/// The spans of a turn that has ended; none if the caller does not record its trace.
pub(crate) fn of_turn(ended: &EndedTurn) -> Vec<Span> {
    let EndedTurn {
        requests,
        session,
        steps,
        ..
    } = ended;
    let Some(turn) = RootSpan::of(session, steps) else {
        return Vec::new();
    };
    let Some(timeline) = Timeline::of_turn(turn.turn, steps) else {
        return Vec::new();
    };
    let mut spans = vec![turn.root()];
    // What the end of a process cut off.
    let mut lost = Vec::new();
    for (nth, span) in timeline.spans.iter().enumerate() {
        let attempt;
        let place = match &span.kind {
            SpanKind::Call(call) => {
                attempt = call.attempt();
                TurnSpan::Tool(&attempt)
            }
            SpanKind::Model(model) => TurnSpan::Model(model.attempt),
            SpanKind::Away
            | SpanKind::Backoff
            | SpanKind::Compaction { .. }
            | SpanKind::Wait(_) => TurnSpan::Place(nth),
        };
        let mut made = Span {
            end_time_unix_nano: nanos(span.ended.unwrap_or(turn.ended)),
            start_time_unix_nano: nanos(span.began),
            ..turn.span(&place)
        };
        match &span.kind {
            SpanKind::Away => {
                "away".clone_into(&mut made.name);
                let links = lost.drain(..).map(|span_id| Link {
                    span_id,
                    trace_id: turn.trace.id().to_vec(),
                    ..Link::default()
                });
                made.links = links.collect();
            }
            SpanKind::Backoff => "backoff".clone_into(&mut made.name),
            SpanKind::Compaction { succeeded } => {
                "compact".clone_into(&mut made.name);
                if !succeeded {
                    fail(&mut made, "compaction_failed");
                }
            }
            SpanKind::Model(model) => {
                describe_model(&mut made, model);
                if model.end == Some(ModelSpanEnd::Failed(ModelCallEnd::Lost)) {
                    lost.push(made.span_id.clone());
                }
            }
            SpanKind::Call(call) => {
                made.name = bounded(format!("{} {}", names::EXECUTE_TOOL, call.name));
                let attempt = i64::from(call.attempt);
                made.attributes = vec![
                    text(names::OPERATION, names::EXECUTE_TOOL),
                    text(names::TOOL, &*call.name),
                    text(names::TOOL_CALL, call.call.as_str()),
                    number(names::ATTEMPT, attempt),
                ];
                let attempt = call.attempt();
                let mut requests = requests.iter().rev();
                if let Some((_, request)) = requests.find(|(of, _)| *of == attempt) {
                    made.attributes.extend(mcp_spans::attributes(request));
                }
                match &call.end {
                    Some(CallSpanEnd::Closed { end, is_error }) => {
                        fail(&mut made, call_error(*end, *is_error));
                    }
                    Some(CallSpanEnd::Lost { .. }) => {
                        lost.push(made.span_id.clone());
                        fail(&mut made, "lost");
                    }
                    None => {}
                }
            }
            SpanKind::Wait(wait) => {
                let kind = values::wait_kind(&wait.kind);
                made.name = format!("wait {kind}");
                made.attributes = vec![text(names::TOOL_CALL, wait.call.as_str())];
                if let Some(end) = wait.end {
                    let end = end.as_str();
                    made.attributes.push(text(names::END, end));
                }
            }
        }
        spans.push(made);
    }
    spans
}

/// The turn, as the root of its spans.
struct RootSpan<'s> {
    began: WallTime,
    end: Option<&'s TurnEnd>,
    ended: WallTime,
    resumed: u32,
    /// The id of its span.
    root: [u8; 8],
    session: &'s SessionId,
    setup: &'s Setup,
    trace: TurnTrace,
    turn: &'s TurnId,
}

impl<'s> RootSpan<'s> {
    fn of(session: &'s SessionId, steps: &'s [Envelope]) -> Option<Self> {
        let mut found: Option<Self> = None;
        let facts = steps
            .iter()
            .flat_map(|step| step.facts.iter().map(|fact| (fact, step.now.wall)));
        for (fact, at) in facts {
            match (fact, &mut found) {
                (Fact::TurnOpened { setup, turn, .. }, _) => {
                    let trace = TurnTrace::of(turn, setup.trace.as_ref())?;
                    found = Some(Self {
                        began: at,
                        end: None,
                        ended: at,
                        resumed: 0,
                        session,
                        setup,
                        root: trace.span_id(&TurnSpan::Turn),
                        trace,
                        turn,
                    });
                }
                (Fact::TurnResumed { nth, .. }, Some(turn)) => turn.resumed = *nth,
                (Fact::TurnEnded { end, .. }, Some(turn)) => {
                    (turn.end, turn.ended) = (Some(end), at);
                }
                _ => {}
            }
        }
        found
    }

    /// A span of the trace.
    fn span(&self, span: &TurnSpan<'_>) -> Span {
        Span {
            kind: OtlpKind::Internal.into(),
            parent_span_id: self.root.to_vec(),
            span_id: self.trace.span_id(span).to_vec(),
            trace_id: self.trace.id().to_vec(),
            trace_state: self.trace.state().unwrap_or_default().to_owned(),
            ..Span::default()
        }
    }

    fn root(&self) -> Span {
        let agent = self.setup.assistant.as_deref();
        let name = match agent {
            Some(agent) => format!("{} {agent}", names::INVOKE_AGENT),
            None => names::INVOKE_AGENT.to_owned(),
        };
        let mut root = Span {
            attributes: vec![
                text(names::OPERATION, names::INVOKE_AGENT),
                text(names::CONVERSATION, self.session.as_str()),
                text(names::TURN, self.turn.as_str()),
                number(names::RESUMED, i64::from(self.resumed)),
            ],
            end_time_unix_nano: nanos(self.ended),
            kind: OtlpKind::Server.into(),
            name,
            parent_span_id: self.trace.parent().map_or_else(Vec::new, Vec::from),
            start_time_unix_nano: nanos(self.began),
            ..self.span(&TurnSpan::Turn)
        };
        if let Some(agent) = agent {
            root.attributes.push(text(names::AGENT, agent));
        }
        if let Some(end) = self.end {
            root.attributes.push(text(names::END, end.as_str()));
            if let TurnEnd::Failed(failure) | TurnEnd::Interrupted(failure) = end {
                fail(&mut root, values::failure_kind(failure.kind));
            }
        }
        root
    }
}

fn describe_model(made: &mut Span, model: &ModelSpan) {
    made.name = bounded(format!("{} {}", names::CHAT, model.model.model));
    made.kind = OtlpKind::Client.into();
    made.attributes = vec![
        text(names::OPERATION, names::CHAT),
        text(names::PROVIDER, &*model.model.provider),
        text(names::MODEL, &*model.model.model),
        number(names::ROUND, i64::from(model.attempt.round)),
        number(names::ATTEMPT, i64::from(model.attempt.attempt)),
    ];
    if let Some(usage) = model.usage {
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        made.attributes.extend([
            number(names::INPUT_TOKENS, count(usage.input)),
            number(names::OUTPUT_TOKENS, count(usage.output)),
            number(names::CACHE_READ_TOKENS, count(usage.cache_read)),
            number(names::CACHE_WRITE_TOKENS, count(usage.cache_write)),
        ]);
    }
    if let Some(first) = model.first_token {
        let value = any_value::Value::DoubleValue(first.as_secs_f64());
        made.attributes.push(attribute(names::FIRST_CHUNK, value));
    }
    if let Some(reason) = model.reason {
        let reason = reason.as_str();
        made.attributes.push(text(names::TARGET_REASON, reason));
    }
    match &model.end {
        Some(ModelSpanEnd::Failed(end)) => {
            let kind = match end {
                ModelCallEnd::Failed(failure) => values::failure_kind(failure.kind),
                ModelCallEnd::Cancelled | ModelCallEnd::Lost => values::model_call_end(end),
            };
            fail(made, kind);
        }
        Some(ModelSpanEnd::Replied(reason)) => {
            let reason = any_value::Value::StringValue(values::finish(reason).to_owned());
            let reasons = ArrayValue {
                values: vec![AnyValue {
                    value: Some(reason),
                }],
            };
            let value = any_value::Value::ArrayValue(reasons);
            made.attributes
                .push(attribute(names::FINISH_REASONS, value));
        }
        None => {}
    }
}

//! Renders a turn for programs: one JSON event per line, as docs/cli.md describes.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use jackfield_domain::block::{Content, ToolCall};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Fact, ModelCallEnd};
use jackfield_domain::ids::{ModelAttempt, ToolCallId};
use jackfield_domain::note::Note;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::setup::Setup;
use jackfield_domain::time::{MonoTime, Now};
use jackfield_domain::wait::{Wait, WaitEnd, WaitKind};
use jackfield_engine::{AnswerFit, CallReport, TurnReport};
use serde_json::{Value, json};

use crate::render::event::RenderEvent;
use crate::render::words::{self, Status};
use crate::render::{PromptPlace, QuestionPrompt, SavedFiles, TurnRenderer, spent};

pub(crate) use jackfield_export::values::{
    arguments, cached_call, cost as cost_value, end, failure, merge, millis, model, model_call_end,
    note, tool_use, wait_kind,
};

/// Renders a turn for a program.
#[derive(Debug)]
pub struct Json<O> {
    /// The position of each call in the current reply.
    blocks: Vec<(ToolCallId, u32)>,
    files: Option<SavedFiles>,
    noted: BTreeSet<(String, String)>,
    out: O,
    setup: Option<Arc<Setup>>,
    started: Vec<(ToolCallId, MonoTime)>,
    thinking: Vec<u32>,
}

impl<O: Write + Send> Json<O> {
    /// A renderer that writes to this stream.
    pub const fn new(out: O) -> Self {
        Self {
            blocks: Vec::new(),
            files: None,
            noted: BTreeSet::new(),
            out,
            setup: None,
            started: Vec::new(),
            thinking: Vec::new(),
        }
    }

    /// Saves the files of results.
    pub(super) fn saving(self, files: Option<SavedFiles>) -> Self {
        Self { files, ..self }
    }

    /// The stream, with everything written to it.
    pub fn into_inner(self) -> O {
        self.out
    }

    /// Takes the stream, and leaves a new one.
    pub(crate) fn take(&mut self) -> O
    where
        O: Default,
    {
        std::mem::take(&mut self.out)
    }

    pub(crate) fn line(&mut self, event: &Value) -> io::Result<()> {
        let mut line = words::escaped(serde_json::to_string(event)?);
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }

    fn delta(
        &mut self,
        attempt: ModelAttempt,
        delta: &Delta,
        call: Option<&ToolCallId>,
    ) -> io::Result<()> {
        match delta {
            Delta::BlockStarted { index, start } => {
                self.blocks.extend(call.map(|id| (id.clone(), *index)));
                self.thinking.retain(|open| open != index);
                if matches!(start, BlockStart::Thinking { .. }) {
                    self.thinking.push(*index);
                }
                Ok(())
            }
            Delta::TextAppended { index, text } if !text.is_empty() => {
                let event = if self.thinking.contains(index) {
                    "thinking"
                } else {
                    "text"
                };
                self.line(&json!({
                    "event": event,
                    "round": attempt.round, "attempt": attempt.attempt, "block": index, "text": &**text,
                }))
            }
            Delta::AnnotationAdded { .. }
            | Delta::ArgumentsAppended { .. }
            | Delta::BlockEnded { .. }
            | Delta::StateSet { .. }
            | Delta::TextAppended { .. } => Ok(()),
        }
    }

    fn fact(&mut self, fact: &Fact, now: Now) -> io::Result<()> {
        match fact {
            Fact::TurnOpened { setup, turn, .. } => {
                self.setup = Some(Arc::clone(setup));
                let tools: Vec<&str> = setup
                    .catalog
                    .iter()
                    .map(|tool| tool.definition.name.as_str())
                    .collect();
                self.line(&json!({
                    "event": "turn_started",
                    "turn": turn.as_str(), "model": model(&setup.model), "tools": tools,
                }))
            }
            Fact::ModelCallStarted { attempt, tools, .. } => {
                let (allowed, why) = tool_use(*tools);
                self.blocks.clear();
                self.thinking.clear();
                self.line(&json!({
                    "event": "round_started",
                    "round": attempt.round, "attempt": attempt.attempt,
                    "tools_allowed": allowed, "why_not": why,
                }))
            }
            Fact::ReplyReceived { attempt, reply, .. } => {
                for (place, block) in reply.message.blocks.iter().enumerate() {
                    if let Content::ToolCall(call) = &block.content {
                        let shown = self.blocks.iter().find(|(id, _)| *id == call.id);
                        let place = shown.map_or(place as u64, |(_, index)| u64::from(*index));
                        self.line(&call_event(*attempt, place, call))?;
                    }
                }
                for one in &reply.end.notes {
                    if self.noted.insert(subject(one)) {
                        self.line(&merge(json!({ "event": "note" }), note(one)))?;
                    }
                }
                Ok(())
            }
            Fact::ModelCallEnded {
                attempt,
                retry_at,
                why,
                ..
            } => {
                let failed = match why {
                    ModelCallEnd::Failed(failed) => Some(failure(failed)),
                    ModelCallEnd::Cancelled | ModelCallEnd::Lost => None,
                };
                let why = model_call_end(why);
                let wait = retry_at.map(|at| millis(at.since(now.wall)));
                let event = if retry_at.is_some() {
                    "retry"
                } else {
                    "model_call_ended"
                };
                self.line(&json!({
                    "event": event,
                    "round": attempt.round, "attempt": attempt.attempt,
                    "why": why, "failure": failed, "after_ms": wait,
                }))
            }
            Fact::Compacted(compaction) => {
                let failure = match &compaction.failure {
                    Some(ModelCallEnd::Failed(failed)) => Some(failure(failed)),
                    Some(ModelCallEnd::Cancelled | ModelCallEnd::Lost) | None => None,
                };
                let cost = self.setup.as_ref().and_then(|setup| compaction.cost(setup));
                self.line(&json!({
                    "event": "compacted",
                    "round": compaction.attempt.round, "replaced": compaction.replaced,
                    "why_not": compaction.failure.as_ref().map(model_call_end), "failure": failure,
                    "usage": compaction.usage.as_ref().map(spent::of_usage),
                    "cost": cost.as_ref().map(cost_value),
                }))
            }
            Fact::CallStarted { attempt, .. } => {
                self.started.retain(|(id, _)| *id != attempt.call);
                self.started.push((attempt.call.clone(), now.mono));
                self.line(&json!({
                    "event": "tool_started", "id": attempt.call.as_str(), "attempt": attempt.attempt,
                }))
            }
            Fact::CallClosed {
                cached,
                call,
                end,
                result,
                ..
            } => {
                let started = self.started.iter().find(|(id, _)| id == call);
                let took = started.map(|(_, started)| millis(now.mono.since(*started)));
                let status = Status::from_end(*end, result.is_error).code();
                let event = json!({
                    "event": "tool_finished",
                    "id": call.as_str(), "status": status, "duration_ms": took,
                    "cached": cached.as_deref().map(cached_call),
                });
                let event = merge(event, outcome(result));
                let saved = self.files.as_mut().map(|files| files.save(call, result));
                self.line(&match saved.transpose()? {
                    Some(saved) => merge(event, json!({ "saved": saved })),
                    None => event,
                })
            }
            Fact::WaitOpened { wait } => self.line(&json!({
                "event": "wait",
                "id": wait.id.as_str(), "call": wait.call.as_str(), "kind": wait_kind(&wait.kind),
                "expires_in_ms": millis(wait.deadline.since(now.wall)),
                "subject": wait_subject(&wait.kind),
            })),
            Fact::WaitClosed { end, wait, .. } => {
                let by = match end {
                    WaitEnd::Answered { by, .. } => Some(&**by),
                    WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => None,
                };
                self.line(&json!({
                    "event": "wait_ended",
                    "id": wait.as_str(), "how": end.kind().as_str(), "by": by,
                }))
            }
            Fact::BackendSession { .. }
            | Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnEnded { .. } => Ok(()),
            Fact::TurnResumed { .. } => {
                // The clock of another process says nothing here.
                self.started.clear();
                Ok(())
            }
        }
    }
}

impl<O: Write + Send> TurnRenderer for Json<O> {
    fn show(&mut self, event: &RenderEvent) -> io::Result<()> {
        match event {
            RenderEvent::Delta {
                attempt,
                call,
                delta,
            } => self.delta(*attempt, delta, call.as_ref()),
            RenderEvent::Fact { fact, now } => self.fact(fact, *now),
            RenderEvent::Progress {
                attempt,
                done,
                message,
                total: of,
            } => self.line(&json!({
                "event": "tool_progress",
                "id": attempt.call.as_str(), "done": done, "of": of, "message": message,
            })),
            RenderEvent::Queued { session } => self.show_remark(&words::queued(session)),
            RenderEvent::PastEnded => {
                self.started.clear();
                Ok(())
            }
            RenderEvent::Undecided { .. } => Ok(()),
            RenderEvent::Unavailable { problem } => self.show_remark(&words::problem(problem)),
        }
    }

    fn show_question(&mut self, _wait: &Wait, _prompt: &QuestionPrompt) -> io::Result<()> {
        Ok(())
    }

    fn show_answer(
        &mut self,
        _wait: &Wait,
        _end: &WaitEnd,
        _manner: PromptPlace,
    ) -> io::Result<()> {
        Ok(())
    }

    fn show_remark(&mut self, remark: &str) -> io::Result<()> {
        self.line(&json!({ "event": "remark", "text": remark }))
    }

    fn finish(&mut self, report: &TurnReport, _fit: &AnswerFit) -> io::Result<()> {
        let ended = ended(report, self.files.as_mut())?;
        self.line(&merge(json!({ "event": "turn_ended" }), ended))
    }
}

/// The result of a turn, for programs.
pub(super) fn ended(report: &TurnReport, mut files: Option<&mut SavedFiles>) -> io::Result<Value> {
    let mut calls = Vec::new();
    for one in &report.calls {
        let call = call_report(one);
        calls.push(match &mut files {
            Some(files) => {
                let saved = files.save(&one.call.id, &one.result)?;
                merge(call, json!({ "saved": saved }))
            }
            None => call,
        });
    }
    let mut noted = BTreeSet::new();
    let notes = report.notes.iter().filter(|one| noted.insert(subject(one)));
    let notes: Vec<Value> = notes.map(note).collect();
    Ok(json!({
        "session": report.session.as_str(),
        "turn": report.turn.as_str(),
        "end": end(&report.end),
        "answer": report.answer(),
        "rounds": report.rounds,
        "usage": spent::of_usage(&report.usage),
        "cost": report.cost.as_ref().map(spent::of_cost),
        "calls": calls,
        "notes": notes,
    }))
}

/// The result of a tool, for programs.
#[must_use]
pub fn outcome(result: &ToolResult) -> Value {
    let others = result
        .content
        .iter()
        .filter(|part| part.as_text().is_none())
        .count();
    json!({
        "is_error": result.is_error,
        "result": result.to_text(),
        "structured": result.structured.as_deref(),
        "files": others,
    })
}

fn call_event(attempt: ModelAttempt, block: u64, call: &ToolCall) -> Value {
    json!({
        "event": "tool_call",
        "round": attempt.round, "block": block, "id": call.id.as_str(), "name": call.name.as_str(),
        "arguments": arguments(&call.input), "ran_by": call.ran_by.as_str(),
    })
}

fn call_report(report: &CallReport) -> Value {
    let call = json!({
        "id": report.call.id.as_str(),
        "name": report.call.name.as_str(),
        "toolbox": report.origin.as_ref().map(|origin| origin.toolbox.as_str()),
        "arguments": arguments(&report.call.input),
        "status": Status::from_end(report.end, report.result.is_error).code(),
        "duration_ms": report.took.map(millis),
    });
    merge(call, outcome(&report.result))
}

/// The subject of an approval, for programs; its answer is bound to that.
fn wait_subject(kind: &WaitKind) -> Option<String> {
    match kind {
        WaitKind::Approval { subject } => subject.map(|subject| subject.to_hex()),
        WaitKind::Budget { .. }
        | WaitKind::ClientResult
        | WaitKind::Elicitation { .. }
        | WaitKind::UnknownOutcome => None,
    }
}

/// The identity of a note: every round repeats it, but a turn reports it once.
fn subject(note: &Note) -> (String, String) {
    (note.code.to_string(), note.path.clone())
}

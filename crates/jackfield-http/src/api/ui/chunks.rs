//! The events of a turn as the chunks of an AI SDK message.
//!
//! Source: the package `ai` 7.0.173 of npm (`ui-message-chunks`, `process-ui-message-stream`), read on 2026-11-26.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_domain::block::RanBy;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{ModelAttempt, SessionId, WaitId};
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::turn_log::TurnLog;
use jackfield_domain::wait::{Answer, Approval, UnknownAnswer, WaitEnd, WaitKind};
use serde_json::{Value, json};

use super::super::session_events::SessionEvents;
use super::super::wire::blocks::{BlockView, MessageView, ResultView};
use super::super::wire::events::{BlockStarted, EventView, TextTold};
use super::super::wire::turn::{CallView, TurnView, WaitView};

/// Makes chunks of the events of one turn.
pub(super) struct Chunks {
    /// The calls that are written, by the ids of their blocks.
    calls: BTreeMap<String, String>,
    /// The blocks of text or reasoning that are open, by their ids.
    open: BTreeSet<String>,
    /// The waits that the front end was asked.
    asked: BTreeSet<String>,
    events: SessionEvents,
    session: SessionId,
    step: StepState,
}

/// Whether a step of the message is open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum StepState {
    None,
    Open,
    /// It is open, and what it had was taken back.
    Reset,
}

impl Chunks {
    /// For a message from its beginning.
    pub(super) fn new(events: SessionEvents, session: SessionId) -> Self {
        Self {
            calls: BTreeMap::new(),
            open: BTreeSet::new(),
            asked: BTreeSet::new(),
            events,
            session,
            step: StepState::None,
        }
    }

    /// For the rest of a message, whose last step is open; it shows the questions of the turn so far.
    pub(super) fn continued(events: SessionEvents, session: SessionId, log: &TurnLog) -> Self {
        let asked = log.waits.iter().filter(|asked| match asked.wait.kind {
            WaitKind::Approval { .. } | WaitKind::UnknownOutcome => true,
            WaitKind::Budget { .. } | WaitKind::ClientResult | WaitKind::Elicitation { .. } => {
                false
            }
        });
        Self {
            asked: asked.map(|asked| asked.wait.id.to_string()).collect(),
            step: StepState::Open,
            ..Self::new(events, session)
        }
    }

    /// The events that the chunks are made of.
    pub(super) const fn events(&self) -> &SessionEvents {
        &self.events
    }

    /// The first chunk of the rest of a message.
    pub(super) fn start(turn: &str) -> Value {
        json!({ "type": "start", "messageId": turn })
    }

    /// The chunks for an event.
    pub(super) fn convert(&mut self, event: SessionEvent) -> Vec<Value> {
        let answered = match &event {
            SessionEvent::Fact { fact, .. } => answer(fact),
            SessionEvent::Superseded { .. } | SessionEvent::Text { .. } => None,
        };
        let mut chunks = Vec::new();
        if let Some(event) = self.events.convert(event) {
            self.add(event, &mut chunks);
        }
        // An answer to a question that this message does not show would be an error for the front end.
        if let Some((wait, approved, reason)) = answered
            && self.asked.contains(wait.as_str())
        {
            let mut chunk = json!({
                "type": "tool-approval-response", "approvalId": wait.as_str(), "approved": approved,
            });
            if !reason.is_empty() {
                insert(&mut chunk, "reason", reason.into());
            }
            chunks.push(chunk);
        }
        chunks
    }

    /// The last chunks, where the turn is over or only waits.
    pub(super) fn end(&mut self) -> Vec<Value> {
        let mut chunks = Vec::new();
        let is_over = self.events.turn().is_none_or(|turn| turn.end().is_some());
        if !is_over {
            self.finish_step(&mut chunks);
            chunks.push(json!({ "type": "finish", "finishReason": "tool-calls" }));
        }
        chunks
    }

    fn add(&mut self, event: EventView, chunks: &mut Vec<Value>) {
        match event {
            EventView::TurnStarted(started) => chunks.push(json!({
                "type": "start", "messageId": started.turn,
                "messageMetadata": {
                    "session": self.session.as_str(), "turn": started.turn, "model": started.model,
                },
            })),
            EventView::RoundStarted(_) => match self.step {
                // The step that was reset goes on.
                StepState::Reset => self.step = StepState::Open,
                StepState::None | StepState::Open => {
                    self.finish_step(chunks);
                    self.step = StepState::Open;
                    chunks.push(json!({ "type": "start-step" }));
                }
            },
            EventView::BlockStarted(block) => self.block_started(block, chunks),
            EventView::Text(text) => chunks.extend(self.text(&text)),
            EventView::BlockEnded(block) => {
                let id = block_id(
                    ModelAttempt {
                        round: block.round,
                        attempt: block.attempt,
                    },
                    block.block,
                );
                self.close(&id, chunks);
            }
            EventView::Reply(reply) => self.reply(&reply.message, chunks),
            EventView::Superseded(_) => {
                self.open.clear();
                if self.step != StepState::None {
                    self.step = StepState::Reset;
                    chunks.push(json!({ "type": "reset-step" }));
                }
            }
            EventView::ReplyFailed(_) => self.close_all(chunks),
            EventView::CallEnded(ended) => chunks.extend(self.call_ended(&ended.call)),
            EventView::WaitStarted(wait) => chunks.extend(self.wait_started(&wait)),
            EventView::TurnEnded(ended) => self.turn_ended(&ended.turn, chunks),
            // The front end has no place for these.
            EventView::CallAccepted(_)
            | EventView::CallLost(_)
            | EventView::CallProgress(_)
            | EventView::CallStarted(_)
            | EventView::Compacted(_)
            | EventView::Forked(_)
            | EventView::Imported(_)
            | EventView::TurnResumed(_)
            | EventView::WaitEnded(_) => {}
        }
    }

    fn block_started(&mut self, block: BlockStarted, chunks: &mut Vec<Value>) {
        let attempt = ModelAttempt {
            round: block.round,
            attempt: block.attempt,
        };
        let id = block_id(attempt, block.block);
        match (&*block.kind, block.call, block.name, block.whole) {
            ("tool_call", Some(call), Some(name), _) => {
                chunks.push(self.tool("tool-input-start", &call, &name));
                self.calls.insert(id, call);
            }
            ("whole", _, _, Some(BlockView::Image { source })) => {
                let url = match (&source.data, &source.media_type, &source.url) {
                    (Some(data), Some(kind), _) => Some(format!("data:{kind};base64,{data}")),
                    (_, _, Some(url)) => Some(url.clone()),
                    (_, _, _) => None,
                };
                if let Some(url) = url {
                    let kind = source.media_type.as_deref().unwrap_or("image/*");
                    chunks.push(json!({ "type": "file", "url": url, "mediaType": kind }));
                }
            }
            ("whole", ..) => {}
            ("thinking", ..) => {
                chunks.push(json!({ "type": "reasoning-start", "id": reasoning(&id) }));
                self.open.insert(reasoning(&id));
            }
            _ => {
                chunks.push(json!({ "type": "text-start", "id": id }));
                self.open.insert(id);
            }
        }
    }

    fn text(&self, text: &TextTold) -> Option<Value> {
        let attempt = ModelAttempt {
            round: text.round,
            attempt: text.attempt,
        };
        let id = block_id(attempt, text.block);
        match &*text.kind {
            "arguments" => {
                let call = self.calls.get(&id)?;
                Some(json!({
                    "type": "tool-input-delta", "toolCallId": call, "inputTextDelta": text.text,
                }))
            }
            "thinking" => Some(json!({
                "type": "reasoning-delta", "id": reasoning(&id), "delta": text.text,
            })),
            _ => Some(json!({ "type": "text-delta", "id": id, "delta": text.text })),
        }
    }

    fn close(&mut self, id: &str, chunks: &mut Vec<Value>) {
        if self.open.remove(id) {
            chunks.push(json!({ "type": "text-end", "id": id }));
        } else if self.open.remove(&reasoning(id)) {
            chunks.push(json!({ "type": "reasoning-end", "id": reasoning(id) }));
        }
    }

    fn close_all(&mut self, chunks: &mut Vec<Value>) {
        for id in std::mem::take(&mut self.open) {
            let kind = if id.starts_with(REASONING) {
                "reasoning-end"
            } else {
                "text-end"
            };
            chunks.push(json!({ "type": kind, "id": id }));
        }
    }

    /// The calls of a complete reply, with what the provider's own tools gave, and the sources of its texts.
    fn reply(&mut self, message: &MessageView, chunks: &mut Vec<Value>) {
        self.close_all(chunks);
        let mut sources = 0;
        for block in &message.blocks {
            match block {
                BlockView::ToolCall {
                    id,
                    name,
                    arguments,
                    ..
                } => {
                    let mut chunk = self.tool("tool-input-available", id, name);
                    insert(&mut chunk, "input", arguments.clone());
                    chunks.push(chunk);
                }
                BlockView::ToolResult { id, result } => chunks.push(output(id, result)),
                BlockView::Text { sources: all, .. } => {
                    for source in all {
                        if let Some(url) = &source.url {
                            sources += 1;
                            let round = message.round.unwrap_or_default();
                            chunks.push(json!({
                                "type": "source-url", "sourceId": format!("{round}.{sources}"),
                                "url": url, "title": source.title,
                            }));
                        }
                    }
                }
                BlockView::Audio { .. }
                | BlockView::Document { .. }
                | BlockView::Image { .. }
                | BlockView::Other { .. }
                | BlockView::Refusal { .. }
                | BlockView::Thinking { .. } => {}
            }
        }
    }

    fn call_ended(&self, call: &CallView) -> Option<Value> {
        let result = call.result.as_ref()?;
        let was_asked = || {
            let turn = self.events.turn();
            let waits = turn.into_iter().flat_map(|turn| &turn.waits);
            waits.into_iter().any(|wait| {
                wait.wait.call.as_str() == call.id && self.asked.contains(wait.wait.id.as_str())
            })
        };
        Some(if call.status == "denied" && was_asked() {
            json!({ "type": "tool-output-denied", "toolCallId": call.id })
        } else if call.success == Some(true) {
            output(&call.id, result)
        } else {
            json!({ "type": "tool-output-error", "toolCallId": call.id, "errorText": result.text })
        })
    }

    fn wait_started(&mut self, wait: &WaitView) -> Option<Value> {
        let reason = match &*wait.kind {
            "approval" => None,
            "unknown_outcome" => Some(
                "It is unknown whether this call took effect. A no tells the model so, a yes runs it again.",
            ),
            _ => return None,
        };
        self.asked.insert(wait.id.clone());
        let mut chunk = json!({
            "type": "tool-approval-request", "approvalId": wait.id, "toolCallId": wait.call,
        });
        if let Some(reason) = reason {
            insert(&mut chunk, "reason", reason.into());
        }
        Some(chunk)
    }

    fn turn_ended(&mut self, turn: &TurnView, chunks: &mut Vec<Value>) {
        self.close_all(chunks);
        self.finish_step(chunks);
        let Some(end) = &turn.end else { return };
        if end.kind == "cancelled" {
            let reason = end.cause.as_deref().unwrap_or("cancelled");
            chunks.push(json!({ "type": "abort", "reason": reason }));
            return;
        }
        let reason = match (&*end.kind, end.finish.as_deref()) {
            ("answered", Some("length" | "context_full")) => "length",
            ("answered", Some("content_filter" | "refused")) => "content-filter",
            ("answered", _) => "stop",
            ("interrupted", _) => "interrupted",
            ("limited", _) => "length",
            (_, _) => "error",
        };
        if matches!(&*end.kind, "failed" | "interrupted" | "client_expired") {
            let failure = end.failure.as_ref().map(|failure| &*failure.message);
            let text = failure.unwrap_or("the results of a client tool did not come in time");
            chunks.push(json!({ "type": "error", "errorText": text }));
        }
        chunks.push(json!({ "type": "finish", "finishReason": reason }));
    }

    fn finish_step(&mut self, chunks: &mut Vec<Value>) {
        if self.step != StepState::None {
            self.step = StepState::None;
            chunks.push(json!({ "type": "finish-step" }));
        }
    }

    /// A chunk about a call, with where its tool comes from.
    fn tool(&self, kind: &str, call: &str, name: &str) -> Value {
        let tool = self.events.turn().and_then(|turn| entry(turn, name));
        let mut chunk = json!({
            "type": kind, "toolCallId": call, "toolName": name, "dynamic": true,
        });
        // What the front end does not run is run for it.
        let is_client = tool.is_some_and(|tool| tool.ran_by == RanBy::Client);
        if !is_client {
            insert(&mut chunk, "providerExecuted", true.into());
        }
        if let Some(tool) = tool {
            if let Some(title) = &tool.title {
                insert(&mut chunk, "title", (**title).into());
            }
            let (server, own) = (
                tool.origin.toolbox.to_string(),
                tool.origin.tool.to_string(),
            );
            insert(
                &mut chunk,
                "toolMetadata",
                json!({ "server": server, "tool": own }),
            );
        }
        chunk
    }
}

fn entry<'a>(turn: &'a TurnLog, name: &str) -> Option<&'a jackfield_domain::tool::CatalogEntry> {
    turn.setup.catalog.tool(name)
}

fn output(call: &str, result: &ResultView) -> Value {
    if result.is_error {
        return json!({ "type": "tool-output-error", "toolCallId": call, "errorText": result.text });
    }
    let output = match (&result.structured, &*result.files) {
        (Some(structured), _) => structured.clone(),
        (None, []) => Value::from(&*result.text),
        (None, files) => json!({ "text": result.text, "files": files }),
    };
    json!({ "type": "tool-output-available", "toolCallId": call, "output": output })
}

/// The answer of a person to a yes-or-no question.
fn answer(fact: &Fact) -> Option<(WaitId, bool, String)> {
    let Fact::WaitClosed {
        end: WaitEnd::Answered { answer, .. },
        wait,
        ..
    } = fact
    else {
        return None;
    };
    let (approved, reason) = match answer {
        Answer::Approval(Approval::Granted { .. })
        | Answer::UnknownOutcome(UnknownAnswer::Retry) => (true, String::new()),
        Answer::Approval(Approval::Denied { reason }) => (false, reason.to_string()),
        Answer::UnknownOutcome(UnknownAnswer::Landed(_) | UnknownAnswer::Report) => {
            (false, String::new())
        }
        Answer::ClientResult(_) | Answer::Elicitation(_) => return None,
    };
    Some((wait.clone(), approved, reason))
}

fn block_id(attempt: ModelAttempt, block: u32) -> String {
    format!("{}.{}.{block}", attempt.round, attempt.attempt)
}

fn reasoning(id: &str) -> String {
    format!("{REASONING}{id}")
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}

/// What ids of reasoning begin with.
const REASONING: &str = "r";

//! Rebuilds turns from the facts of a session, including turns in progress.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jackfield_domain::block::{Block, Content, RanBy, ToolCall};
use jackfield_domain::fact::{CallEnd, Envelope, Fact, ModelCallEnd, TurnEnd};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolCallId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::target::AttemptTargets;
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::Wait;

use super::wire::blocks::{BlockView, MessageView, ResultView, arguments};
use super::wire::turn::{
    CallView, CostView, EndView, NoteView, OriginView, TurnView, UsageView, WaitView,
};
use super::wire::words;

/// The state of one turn so far.
#[derive(Debug)]
pub(crate) struct TurnStory {
    answer: String,
    began: WallTime,
    calls: Vec<CallStory>,
    end: Option<(TurnEnd, WallTime)>,
    is_calling_model: bool,
    messages: Vec<MessageView>,
    notes: Vec<NoteView>,
    seen_notes: BTreeSet<(String, String)>,
    /// Its place in the session, from 1.
    pub(crate) ordinal: u32,
    resumed: u32,
    rounds: u32,
    setup: Arc<Setup>,
    /// Its id.
    pub(crate) turn: TurnId,
    targets: AttemptTargets,
    usage_by_attempt: BTreeMap<ModelAttempt, Usage>,
    waits: Vec<Wait>,
}

#[derive(Debug)]
struct CallStory {
    attempts: u32,
    call: Arc<ToolCall>,
    closed: Option<ClosedCall>,
    edited: Option<Arc<ToolInput>>,
    round: u32,
    started: Option<MonoTime>,
}

#[derive(Debug)]
struct ClosedCall {
    end: CallEnd,
    result: Arc<ToolResult>,
    took: Option<u64>,
}

/// The turns in these steps.
pub(crate) fn turns(steps: &[Envelope]) -> Vec<TurnStory> {
    let mut turns: Vec<TurnStory> = Vec::new();
    for step in steps {
        for fact in &step.facts {
            if let Some(opened) = TurnStory::from_opening(fact, step.now.wall) {
                turns.push(opened);
            } else if let Some(turn) = turns.last_mut() {
                turn.apply(fact, step.now);
            }
        }
    }
    turns
}

impl TurnStory {
    /// The turn that a fact opens, if any.
    pub(crate) fn from_opening(fact: &Fact, at: WallTime) -> Option<Self> {
        let Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn,
        } = fact
        else {
            return None;
        };
        Some(Self {
            answer: String::new(),
            began: at,
            calls: Vec::new(),
            end: None,
            is_calling_model: false,
            messages: input_messages(opening, *ordinal),
            notes: Vec::new(),
            seen_notes: BTreeSet::new(),
            ordinal: *ordinal,
            resumed: 0,
            rounds: 0,
            setup: Arc::clone(setup),
            targets: AttemptTargets::default(),
            turn: turn.clone(),
            usage_by_attempt: BTreeMap::new(),
            waits: Vec::new(),
        })
    }

    /// Applies a fact of the turn.
    pub(crate) fn apply(&mut self, fact: &Fact, now: Now) {
        if let Some((attempt, usage)) = fact.usage() {
            let used = self.usage_by_attempt.entry(attempt).or_insert(usage);
            *used = used.merge(usage);
        }
        match fact {
            Fact::CallClosed {
                call, end, result, ..
            } => {
                if let Some(known) = self.call(call) {
                    let took = known.started.map(|started| now.mono.since(started));
                    known.closed = Some(ClosedCall {
                        end: *end,
                        result: Arc::clone(result),
                        took: took.map(words::millis),
                    });
                    let message = outcome(call, result);
                    self.messages.push(message);
                }
            }
            Fact::CallStarted {
                attempt, edited, ..
            } => {
                if let Some(known) = self.call(&attempt.call) {
                    known.attempts = attempt.attempt;
                    known.edited.clone_from(edited);
                    known.started = Some(now.mono);
                }
            }
            Fact::ModelCallEnded {
                attempt,
                partial,
                retry_at,
                why,
                ..
            } => {
                self.is_calling_model = retry_at.is_some();
                if let (Some(partial), None) = (partial, retry_at) {
                    self.apply_partial(*attempt, partial, why, now.wall);
                }
            }
            Fact::ModelCallStarted { attempt, .. } => {
                self.targets.apply(fact);
                self.is_calling_model = true;
                self.rounds = attempt.round;
            }
            Fact::ReplyReceived { attempt, reply, .. } => {
                self.is_calling_model = false;
                self.calls
                    .extend(reply.message.calls().map(|call| CallStory {
                        attempts: 0,
                        call: Arc::clone(call),
                        closed: provider_result(call, &reply.message.blocks),
                        edited: None,
                        round: attempt.round,
                        started: None,
                    }));
                self.answer = reply.message.to_text();
                for note in &reply.end.notes {
                    if self
                        .seen_notes
                        .insert((note.code.to_string(), note.path.clone()))
                    {
                        self.notes.push(note.into());
                    }
                }
                self.messages.push(MessageView {
                    at: Some(now.wall.to_rfc3339()),
                    round: Some(attempt.round),
                    finish: Some(words::finish(&reply.end.finish).to_owned()),
                    ..MessageView::from_message(&reply.message)
                });
            }
            Fact::TurnEnded { end, .. } => self.end = Some((end.clone(), now.wall)),
            Fact::TurnResumed { nth, .. } => {
                self.resumed = *nth;
                // Start times of another process are on another monotonic clock.
                self.calls.iter_mut().for_each(|call| call.started = None);
            }
            Fact::WaitClosed { wait, .. } => self.waits.retain(|open| open.id != *wait),
            Fact::WaitOpened { wait } => self.waits.push(wait.clone()),
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::CallLost { .. }
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::TurnOpened { .. } => {}
        }
    }

    /// The turn as an API view.
    pub(crate) fn view(&self, session: &SessionId) -> TurnView {
        let mut usage = Usage::default();
        self.usage_by_attempt
            .values()
            .for_each(|used| usage += *used);
        let cost = self.setup.bill(&self.targets, &self.usage_by_attempt);
        TurnView {
            id: self.turn.to_string(),
            session: session.to_string(),
            number: self.ordinal,
            status: self.status().to_owned(),
            end: self.end.as_ref().map(|(end, _)| EndView::from_end(end)),
            answer: self.answer.clone(),
            model: words::model(&self.setup.model),
            began: self.began.to_rfc3339(),
            ended: self.end.as_ref().map(|(_, at)| at.to_rfc3339()),
            rounds: self.rounds,
            resumed: self.resumed,
            messages: self.messages.clone(),
            calls: self.calls.iter().map(|call| self.call_view(call)).collect(),
            waits: self.waits.iter().map(WaitView::from_wait).collect(),
            usage: UsageView::from(&usage),
            cost: cost.as_ref().map(CostView::from),
            notes: self.notes.clone(),
        }
    }

    /// Whether it has ended.
    pub(crate) const fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Whether it is open and only waits for answers from outside.
    pub(crate) fn only_waits(&self) -> bool {
        let open = || self.calls.iter().filter(|call| call.closed.is_none());
        let is_asked = |call: &CallStory| self.waits.iter().any(|wait| wait.call == call.call.id);
        !self.is_over() && !self.is_calling_model && open().next().is_some() && open().all(is_asked)
    }

    /// Whether a call has its result. An unknown call counts as closed.
    pub(crate) fn is_closed(&self, id: &ToolCallId) -> bool {
        let mut calls = self.calls.iter();
        calls.all(|known| known.call.id != *id || known.closed.is_some())
    }

    /// One call as an API view.
    pub(crate) fn find_call(&self, id: &ToolCallId) -> Option<CallView> {
        let known = self.calls.iter().rev().find(|known| known.call.id == *id);
        known.map(|known| self.call_view(known))
    }

    fn status(&self) -> &'static str {
        if self.is_over() {
            "ended"
        } else if self.only_waits() {
            "waiting"
        } else {
            "running"
        }
    }

    fn call_view(&self, story: &CallStory) -> CallView {
        let call = &story.call;
        let tool = self.setup.catalog.tool(call.name.as_str());
        let origin = tool.map(|tool| &tool.origin);
        let ran_by = tool.map_or(call.ran_by, |tool| match call.ran_by {
            RanBy::Provider => RanBy::Provider,
            RanBy::Client | RanBy::Engine => tool.ran_by,
        });
        let asked = self.waits.iter().any(|wait| wait.call == call.id);
        let status = match &story.closed {
            Some(closed) => words::status(closed.end, closed.result.is_error),
            None if asked => "waiting",
            None if story.attempts > 0 => "running",
            None => "queued",
        };
        let closed = story.closed.as_ref();
        CallView {
            id: call.id.to_string(),
            name: call.name.as_str().to_owned(),
            source: OriginView {
                ran_by: words::ran_by(ran_by).to_owned(),
                server: origin.map(|origin| origin.toolbox.to_string()),
                tool: origin.map(|origin| origin.tool.to_string()),
            },
            round: story.round,
            arguments: arguments(&call.input),
            edited_arguments: story.edited.as_deref().map(arguments),
            status: status.to_owned(),
            success: closed.map(|_| status == "done"),
            attempts: story.attempts,
            duration_ms: closed.and_then(|closed| closed.took),
            result: closed.map(|closed| ResultView::from_result(&closed.result)),
        }
    }

    fn call(&mut self, id: &ToolCallId) -> Option<&mut CallStory> {
        let mut calls = self.calls.iter_mut().rev();
        calls.find(|known| known.call.id == *id)
    }

    /// Applies a reply that broke off and whose text is kept.
    fn apply_partial(
        &mut self,
        attempt: ModelAttempt,
        partial: &Message,
        why: &ModelCallEnd,
        at: WallTime,
    ) {
        let how = match why {
            ModelCallEnd::Cancelled => "cancelled",
            ModelCallEnd::Failed(_) => "failed",
            // The call is repeated.
            ModelCallEnd::Lost => return,
        };
        self.answer = partial.to_text();
        self.messages.push(MessageView {
            at: Some(at.to_rfc3339()),
            round: Some(attempt.round),
            finish: Some(how.to_owned()),
            ..MessageView::from_message(partial)
        });
    }
}

/// The result of a call that the provider ran: it is in the same reply.
fn provider_result(call: &ToolCall, blocks: &[Block]) -> Option<ClosedCall> {
    if call.ran_by != RanBy::Provider {
        return None;
    }
    blocks.iter().find_map(|block| match &block.content {
        Content::ToolOutcome(outcome) if outcome.call == call.id => Some(ClosedCall {
            end: CallEnd::Ran,
            result: Arc::new(outcome.result.clone()),
            took: None,
        }),
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => None,
    })
}

/// A tool result as a message.
fn outcome(call: &ToolCallId, result: &ToolResult) -> MessageView {
    let block = BlockView::ToolResult {
        id: call.to_string(),
        result: ResultView::from_result(result),
    };
    MessageView {
        role: words::role(Role::Tool).to_owned(),
        blocks: vec![block],
        at: None,
        round: None,
        finish: None,
    }
}

/// The input of a turn. A client that sends the whole conversation adds only its new messages.
fn input_messages(opening: &Opening, ordinal: u32) -> Vec<MessageView> {
    match opening {
        Opening::ClientResults(results) => results
            .iter()
            .map(|one| outcome(&one.call, &one.result))
            .collect(),
        Opening::Transcript(transcript) => {
            let all = transcript.messages();
            let known = if ordinal > 1 {
                all.len().saturating_sub(1)
            } else {
                0
            };
            let new = all.iter().skip(known);
            new.map(|message| MessageView::from_message(message))
                .collect()
        }
        Opening::UserMessage(message) => vec![MessageView::from_message(message)],
    }
}

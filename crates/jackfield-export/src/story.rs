//! Rebuilds the history of a session from its facts: turn by turn, call by call.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::block::{Block, Content, ToolCall};
use jackfield_domain::fact::{AfterLoss, CallEnd, Envelope, Fact, ModelCallEnd, TurnEnd};
use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, TurnId, WaitId};
use jackfield_domain::late::{self, LateOutcome};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::Reply;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{Delivery, Wait, WaitEnd};

/// A session.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) forked: Option<StoryOrigin>,
    pub(super) session: SessionId,
    pub(super) turns: Vec<StoryTurn>,
}

/// The origin of a forked session.
#[derive(Clone, Debug)]
pub(super) struct StoryOrigin {
    pub(super) from: SessionId,
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) ordinal: u32,
    pub(super) round: Option<u32>,
}

/// A turn.
#[derive(Clone, Debug)]
pub(super) struct StoryTurn {
    pub(super) began: WallTime,
    pub(super) calls: Vec<StoryCall>,
    pub(super) ended: Option<(WallTime, TurnEnd)>,
    pub(super) ordinal: u32,
    pub(super) resumed: u32,
    pub(super) messages: Vec<StoryMessage>,
    pub(super) setup: Arc<Setup>,
    pub(super) system: String,
    pub(super) turn: TurnId,
    /// The usage of each model call.
    usage: BTreeMap<ModelAttempt, Usage>,
}

/// A message.
#[derive(Clone, Debug)]
pub(super) enum StoryMessage {
    /// A model call without a complete reply.
    Ended {
        at: WallTime,
        attempt: ModelAttempt,
        partial: Option<Arc<Message>>,
        retry_at: Option<WallTime>,
        why: ModelCallEnd,
    },
    /// A message of the turn's opening.
    Opening(Arc<Message>),
    /// A message of the model.
    Reply {
        at: WallTime,
        attempt: ModelAttempt,
        reply: Arc<Reply>,
    },
}

/// A tool call with its history.
#[derive(Clone, Debug)]
pub(super) struct StoryCall {
    pub(super) call: Arc<ToolCall>,
    pub(super) closed: Option<StoryCallEnd>,
    pub(super) late: Vec<LateOutcome>,
    pub(super) origin: Option<ToolOrigin>,
    pub(super) attempts: Vec<TryStory>,
    pub(super) waits: Vec<WaitStory>,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub(super) struct StoryCallEnd {
    pub(super) at: WallTime,
    pub(super) end: CallEnd,
    pub(super) result: Arc<ToolResult>,
    pub(super) shown: Option<usize>,
}

/// An attempt at a call.
#[derive(Clone, Debug)]
pub(super) struct TryStory {
    pub(super) accepted: bool,
    pub(super) attempt: u32,
    pub(super) edited: Option<Arc<ToolInput>>,
    pub(super) lost: Option<LostAttempt>,
    pub(super) started: WallTime,
}

/// How an attempt without a result ended.
#[derive(Clone, Debug)]
pub(super) struct LostAttempt {
    pub(super) at: WallTime,
    pub(super) disposition: Disposition,
    pub(super) kind: ToolFailureKind,
    pub(super) message: Arc<str>,
    pub(super) then: AfterLoss,
}

/// A question to a person or a client.
#[derive(Clone, Debug)]
pub(super) struct WaitStory {
    pub(super) ended: Option<(WallTime, WaitEnd)>,
    pub(super) opened: WallTime,
    pub(super) wait: Wait,
}

impl Story {
    /// The history in these facts and deliveries.
    pub(super) fn from_steps(
        session: &SessionId,
        steps: &[Envelope],
        deliveries: &[Delivery],
    ) -> Self {
        let mut story = Self {
            forked: None,
            session: session.clone(),
            turns: Vec::new(),
        };
        for step in steps {
            for fact in &step.facts {
                story.apply(fact, step.now.wall);
            }
        }
        for late in late::outcomes(steps, deliveries) {
            let mut turns = story.turns.iter_mut();
            if let Some(call) = turns.find_map(|turn| turn.call(&late.attempt.call)) {
                call.late.push(late);
            }
        }
        story
    }

    fn apply(&mut self, fact: &Fact, at: WallTime) {
        match fact {
            Fact::SessionForked {
                at: place,
                from,
                messages,
            } => {
                self.forked = Some(StoryOrigin {
                    from: from.clone(),
                    messages: messages.to_vec(),
                    ordinal: place.ordinal,
                    round: place.round,
                });
            }
            Fact::TurnOpened {
                opening,
                ordinal,
                setup,
                turn,
            } => self.turns.push(StoryTurn {
                began: at,
                calls: Vec::new(),
                ended: None,
                ordinal: *ordinal,
                resumed: 0,
                messages: opening_messages(opening),
                setup: Arc::clone(setup),
                system: setup.system.render(),
                turn: turn.clone(),
                usage: BTreeMap::new(),
            }),
            fact @ (Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::ReplyReceived { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. }) => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.see(fact, at);
                }
            }
        }
    }
}

impl StoryTurn {
    /// The total usage of its model calls.
    pub(super) fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.usage.values().for_each(|usage| sum += *usage);
        sum
    }

    fn see(&mut self, fact: &Fact, at: WallTime) {
        if let Some((attempt, usage)) = fact.usage() {
            let known = self.usage.entry(attempt).or_insert(usage);
            // A count replaces an estimate.
            if known.estimated() > 0 {
                *known = usage;
            }
        }
        match fact {
            Fact::CallAccepted { attempt, .. } => {
                if let Some(this) = self.attempt(attempt) {
                    this.accepted = true;
                }
            }
            Fact::CallClosed {
                call,
                end,
                result,
                shown,
                cached: _,
                revealed: _,
            } => {
                if let Some(story) = self.call(call) {
                    story.closed = Some(StoryCallEnd {
                        at,
                        end: *end,
                        result: Arc::clone(result),
                        shown: *shown,
                    });
                }
            }
            Fact::CallLost {
                attempt,
                disposition,
                kind,
                message,
                then,
            } => {
                if let Some(this) = self.attempt(attempt) {
                    this.lost = Some(LostAttempt {
                        at,
                        disposition: *disposition,
                        kind: *kind,
                        message: Arc::clone(message),
                        then: *then,
                    });
                }
            }
            Fact::CallStarted {
                attempt, edited, ..
            } => {
                if let Some(story) = self.call(&attempt.call) {
                    story.attempts.push(TryStory {
                        accepted: false,
                        attempt: attempt.attempt,
                        edited: edited.clone(),
                        lost: None,
                        started: at,
                    });
                }
            }
            Fact::ModelCallEnded {
                attempt,
                partial,
                retry_at,
                why,
                ..
            } => self.messages.push(StoryMessage::Ended {
                at,
                attempt: *attempt,
                partial: partial.clone(),
                retry_at: *retry_at,
                why: why.clone(),
            }),
            Fact::ReplyReceived { attempt, reply, .. } => {
                for call in reply.message.calls() {
                    let tool = self.setup.catalog.tool(call.name.as_str());
                    self.calls.push(StoryCall {
                        call: Arc::clone(call),
                        closed: None,
                        late: Vec::new(),
                        origin: tool.map(|tool| tool.origin.clone()),
                        attempts: Vec::new(),
                        waits: Vec::new(),
                    });
                }
                self.messages.push(StoryMessage::Reply {
                    at,
                    attempt: *attempt,
                    reply: Arc::clone(reply),
                });
            }
            Fact::TurnEnded { end, .. } => self.ended = Some((at, end.clone())),
            Fact::TurnResumed { nth, .. } => self.resumed = *nth,
            Fact::WaitClosed { end, wait, .. } => {
                if let Some(story) = self.wait(wait) {
                    story.ended = Some((at, end.clone()));
                }
            }
            Fact::WaitOpened { wait } => {
                if let Some(story) = self.call(&wait.call) {
                    story.waits.push(WaitStory {
                        ended: None,
                        opened: at,
                        wait: wait.clone(),
                    });
                }
            }
            // Usage is counted above, and late results are added when the whole session is known.
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::Late(_)
            | Fact::ModelCallStarted { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnOpened { .. } => {}
        }
    }

    /// The call of this id.
    pub(super) fn call(&mut self, id: &ToolCallId) -> Option<&mut StoryCall> {
        let mut calls = self.calls.iter_mut().rev();
        calls.find(|story| story.call.id == *id)
    }

    fn attempt(&mut self, attempt: &ToolAttempt) -> Option<&mut TryStory> {
        let tries = self.call(&attempt.call)?.attempts.iter_mut().rev();
        let mut tries = tries.filter(|this| this.attempt == attempt.attempt);
        tries.next()
    }

    fn wait(&mut self, id: &WaitId) -> Option<&mut WaitStory> {
        let mut waits = self.calls.iter_mut().flat_map(|story| &mut story.waits);
        waits.find(|story| story.wait.id == *id)
    }
}

/// The opening of a turn, as messages.
fn opening_messages(opening: &Opening) -> Vec<StoryMessage> {
    match opening {
        Opening::ClientResults(results) => {
            let outcomes = results
                .iter()
                .map(|outcome| Block::from(Content::ToolOutcome(Arc::clone(outcome))));
            let message = Message::new(Role::Tool, outcomes.collect());
            vec![StoryMessage::Opening(Arc::new(message))]
        }
        Opening::Transcript(transcript) => transcript
            .messages()
            .iter()
            .map(|message| StoryMessage::Opening(Arc::clone(message)))
            .collect(),
        Opening::UserMessage(message) => vec![StoryMessage::Opening(Arc::clone(message))],
    }
}

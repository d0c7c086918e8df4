//! Waits: open questions to somebody outside, and the deliveries that answer them.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::caller::Repeats;
use crate::digest::Digest;
use crate::ids::{DeliveryId, ToolAttempt, ToolCallId, TurnId, WaitId};
use crate::outcome::ToolResult;
use crate::time::WallTime;

/// An open question to somebody outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// The call that it is about.
    pub call: ToolCallId,
    /// When it ends unanswered.
    pub deadline: WallTime,
    /// Its id: the same after a restart.
    pub id: WaitId,
    /// What is asked.
    pub kind: WaitKind,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitKind {
    /// May this call run?
    Approval {
        /// What the answer is bound to: see [`approval::subject`](crate::approval::subject). Waits of the
        /// first records have none; they are bound to their call alone.
        subject: Option<Digest>,
    },
    /// What is the result of this call of yours?
    ClientResult,
    /// The tool has a question of its own, in the middle of the call.
    Elicitation {
        /// What takes the answer back to the tool.
        handle: JobHandle,
        /// The question.
        question: Question,
    },
    /// Nobody knows whether this call took effect: what now?
    UnknownOutcome,
}

/// A tool's question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What is asked, in words.
    pub message: Arc<str>,
    /// The JSON Schema of the answer, if it has one.
    pub schema: Option<Arc<Value>>,
}

/// What a toolbox needs to find a call again that goes on elsewhere. Only the toolbox reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobHandle(pub Arc<Value>);

/// What somebody put into a session's inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// When the journal took it, by the journal's clock.
    pub at: WallTime,
    /// What it says.
    pub body: DeliveryBody,
    /// Who put it there, for people and for audits.
    pub by: Arc<str>,
    /// What deduplicates it.
    pub id: DeliveryId,
}

impl Delivery {
    /// Whether it says something of more calls than the one that it answers about.
    const fn is_for_session(&self) -> bool {
        matches!(
            self.body,
            DeliveryBody::Answer {
                answer: Answer::Approval(Approval::Granted {
                    for_session: true,
                    ..
                }),
                ..
            }
        )
    }
}

/// Deliveries that are there at once, in the order in which they are heard: what somebody said of one call
/// comes before what somebody allowed for all of them. Both were told that they are accepted.
pub fn as_heard(deliveries: &[Delivery]) -> impl Iterator<Item = &Delivery> {
    let of_one = deliveries.iter().filter(|one| !one.is_for_session());
    of_one.chain(deliveries.iter().filter(|one| one.is_for_session()))
}

/// What a delivery says.
#[derive(Clone, Debug, PartialEq)]
pub enum DeliveryBody {
    /// An answer to a wait.
    Answer {
        /// The answer.
        answer: Answer,
        /// The wait.
        wait: WaitId,
    },
    /// End the turn now.
    Cancel {
        /// Why.
        cause: CancelCause,
        /// Which turn: a cancel that comes too late must not hit the next one.
        turn: TurnId,
    },
    /// A tool answered after its call had been given up. The turn is as it was.
    Late {
        /// The try.
        attempt: ToolAttempt,
        /// Whether the tool said that it failed.
        is_error: bool,
        /// The size of what it answered, in bytes.
        size: usize,
        /// The beginning of its text, for people.
        text: Arc<str>,
    },
    /// A reply was taken back: nobody is given it any more. The turn is as it was.
    Withdrawn {
        /// The turn.
        turn: TurnId,
    },
    /// A client has a reply whole, so that the turn no longer owes it. The turn is as it was.
    Written {
        /// Which reply of the turn, from 0.
        segment: u32,
        /// The turn.
        turn: TurnId,
    },
}

/// Why a turn is to end.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum CancelCause {
    /// Somebody said so.
    Asked,
    /// A new message takes its place: the turn only waited, or such messages end a turn that runs.
    Superseded,
}

/// An answer to a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To an approval.
    Approval(Approval),
    /// To a client's tool call.
    ClientResult(ClientResult),
    /// To a tool's question.
    Elicitation(ElicitationAnswer),
    /// To an unknown outcome.
    UnknownOutcome(UnknownAnswer),
}

/// What a client brings of a call of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientResult {
    /// What the reply repeats of the request that brought it. Of several results that one request brings,
    /// one has it.
    pub repeats: Option<Arc<Repeats>>,
    /// The result.
    pub result: ToolResult,
}

impl From<ToolResult> for ClientResult {
    fn from(result: ToolResult) -> Self {
        Self {
            repeats: None,
            result,
        }
    }
}

/// An answer to an approval.
#[derive(Clone, Debug, PartialEq)]
pub enum Approval {
    /// It may not run.
    Denied {
        /// Why, for the model; may be empty.
        reason: Arc<str>,
    },
    /// It may run, once.
    Granted {
        /// Other arguments to run it with; the model's call keeps its own.
        edited: Option<Arc<Map<String, Value>>>,
        /// Whether all later calls of this tool may run too, in the whole session and with any arguments,
        /// as long as its definition stays the same.
        for_session: bool,
    },
}

/// An answer to a tool's question.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// This.
    Accepted(Arc<Value>),
    /// No answer will be given.
    Declined,
    /// The whole call is not wanted any more.
    Dismissed,
}

/// An answer to an unknown outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum UnknownAnswer {
    /// It took effect, and this is what came of it.
    Landed(ToolResult),
    /// Tell the model that nobody knows.
    Report,
    /// Run it again.
    Retry,
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitEnd {
    /// Somebody answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// Who gave it.
        by: Arc<str>,
        /// The delivery that brought it.
        delivery: DeliveryId,
    },
    /// The turn was cancelled.
    Cancelled,
    /// Nobody answered in time.
    Expired,
    /// A new message took the turn's place.
    Superseded,
}

impl WaitKind {
    /// Whether an answer of this kind answers a wait of this kind.
    #[must_use]
    pub const fn takes(&self, answer: &Answer) -> bool {
        matches!(
            (self, answer),
            (Self::Approval { .. }, Answer::Approval(_))
                | (Self::ClientResult, Answer::ClientResult(_))
                | (Self::Elicitation { .. }, Answer::Elicitation(_))
                | (Self::UnknownOutcome, Answer::UnknownOutcome(_))
        )
    }
}

/// How a wait ended, without the answer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum WaitEndKind {
    /// Somebody answered.
    Answered,
    /// The turn was cancelled.
    Cancelled,
    /// Nobody answered in time.
    Expired,
    /// A new message took the turn's place.
    Superseded,
}

impl WaitEnd {
    /// How, without the answer.
    #[must_use]
    pub const fn kind(&self) -> WaitEndKind {
        match self {
            Self::Answered { .. } => WaitEndKind::Answered,
            Self::Cancelled => WaitEndKind::Cancelled,
            Self::Expired => WaitEndKind::Expired,
            Self::Superseded => WaitEndKind::Superseded,
        }
    }
}

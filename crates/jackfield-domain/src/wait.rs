//! Waits for answers from outside the loop, and the deliveries that answer them.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::caller::Repeats;
use crate::digest::Digest;
use crate::ids::{DeliveryId, ToolAttempt, ToolCallId, TurnId, WaitId};
use crate::outcome::ToolResult;
use crate::time::WallTime;

/// An open wait for an external answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// The call that it belongs to. That for a budget has an id of its own, which is no call's.
    pub call: ToolCallId,
    /// When it expires.
    pub deadline: WallTime,
    /// Its id; a restart does not change it.
    pub id: WaitId,
    /// The kind of wait.
    pub kind: WaitKind,
}

/// The kind of a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitKind {
    /// For an approval of the call.
    Approval {
        /// The subject that the approval is bound to: see [`approval::subject`](crate::approval::subject).
        /// `None` in the oldest records, whose approvals are bound to the call only.
        subject: Option<Digest>,
    },
    /// For room in a budget that is used up. An approval tries the model call again, and so does the deadline, which
    /// is the end of the budget's period; a denial ends the turn.
    Budget {
        /// Which budget, and what was spent of it, in a sentence.
        message: Arc<str>,
    },
    /// For the result of a client tool.
    ClientResult,
    /// For an answer to a question that the tool asks during the call.
    Elicitation {
        /// The handle for passing the answer to the tool.
        handle: JobHandle,
        /// The question.
        question: Question,
    },
    /// For a decision about a call whose outcome is unknown.
    UnknownOutcome,
}

/// A tool's question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The text of the question.
    pub message: Arc<str>,
    /// For a request for a model's message: the request, whose answer is the message.
    ///
    /// Source: MCP specification of 2025-11-25, sampling.
    pub sampling: Option<Arc<Value>>,
    /// The JSON Schema of the answer, if it has one.
    pub schema: Option<Arc<Value>>,
    /// The address that the person has to open, if the question is answered there.
    ///
    /// Source: MCP specification of 2025-11-25, elicitation in URL mode.
    pub url: Option<Arc<str>>,
}

/// The handle by which a toolbox finds a call that continues elsewhere. Only the toolbox reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobHandle(pub Arc<Value>);

/// An entry of a session's inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// When the journal accepted it, by the journal's clock.
    pub at: WallTime,
    /// The content.
    pub body: DeliveryBody,
    /// The sender, for people and for audits.
    pub by: Arc<str>,
    /// The id by which duplicates are recognised.
    pub id: DeliveryId,
}

impl Delivery {
    /// Whether it concerns other calls besides the one that it answers.
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

/// Deliveries that are available at once, in processing order: answers for a single call come before session
/// grants. Both senders were told that their delivery was accepted.
pub fn in_processing_order(deliveries: &[Delivery]) -> impl Iterator<Item = &Delivery> {
    let for_one_call = deliveries.iter().filter(|one| !one.is_for_session());
    for_one_call.chain(deliveries.iter().filter(|one| one.is_for_session()))
}

/// The content of a delivery.
#[derive(Clone, Debug, PartialEq)]
pub enum DeliveryBody {
    /// An answer to a wait.
    Answer {
        /// The answer.
        answer: Answer,
        /// The wait.
        wait: WaitId,
    },
    /// A cancel of the turn.
    Cancel {
        /// The cause.
        cause: CancelCause,
        /// The turn: a late cancel must not hit the next one.
        turn: TurnId,
    },
    /// A late outcome of a call that was given up. It does not change the turn.
    Late {
        /// The attempt.
        attempt: ToolAttempt,
        /// Whether the outcome is an error.
        is_error: bool,
        /// The size of the outcome, in bytes.
        size: usize,
        /// The beginning of its text, for people.
        text: Arc<str>,
    },
    /// A reply was withdrawn, and is not delivered anymore. It does not change the turn.
    Withdrawn {
        /// The turn.
        turn: TurnId,
    },
    /// A client has received a whole reply, which is therefore delivered. It does not change the turn.
    Written {
        /// The segment of the turn, from 0.
        segment: u32,
        /// The turn.
        turn: TurnId,
    },
}

/// Why a turn is cancelled.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum CancelCause {
    /// Someone requested it.
    Asked,
    /// A new message supersedes it: the turn only waited, or new messages cancel running turns.
    Superseded,
}

crate::named! { CancelCause: Asked = "asked", Superseded = "superseded" }

/// An answer to a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To an approval.
    Approval(Approval),
    /// To a client tool call.
    ClientResult(ClientResult),
    /// To a tool's question.
    Elicitation(ElicitationAnswer),
    /// To an unknown outcome.
    UnknownOutcome(UnknownAnswer),
}

/// The result of a client tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientResult {
    /// The parts of the request that the reply must repeat. If one request brings several results, only one of
    /// them has these parts.
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
    /// The call may not run.
    Denied {
        /// The reason, for the model; may be empty.
        reason: Arc<str>,
    },
    /// The call may run, once.
    Granted {
        /// Edited arguments to run it with; the model's call keeps its own.
        edited: Option<Arc<Map<String, Value>>>,
        /// Whether all later calls of this tool in the session may run too, with any arguments, as long as its
        /// definition stays the same.
        for_session: bool,
    },
}

/// An answer to a tool's question.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// An answer.
    Accepted(Arc<Value>),
    /// The question will not be answered.
    Declined,
    /// The whole call should be abandoned.
    Dismissed,
}

/// An answer to an unknown outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum UnknownAnswer {
    /// It took effect, with this result.
    Landed(ToolResult),
    /// Report to the model that the outcome is unknown.
    Report,
    /// Run it again.
    Retry,
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitEnd {
    /// It was answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// The person or program that answered.
        by: Arc<str>,
        /// The delivery that brought it.
        delivery: DeliveryId,
    },
    /// The turn was cancelled.
    Cancelled,
    /// It was not answered in time.
    Expired,
    /// A new message superseded the turn.
    Superseded,
}

impl WaitKind {
    /// Whether this kind of wait accepts this kind of answer.
    #[must_use]
    pub const fn accepts(&self, answer: &Answer) -> bool {
        matches!(
            (self, answer),
            (
                Self::Approval { .. } | Self::Budget { .. },
                Answer::Approval(_)
            ) | (Self::ClientResult, Answer::ClientResult(_))
                | (Self::Elicitation { .. }, Answer::Elicitation(_))
                | (Self::UnknownOutcome, Answer::UnknownOutcome(_))
        )
    }
}

/// How a wait ended, without the answer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum WaitEndKind {
    /// It was answered.
    Answered,
    /// The turn was cancelled.
    Cancelled,
    /// It was not answered in time.
    Expired,
    /// A new message superseded the turn.
    Superseded,
}

crate::named! { WaitEndKind:
    Answered = "answered", Cancelled = "cancelled", Expired = "expired", Superseded = "superseded",
}

impl WaitEnd {
    /// The kind of end, without the answer.
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

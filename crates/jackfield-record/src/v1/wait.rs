//! Forms of waits and deliveries.

use std::sync::Arc;

use jackfield_domain::caller::Repeats;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{DeliveryId, ToolAttempt, ToolCallId, TurnId, WaitId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, ClientResult, Delivery, DeliveryBody, ElicitationAnswer,
    JobHandle, Question, UnknownAnswer, Wait, WaitEnd, WaitKind,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::stored::{Invalid, Stored};

stored_enum! { Approval as ApprovalForm {
    Denied { reason: Arc<str> },
    Granted { ; maybe edited: Arc<Map<String, Value>>; flag for_session },
} }

stored_enum! { CancelCause as CancelCauseForm { Asked, Superseded } }

stored_struct! { Delivery as DeliveryForm {
    id: DeliveryId, at: WallTime, by: Arc<str>, body: DeliveryBody
} }

stored_enum! { DeliveryBody as DeliveryBodyForm {
    Answer { wait: WaitId, answer: Answer },
    Cancel { cause: CancelCause, turn: TurnId },
    Late { attempt: ToolAttempt, is_error: bool, size: usize, text: Arc<str> },
    Withdrawn { turn: TurnId },
    Written { segment: u32, turn: TurnId },
} }

stored_enum! { ElicitationAnswer as ElicitationAnswerForm {
    Accepted(answer: Arc<Value>),
    Declined,
    Dismissed,
} }

stored_struct! { Question as QuestionForm {
    message: Arc<str>; maybe sampling: Arc<Value>, schema: Arc<Value>, url: Arc<str>
} }

stored_struct! { Repeats as RepeatsForm { echo: Arc<str>, model: Arc<str> } }

stored_enum! { UnknownAnswer as UnknownAnswerForm { Landed(result: ToolResult), Report, Retry } }

stored_struct! { Wait as WaitForm {
    id: WaitId, call: ToolCallId, deadline: WallTime, kind: WaitKind
} }

stored_enum! { WaitEnd as WaitEndForm {
    Answered { answer: Answer, by: Arc<str>, delivery: DeliveryId },
    Cancelled,
    Expired,
    Superseded,
} }

/// The form of an answer. The oldest records do not contain the parts of the request that the reply repeats.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum AnswerForm {
    Approval(<Approval as Stored>::Form),
    ClientResult(<ToolResult as Stored>::Form),
    ClientResultOf {
        repeats: <Arc<Repeats> as Stored>::Form,
        result: <ToolResult as Stored>::Form,
    },
    Elicitation(<ElicitationAnswer as Stored>::Form),
    UnknownOutcome(<UnknownAnswer as Stored>::Form),
}

impl Stored for Answer {
    type Form = AnswerForm;

    fn form(&self) -> AnswerForm {
        match self {
            Self::Approval(approval) => AnswerForm::Approval(approval.form()),
            Self::ClientResult(ClientResult { repeats, result }) => match repeats {
                None => AnswerForm::ClientResult(result.form()),
                Some(repeats) => AnswerForm::ClientResultOf {
                    repeats: repeats.form(),
                    result: result.form(),
                },
            },
            Self::Elicitation(answer) => AnswerForm::Elicitation(answer.form()),
            Self::UnknownOutcome(answer) => AnswerForm::UnknownOutcome(answer.form()),
        }
    }

    fn of(form: AnswerForm) -> Result<Self, Invalid> {
        Ok(match form {
            AnswerForm::Approval(approval) => Self::Approval(Approval::of(approval)?),
            AnswerForm::ClientResult(result) => Self::ClientResult(ToolResult::of(result)?.into()),
            AnswerForm::ClientResultOf { repeats, result } => Self::ClientResult(ClientResult {
                repeats: Some(Stored::of(repeats)?),
                result: ToolResult::of(result)?,
            }),
            AnswerForm::Elicitation(answer) => Self::Elicitation(ElicitationAnswer::of(answer)?),
            AnswerForm::UnknownOutcome(answer) => Self::UnknownOutcome(UnknownAnswer::of(answer)?),
        })
    }
}

/// The form of a wait's kind. Approvals in the oldest records are bound to their call only.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum WaitKindForm {
    Approval,
    ApprovalOf {
        subject: <Digest as Stored>::Form,
    },
    Budget {
        message: <Arc<str> as Stored>::Form,
    },
    ClientResult,
    Elicitation {
        handle: <JobHandle as Stored>::Form,
        question: <Question as Stored>::Form,
    },
    UnknownOutcome,
}

impl Stored for WaitKind {
    type Form = WaitKindForm;

    fn form(&self) -> WaitKindForm {
        match self {
            Self::Approval { subject: None } => WaitKindForm::Approval,
            Self::Approval {
                subject: Some(subject),
            } => WaitKindForm::ApprovalOf {
                subject: subject.form(),
            },
            Self::Budget { message } => WaitKindForm::Budget {
                message: message.form(),
            },
            Self::ClientResult => WaitKindForm::ClientResult,
            Self::Elicitation { handle, question } => WaitKindForm::Elicitation {
                handle: handle.form(),
                question: question.form(),
            },
            Self::UnknownOutcome => WaitKindForm::UnknownOutcome,
        }
    }

    fn of(form: WaitKindForm) -> Result<Self, Invalid> {
        Ok(match form {
            WaitKindForm::Approval => Self::Approval { subject: None },
            WaitKindForm::ApprovalOf { subject } => Self::Approval {
                subject: Some(<Digest as Stored>::of(subject)?),
            },
            WaitKindForm::Budget { message } => Self::Budget {
                message: Stored::of(message)?,
            },
            WaitKindForm::ClientResult => Self::ClientResult,
            WaitKindForm::Elicitation { handle, question } => Self::Elicitation {
                handle: JobHandle::of(handle)?,
                question: Question::of(question)?,
            },
            WaitKindForm::UnknownOutcome => Self::UnknownOutcome,
        })
    }
}

/// A handle is stored as the JSON that its toolbox created.
impl Stored for JobHandle {
    type Form = Value;

    fn form(&self) -> Value {
        Value::clone(&self.0)
    }

    fn of(form: Value) -> Result<Self, Invalid> {
        Ok(Self(Arc::new(form)))
    }
}

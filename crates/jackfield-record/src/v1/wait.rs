//! Forms of waits and deliveries.

use std::sync::Arc;

use jackfield_domain::ids::{DeliveryId, ToolCallId, TurnId, WaitId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, Delivery, DeliveryBody, ElicitationAnswer, JobHandle, Question,
    UnknownAnswer, Wait, WaitEnd, WaitKind,
};
use serde_json::{Map, Value};

use super::stored::{Invalid, Stored};

stored_enum! { Answer as AnswerForm {
    Approval(approval: Approval),
    ClientResult(result: ToolResult),
    Elicitation(answer: ElicitationAnswer),
    UnknownOutcome(answer: UnknownAnswer),
} }

stored_enum! { Approval as ApprovalForm {
    Denied { reason: Arc<str> },
    Granted { ; maybe edited: Arc<Map<String, Value>> },
} }

stored_enum! { CancelCause as CancelCauseForm { Asked, Superseded } }

stored_struct! { Delivery as DeliveryForm {
    id: DeliveryId, at: WallTime, by: Arc<str>, body: DeliveryBody
} }

stored_enum! { DeliveryBody as DeliveryBodyForm {
    Answer { wait: WaitId, answer: Answer },
    Cancel { cause: CancelCause, turn: TurnId },
} }

stored_enum! { ElicitationAnswer as ElicitationAnswerForm {
    Accepted(answer: Arc<Value>),
    Declined,
    Dismissed,
} }

stored_struct! { Question as QuestionForm { message: Arc<str>; maybe schema: Arc<Value> } }

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

stored_enum! { WaitKind as WaitKindForm {
    Approval,
    ClientResult,
    Elicitation { handle: JobHandle, question: Question },
    UnknownOutcome,
} }

/// A handle is the JSON that its toolbox made.
impl Stored for JobHandle {
    type Form = Value;

    fn form(&self) -> Value {
        Value::clone(&self.0)
    }

    fn of(form: Value) -> Result<Self, Invalid> {
        Ok(Self(Arc::new(form)))
    }
}

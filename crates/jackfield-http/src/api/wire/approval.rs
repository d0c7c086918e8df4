//! Wire types of approvals.

use jackfield_domain::wait::{Question, WaitEnd, WaitKind};
use jackfield_engine::{ListedWait, OpenQuestion};
use jackfield_export::values;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::blocks::arguments;

/// A question about a call to a person.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Approval)]
pub(crate) struct ApprovalView {
    /// Its id.
    pub(crate) id: String,
    /// What is asked: `approval` (may it run?), `unknown_outcome` (it is unknown whether it took effect: a no tells
    /// the model so, a yes runs it again), `elicitation` (a tool's own question) or `budget` (the turn waits for room in a
    /// budget: may it try again?).
    pub(crate) kind: String,
    /// The session.
    pub(crate) session: String,
    /// The turn.
    pub(crate) turn: Option<String>,
    /// The call; of `budget`, an id that no call has.
    pub(crate) call: String,
    /// The tool, by the name that the model used.
    pub(crate) tool: Option<String>,
    /// The server that the tool is of.
    pub(crate) server: Option<String>,
    /// What the tool says of itself.
    pub(crate) description: Option<String>,
    /// What is known of the tool's effects: `idempotent`, `read_only`, or `unknown`, where each call may have one.
    pub(crate) safety: Option<String>,
    /// What it would be run with: an object, or the text that is none.
    pub(crate) arguments: Option<Value>,
    /// A tool's own question, in words; of `budget`, what is used up and what was spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    /// The JSON Schema of the answer to it, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Value>,
    /// The page that the person has to open, if it is answered there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// When it ends unanswered.
    pub(crate) expires: String,
    /// How it ended, if it has.
    pub(crate) ended: Option<AnsweredView>,
}

/// How a question ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Answered)]
pub(crate) struct AnsweredView {
    /// When.
    pub(crate) at: String,
    /// `answered`, `cancelled`, `expired` or `superseded`.
    pub(crate) how: String,
    /// Who answered, if answered.
    pub(crate) by: Option<String>,
    /// What was answered, in a word, if answered: such as `granted` or `denied`.
    pub(crate) answer: Option<String>,
}

/// The open questions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApprovalList)]
pub(crate) struct ApprovalList {
    /// The questions, the one asked last at the end.
    pub(crate) approvals: Vec<ApprovalView>,
    /// What the next page takes as `after`, if there may be one.
    pub(crate) next: Option<u64>,
}

impl ApprovalView {
    /// Whether it is the view of this wait.
    pub(crate) fn is_of(&self, listed: &ListedWait) -> bool {
        self.id == listed.row.wait.id.as_str() && self.session == listed.session.as_str()
    }

    pub(crate) fn from_question(question: &OpenQuestion) -> Self {
        let tool = question.tool.as_ref();
        let own = own_question(&question.wait.kind);
        Self {
            id: question.wait.id.to_string(),
            kind: values::wait_kind(&question.wait.kind).to_owned(),
            session: question.session.to_string(),
            turn: question.turn.as_ref().map(ToString::to_string),
            call: question.wait.call.to_string(),
            tool: tool.map(|tool| tool.definition.name.to_string()),
            server: tool.map(|tool| tool.origin.toolbox.to_string()),
            description: tool.map(|tool| tool.definition.description.to_string()),
            safety: tool.map(|tool| tool.safety.as_str().to_owned()),
            arguments: question.input.as_ref().map(arguments),
            question: question_text(&question.wait.kind),
            schema: own.and_then(|own| own.schema.as_deref().cloned()),
            url: own.and_then(|own| own.url.as_deref().map(str::to_owned)),
            expires: question.wait.deadline.to_rfc3339(),
            ended: question.end.as_ref().map(|(at, end)| AnsweredView {
                at: at.to_rfc3339(),
                how: end.kind().as_str().to_owned(),
                by: match end {
                    WaitEnd::Answered { by, .. } => Some(by.to_string()),
                    WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => None,
                },
                answer: answer_kind(end),
            }),
        }
    }
}

/// The kind of the answer that ended a question, if one did.
pub(crate) fn answer_kind(end: &WaitEnd) -> Option<String> {
    match end {
        WaitEnd::Answered { answer, .. } => Some(values::answer(answer).to_owned()),
        WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => None,
    }
}

pub(crate) const fn own_question(kind: &WaitKind) -> Option<&Question> {
    match kind {
        WaitKind::Elicitation { question, .. } => Some(question),
        WaitKind::Approval { .. }
        | WaitKind::Budget { .. }
        | WaitKind::ClientResult
        | WaitKind::UnknownOutcome => None,
    }
}

/// What is asked, in words, if it is no matter of course.
pub(crate) fn question_text(kind: &WaitKind) -> Option<String> {
    if let WaitKind::Budget { message } = kind {
        return Some(message.to_string());
    }
    own_question(kind).map(|own| own.message.to_string())
}

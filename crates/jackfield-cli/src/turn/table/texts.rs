//! The texts of questions: prompts and hints.

use jackfield_domain::wait::{Wait, WaitKind};

use crate::person::PersonQuestion;

/// A question with this initial text, other than for the next message.
pub(super) const fn question(prompt: &'static str, initial: String) -> PersonQuestion {
    PersonQuestion::Answer { initial, prompt }
}

/// The possible answers, in short.
pub(super) const fn hint(wait: &Wait) -> &'static str {
    match &wait.kind {
        WaitKind::UnknownOutcome => "an answer is t, to tell the model, or r, to run it again",
        WaitKind::Elicitation { question, .. } if question.schema.is_some() => {
            "an answer is a JSON object with the fields, or n"
        }
        WaitKind::Budget { .. } | WaitKind::Elicitation { .. } => "an answer is y or n",
        WaitKind::Approval { .. } | WaitKind::ClientResult => {
            "an answer is one of the letters alone, or n and why"
        }
    }
}

/// The prompt of an answer.
pub(super) const ANSWER: &str = "answer: ";

/// The prompt of edited arguments.
pub(super) const ARGUMENTS: &str = "arguments: ";

/// The reason of a denial without a person.
pub(super) const NOBODY: &str = "nobody is there to ask";

/// The reason why no rule can be kept.
pub(super) const NOT_KEPT: &str = "there is no configuration that could have a rule for this tool";

/// The reason why the tools of a server that only read cannot be allowed.
pub(super) const NOT_READING: &str = "the server does not say that this tool only reads";

/// The reason why the arguments cannot be edited.
pub(super) const NOT_EDITED: &str = "this call has no JSON arguments that could be edited";

//! What a person is told at the table: what stands before a line, and what may be answered.

use jackfield_domain::wait::{Wait, WaitKind};

use crate::person::PersonQuestion;

/// An answer to something else than the next message; this stands there to be edited.
pub(super) const fn question(prompt: &'static str, initial: String) -> PersonQuestion {
    PersonQuestion::Answer { initial, prompt }
}

/// What may be answered, in short.
pub(super) const fn hint(wait: &Wait) -> &'static str {
    match wait.kind {
        WaitKind::UnknownOutcome => "an answer is r, to run it again, or t, to tell the model",
        WaitKind::Approval { .. } | WaitKind::ClientResult | WaitKind::Elicitation { .. } => {
            "an answer is y, a or e alone, or n and why"
        }
    }
}

/// What stands before an answer.
pub(super) const ANSWER: &str = "answer: ";

/// What stands before arguments that are edited.
pub(super) const ARGUMENTS: &str = "arguments: ";

/// Why nobody said yes.
pub(super) const NOBODY: &str = "nobody is there to ask";

/// Why there is nothing to edit.
pub(super) const NOT_EDITED: &str = "this call has no JSON arguments that could be edited";

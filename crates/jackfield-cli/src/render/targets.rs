//! Why a model was called, in words.

use std::fmt::Write as _;

use jackfield_domain::request::ModelRef;
use jackfield_domain::target::{TargetChoice, TargetReason};
use jackfield_export::values;
use serde_json::{Value, json};

use crate::render::words;
use crate::since;

/// A target and the reason for it, on one line: `backup/model: the one before it failed; breakers open: 0`.
#[must_use]
pub fn chosen(model: &ModelRef, choice: &TargetChoice) -> String {
    let why = match choice.reason {
        TargetReason::Affinity => "the conversation was there before",
        TargetReason::ContentFilter => "the content filter of the one before it refused",
        TargetReason::ContextTooLong => "the request is too long for the one before it",
        TargetReason::Fallback => "the one before it failed, or its breaker is open",
        TargetReason::LastLeft => "the last one that was left",
        TargetReason::Strategy => "chosen by the route",
    };
    let mut line = format!("{}: {why}", words::one_line(&values::model(model)));
    if !choice.breakers.is_empty() {
        let open = choice.breakers.iter();
        let open: Vec<String> = open.map(|one| (one.target + 1).to_string()).collect();
        let _infallible = write!(line, "; not closed: breakers of {}", open.join(", "));
    }
    line
}

#[must_use]
pub fn choice_json(choice: &TargetChoice) -> Value {
    let breakers = choice.breakers.iter().map(|breaker| {
        json!({
            "target": breaker.target,
            "retry_at": breaker.retry_at.map(since::exact),
        })
    });
    json!({
        "reason": choice.reason.as_str(),
        "breakers": breakers.collect::<Vec<_>>(),
    })
}

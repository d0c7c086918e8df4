//! Late outcomes: what a tool answered after its call had been given up. Heard, kept, and told to no model.
//!
//! One that comes while its turn is driven, in its turn's own queue, is a [fact](crate::fact::Late). Nobody
//! need own a session to hear one, and its turn may be over: then it is a
//! [delivery](crate::wait::DeliveryBody::Late), which changes no turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fact::{Envelope, Fact, Late};
use crate::ids::ToolAttempt;
use crate::outcome::ToolResult;
use crate::time::WallTime;
use crate::wait::{Delivery, DeliveryBody};

/// An outcome that came after its call had been given up.
#[derive(Clone, Debug, PartialEq)]
pub struct LateOutcome {
    /// When it was heard.
    pub at: WallTime,
    /// The try that it is of.
    pub attempt: ToolAttempt,
    /// Whether the tool said that it failed.
    pub is_error: bool,
    /// The size of what it answered, in bytes.
    pub size: usize,
    /// The beginning of its text, where that was kept.
    pub text: Option<Arc<str>>,
}

/// All late outcomes of a session, those that are facts first. Each try has one: the first that was heard.
#[must_use]
pub fn outcomes(steps: &[Envelope], deliveries: &[Delivery]) -> Vec<LateOutcome> {
    let facts = steps.iter().flat_map(|step| {
        let at = step.now.wall;
        step.facts.iter().filter_map(move |fact| of_fact(fact, at))
    });
    let mut known = BTreeSet::new();
    facts
        .chain(deliveries.iter().filter_map(of_delivery))
        .filter(|late| known.insert(late.attempt.clone()))
        .collect()
}

fn of_fact(fact: &Fact, at: WallTime) -> Option<LateOutcome> {
    let Fact::Late(Late::Outcome {
        attempt,
        is_error,
        size,
    }) = fact
    else {
        return None;
    };
    Some(LateOutcome {
        at,
        attempt: attempt.clone(),
        is_error: *is_error,
        size: *size,
        text: None,
    })
}

fn of_delivery(delivery: &Delivery) -> Option<LateOutcome> {
    let DeliveryBody::Late {
        attempt,
        is_error,
        size,
        text,
    } = &delivery.body
    else {
        return None;
    };
    Some(LateOutcome {
        at: delivery.at,
        attempt: attempt.clone(),
        is_error: *is_error,
        size: *size,
        text: Some(Arc::clone(text)),
    })
}

/// What is delivered of an outcome that came late.
#[must_use]
pub fn delivery(attempt: ToolAttempt, result: &ToolResult) -> DeliveryBody {
    let text = result.to_text();
    DeliveryBody::Late {
        attempt,
        is_error: result.is_error,
        size: result.size(),
        text: text[..text.floor_char_boundary(BEGINNING)].into(),
    }
}

/// How much of its text is kept, in bytes.
const BEGINNING: usize = 200;

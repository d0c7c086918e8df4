//! Late outcomes: results of calls that had been given up. They are recorded, but no model sees them.
//!
//! A late outcome that arrives in the turn's own queue while the turn is driven is a [fact](crate::fact::Late).
//! A process that does not own the session can receive one, too, even after the turn is over: then it is a
//! [delivery](crate::wait::DeliveryBody::Late), which changes no turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fact::{Envelope, Fact, Late};
use crate::ids::ToolAttempt;
use crate::outcome::ToolResult;
use crate::time::WallTime;
use crate::wait::{Delivery, DeliveryBody};

/// An outcome that arrived after its call had been given up.
#[derive(Clone, Debug, PartialEq)]
pub struct LateOutcome {
    /// When it arrived.
    pub at: WallTime,
    /// Its attempt.
    pub attempt: ToolAttempt,
    /// Whether it is an error.
    pub is_error: bool,
    /// Its size, in bytes.
    pub size: usize,
    /// The beginning of its text, if stored.
    pub text: Option<Arc<str>>,
}

/// All late outcomes of a session, facts first. There is one per attempt: the first that arrived.
#[must_use]
pub fn outcomes(steps: &[Envelope], deliveries: &[Delivery]) -> Vec<LateOutcome> {
    let facts = steps.iter().flat_map(|step| {
        let at = step.now.wall;
        step.facts
            .iter()
            .filter_map(move |fact| from_fact(fact, at))
    });
    let mut known = BTreeSet::new();
    facts
        .chain(deliveries.iter().filter_map(from_delivery))
        .filter(|late| known.insert(late.attempt.clone()))
        .collect()
}

fn from_fact(fact: &Fact, at: WallTime) -> Option<LateOutcome> {
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

fn from_delivery(delivery: &Delivery) -> Option<LateOutcome> {
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

/// The delivery for a late outcome.
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

/// How much of the text is stored, in bytes.
const BEGINNING: usize = 200;

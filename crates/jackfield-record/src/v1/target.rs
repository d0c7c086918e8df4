//! Forms of targets, their choice, and budget reservations.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::price::{Money, Price};
use jackfield_domain::request::ModelRef;
use jackfield_domain::target::{BreakerSnapshot, Reservation, Target, TargetChoice, TargetReason};
use jackfield_domain::time::WallTime;

stored_struct! { BreakerSnapshot as BreakerSnapshotForm { target: u32; maybe retry_at: WallTime } }

stored_struct! { Reservation as ReservationForm { budget: Arc<str>; maybe cost: Money, tokens: u64 } }

stored_struct! { Target as TargetForm {
    model: ModelRef;
    maybe first_byte: Duration, price: Price, window: u64;
    flag content_filter
} }

stored_struct! { TargetChoice as TargetChoiceForm { reason: TargetReason; many breakers: BreakerSnapshot } }

stored_enum! { TargetReason as TargetReasonForm {
    Affinity,
    ContentFilter,
    ContextTooLong,
    Fallback,
    LastLeft,
    Strategy,
} }

//! Routes: names that stand for several targets, and the pure functions that choose one of them.
//!
//! [`order()`] sorts the targets of a route before a turn or a request begins; [`choose`] takes the one that an attempt
//! calls, with the state of the [`Breaker`]s; [`Fault`] says what a failure means for a target. The loop and
//! pass-through use the same functions.

use std::sync::Arc;
use std::time::Duration;

use crate::request::ModelRef;

mod abilities;
mod beginning;
mod breaker;
mod choice;
mod fault;
mod hops;
mod order;

pub use self::abilities::{Abilities, Needs};
pub use self::beginning::Beginning;
pub use self::breaker::{Breaker, BreakerPass, BreakerRules, BreakerState};
pub use self::choice::{ChoiceInput, Chosen, choose};
pub use self::fault::{Fault, FaultScope};
pub use self::hops::{HopTarget, Hops};
pub use self::order::{OrderInput, Rotation, order};

/// A name that stands for several targets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Route {
    /// The tokens from which on providers keep the beginning of a prompt: a conversation without a session stays at its
    /// target, as with `sticky`, once it is that long.
    pub cache_minimum: u64,
    /// Its name.
    pub name: Arc<str>,
    /// What a client of a gateway gets when no target answers.
    pub on_exhausted: OnExhausted,
    /// Whether a conversation stays at the target that answered it before.
    pub sticky: bool,
    /// How the targets of a tier are sorted.
    pub strategy: Strategy,
    /// The targets; there is at least one that is not only for refusals of a content filter.
    pub targets: Vec<RouteTarget>,
}

/// A target of a route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteTarget {
    /// What the target can do.
    pub abilities: Abilities,
    /// Whether it is called only after a content filter refused the request elsewhere.
    pub content_filter: bool,
    /// The time limit to the first piece of a reply; `None` leaves it to the limit of silence.
    pub first_byte: Option<Duration>,
    /// The model.
    pub model: ModelRef,
    /// Its tier: those of the lowest come first.
    pub tier: u32,
    /// Its share among the targets of its tier; never 0.
    pub weight: u32,
}

/// How the targets of a tier are sorted.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Strategy {
    /// By price, the cheapest first; those without a known price come last.
    Cheapest,
    /// By requests in flight, for each unit of weight.
    LeastBusy,
    /// As they are written.
    #[default]
    Ordered,
    /// In turn, each as often as its weight says.
    Weighted,
}

crate::named! { Strategy:
    Cheapest = "cheapest", LeastBusy = "least_busy", Ordered = "ordered", Weighted = "weighted",
}

/// What a client of a gateway gets when no target of a route answers.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum OnExhausted {
    /// The last error.
    LastError,
    /// That it may come again, with the time until the first target may be tried.
    #[default]
    Unavailable,
}

crate::named! { OnExhausted: LastError = "last_error", Unavailable = "unavailable" }

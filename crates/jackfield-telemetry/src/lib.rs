//! Figures and traces for monitoring systems.
//!
//! What turns did is derived from their facts when they end, so that a turn that several processes worked on is counted
//! once, by the one that ended it. What is billed is derived from the journal: see [`Metrics::count_journal`].

mod labels;
mod ledger;
mod metrics;
mod names;
mod requests;
mod spans;
mod traces;
mod turns;

pub use self::metrics::Metrics;
pub use self::traces::{TraceExporter, TraceSettings, Traces};

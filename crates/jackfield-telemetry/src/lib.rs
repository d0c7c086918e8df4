//! Figures, traces and the log for monitoring systems.
//!
//! What turns did is derived from their facts when they end, so that a turn that several processes worked on is counted
//! once, by the one that ended it. What is billed is derived from the journal: see [`Metrics::follow_journal`].

mod collector;
mod labels;
mod ledger;
mod logs;
mod mcp_figures;
mod mcp_spans;
mod metrics;
mod names;
mod page_metrics;
mod passed;
mod push;
mod request_spans;
mod requests;
mod span_parts;
mod spans;
mod traces;
mod turns;

pub use self::collector::{Collector, CollectorSettings};
pub use self::logs::{LogExporter, LogLayer};
pub use self::metrics::Metrics;
pub use self::push::push_metrics;
pub use self::traces::{TraceExporter, Traces};

/// What the tests of this crate look at, beside what is public.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::traces::SpanDrops;
}

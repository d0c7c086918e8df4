//! Tokens and costs as text and as JSON, with estimates marked.

use jackfield_domain::fact::Compaction;
use jackfield_domain::price::{Cost, Money};
use jackfield_domain::setup::Setup;
use jackfield_domain::usage::Usage;
pub use jackfield_export::values::{cost as of_cost, usage as of_usage};
use jackfield_export::words::compaction as describe_compaction;

use crate::render::words;

/// Input and output tokens; `~` if part of them is an estimate.
#[must_use]
pub fn tokens(usage: &Usage) -> String {
    let mark = |estimated: u64| if estimated > 0 { "~" } else { "" };
    format!(
        "{}{} tokens in, {}{} out",
        mark(usage.estimated_input),
        usage.input,
        mark(usage.estimated_output),
        usage.output
    )
}

/// The input tokens from a cache, with their share of the input in percent; `0` without any.
#[must_use]
pub fn cached(usage: &Usage) -> String {
    let read = u128::from(usage.cache_read);
    match (read * 100).checked_div(u128::from(usage.input)) {
        Some(share) if read > 0 => format!("{read} ({share}%)"),
        Some(_) | None => read.to_string(),
    }
}

/// What a compaction came to, with what it used and its cost if that is known.
#[must_use]
pub fn compaction(compaction: &Compaction, setup: Option<&Setup>) -> String {
    let paid = setup.and_then(|setup| compaction.cost(setup));
    paid_compaction(compaction, paid.as_ref())
}

/// What a compaction came to, with what it used and this cost.
#[must_use]
pub fn paid_compaction(compaction: &Compaction, paid: Option<&Cost>) -> String {
    let mut parts = vec![words::printable(&describe_compaction(compaction)).into_owned()];
    parts.extend(compaction.usage.as_ref().map(tokens));
    parts.extend(paid.map(cost));
    parts.join(" · ")
}

/// An amount, rounded up to four decimals; `~` if part of it is an estimate.
#[must_use]
pub fn cost(cost: &Cost) -> String {
    let mark = if cost.estimated > Money::ZERO {
        "~"
    } else {
        ""
    };
    let currency = words::one_line(&cost.currency);
    format!("{mark}{:.4} {currency}", cost.amount)
}

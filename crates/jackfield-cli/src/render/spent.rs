//! Tokens and costs as text and as JSON, with estimates marked.

use jackfield_domain::fact::Compaction;
use jackfield_domain::price::{Cost, Money};
use jackfield_domain::setup::Setup;
use jackfield_domain::usage::Usage;
pub use jackfield_export::values::usage as of_usage;
use jackfield_export::words::compaction as describe_compaction;
use serde_json::{Value, json};

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

#[must_use]
pub fn cost(cost: &Cost) -> String {
    amount(&cost.currency, cost.amount, cost.estimated)
}

/// An amount, rounded up to four decimals; `~` if part of it is an estimate.
#[must_use]
pub fn amount(currency: &str, amount: Money, estimated: Money) -> String {
    let mark = if estimated > Money::ZERO { "~" } else { "" };
    format!("{mark}{amount:.4} {}", words::one_line(currency))
}

/// A cost, for programs: exact, as a string.
#[must_use]
pub fn of_cost(currency: &str, amount: Money, estimated: Money) -> Value {
    json!({
        "currency": currency,
        "amount": amount.to_string(),
        "estimated": estimated.to_string(),
    })
}

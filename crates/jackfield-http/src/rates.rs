//! What is left of a client's requests per minute and of its budgets, as headers.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::{Extensions, HeaderMap, HeaderValue};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::quota::{BudgetState, RateLeft};
use jackfield_domain::time::WallTime;
use jackfield_gateway::{AdmissionRefusal, Gateway, Principal, RequestSlot};

/// What is left of the quotas of a request's client, once it is known: a handler sets it, and the response gets its
/// headers at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownRate(Arc<OnceLock<Left>>);

#[derive(Debug)]
struct Left {
    /// When it was so much, and by the journal's clock.
    at: (Instant, WallTime),
    budget: Option<BudgetState>,
    is_warned: bool,
    rate: Option<RateLeft>,
    tokens: Option<BudgetState>,
}

impl KnownRate {
    /// Adds the headers: of the rate in the form of Anthropic or of OpenAI, and of the budget in our own.
    pub(crate) fn insert(&self, headers: &mut HeaderMap, is_claude: bool) {
        let Some(left) = self.0.get() else {
            return;
        };
        let mut set = |name, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        };
        let (seen, at) = left.at;
        let now = at.after(seen.elapsed());
        let reset = |at: WallTime| {
            if is_claude {
                at.to_rfc3339()
            } else {
                // OpenAI writes `1s` and `6m0s`, documentation of 2026-11-25.
                seconds(at.since(now))
            }
        };
        if let Some(rate) = &left.rate {
            let reset = reset(now.after(rate.reset));
            let values = [rate.limit.to_string(), rate.left.to_string(), reset];
            let names = if is_claude { CLAUDE } else { OPENAI };
            for (name, value) in names.into_iter().zip(values) {
                set(name, value);
            }
        }
        if let Some(tokens) = &left.tokens {
            let (limit, rest) = (tokens.limit.to_string(), tokens.left().to_string());
            let names = if is_claude {
                CLAUDE_TOKENS
            } else {
                OPENAI_TOKENS
            };
            for (name, value) in names.into_iter().zip([limit, rest, reset(tokens.ends)]) {
                set(name, value);
            }
        }
        if let Some(budget) = &left.budget {
            let period = budget.period.as_str();
            let limit = format!("{} per {period}", budget.shown(budget.limit));
            set("x-jackfield-budget", budget.meter.to_string());
            set("x-jackfield-budget-limit", limit);
            set("x-jackfield-budget-remaining", budget.shown(budget.left()));
            set("x-jackfield-budget-reset", budget.ends.to_rfc3339());
            if left.is_warned {
                let warning = format!("{} % are spent", budget.percent());
                set("x-jackfield-budget-warning", warning);
            }
        }
    }

    fn set(&self, left: Left) {
        let _first = self.0.set(left);
    }
}

/// Admits a request to a model, as [`Gateway::admit_to_rates`], and notes its rate for the headers of the response.
///
/// # Errors
///
/// The request does not fit a quota of the client, or the gateway is full.
pub(crate) async fn admit(
    gateway: &Gateway,
    client: &Principal,
    extensions: &Extensions,
) -> Result<RequestSlot, ServeError> {
    note(gateway, extensions, gateway.admit_to_rates(client).await)
}

/// As [`admit`], for a request that asks no model itself.
///
/// # Errors
///
/// As for [`admit`].
pub(crate) async fn admit_without_model(
    gateway: &Gateway,
    client: &Principal,
    extensions: &Extensions,
) -> Result<RequestSlot, ServeError> {
    note(
        gateway,
        extensions,
        gateway.admit_without_model(client).await,
    )
}

fn note(
    gateway: &Gateway,
    extensions: &Extensions,
    admitted: Result<RequestSlot, AdmissionRefusal>,
) -> Result<RequestSlot, ServeError> {
    let known = extensions.get::<KnownRate>().cloned().unwrap_or_default();
    let at = (Instant::now(), gateway.engine().now());
    match admitted {
        Ok(slot) => {
            let budget = slot.budget();
            known.set(Left {
                at,
                budget: budget.cloned(),
                is_warned: budget.is_some_and(|budget| gateway.is_budget_warned_of(budget)),
                rate: slot.rate().cloned(),
                tokens: slot.tokens().cloned(),
            });
            Ok(slot)
        }
        Err(AdmissionRefusal { error, rate }) => {
            known.set(Left {
                at,
                budget: None,
                is_warned: false,
                rate,
                tokens: None,
            });
            Err(error)
        }
    }
}

/// A time in whole seconds, rounded up.
fn seconds(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1000);
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

const CLAUDE: [&str; 3] = [
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
];
const CLAUDE_TOKENS: [&str; 3] = [
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
];
const OPENAI: [&str; 3] = [
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
];
const OPENAI_TOKENS: [&str; 3] = [
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
];

//! What is left of a client's requests per minute and of its budgets, as headers.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Extensions, HeaderMap, HeaderValue};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::quota::{BudgetState, RateLeft};
use jackfield_domain::time::WallTime;
use jackfield_engine::{Clock as _, SystemClock};
use jackfield_gateway::{AdmissionRefusal, Gateway, Principal, RequestSlot};

/// What is left of the quotas of a request's client, once it is known: a handler sets it, and the response gets its
/// headers at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownRate(Arc<OnceLock<Left>>);

/// What is left.
#[derive(Debug, Default)]
struct Left {
    budget: Option<BudgetState>,
    is_warned: bool,
    rate: Option<RateLeft>,
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
        if let Some(rate) = &left.rate {
            let reset = if is_claude {
                let now: WallTime = SystemClock::default().now().wall;
                now.after(rate.reset).to_rfc3339()
            } else {
                // OpenAI writes `1s` and `6m0s`, documentation of 2026-11-25.
                seconds(rate.reset)
            };
            let values = [rate.limit.to_string(), rate.left.to_string(), reset];
            let names = if is_claude { CLAUDE } else { OPENAI };
            for (name, value) in names.into_iter().zip(values) {
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

    fn set(&self, gateway: &Gateway, rate: Option<&RateLeft>, budget: Option<&BudgetState>) {
        let _first = self.0.set(Left {
            budget: budget.cloned(),
            is_warned: budget.is_some_and(|budget| gateway.is_budget_warned_of(budget)),
            rate: rate.cloned(),
        });
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

/// As [`admit`], for a request of an MCP client.
///
/// # Errors
///
/// As for [`admit`].
pub(crate) async fn admit_to_mcp(
    gateway: &Gateway,
    client: &Principal,
    extensions: &Extensions,
) -> Result<RequestSlot, ServeError> {
    note(gateway, extensions, gateway.admit_to_mcp(client).await)
}

fn note(
    gateway: &Gateway,
    extensions: &Extensions,
    admitted: Result<RequestSlot, AdmissionRefusal>,
) -> Result<RequestSlot, ServeError> {
    let known = extensions.get::<KnownRate>().cloned().unwrap_or_default();
    match admitted {
        Ok(slot) => {
            known.set(gateway, slot.rate(), slot.budget());
            Ok(slot)
        }
        Err(AdmissionRefusal { error, rate }) => {
            known.set(gateway, rate.as_ref(), None);
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
const OPENAI: [&str; 3] = [
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
];

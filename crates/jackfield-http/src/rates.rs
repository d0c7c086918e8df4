//! What is left of a client's requests per minute, as headers of its language.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Extensions, HeaderMap, HeaderValue};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::quota::RateLeft;
use jackfield_domain::time::WallTime;
use jackfield_engine::{Clock as _, SystemClock};
use jackfield_gateway::{AdmissionRefusal, Gateway, Principal, RequestSlot};

/// The rate of a request, once it is known: a handler sets it, and the response gets its headers at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownRate(Arc<OnceLock<RateLeft>>);

impl KnownRate {
    /// Adds the headers, in the form of Anthropic or of OpenAI.
    pub(crate) fn insert(&self, headers: &mut HeaderMap, is_claude: bool) {
        let Some(rate) = self.0.get() else {
            return;
        };
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
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
    }

    fn set(&self, rate: Option<&RateLeft>) {
        if let Some(rate) = rate {
            let _first = self.0.set(rate.clone());
        }
    }
}

/// Admits a request to a model, as [`Gateway::admit`], and notes its rate for the headers of the response.
///
/// # Errors
///
/// The request does not fit a quota of the client, or the gateway is full.
pub(crate) async fn admit(
    gateway: &Gateway,
    client: &Principal,
    extensions: &Extensions,
) -> Result<RequestSlot, ServeError> {
    let known = extensions.get::<KnownRate>().cloned().unwrap_or_default();
    match gateway.admit(client).await {
        Ok(slot) => {
            known.set(slot.rate());
            Ok(slot)
        }
        Err(AdmissionRefusal { error, rate }) => {
            known.set(rate.as_ref());
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

//! Wire types of what a request says of its turn in place of what is configured.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::price::Money;
use jackfield_domain::setup::Setup;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_engine::TurnOptions;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::settings::{SettingsGiven, at_least_one};
use crate::api::problem::ProblemDetails;

/// Limits of a turn. What is left out, or is above what is configured, is as the gateway is configured.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[schema(as = TurnLimits)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsGiven {
    /// The most active time in milliseconds, without waits for people.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    active_ms: Option<u64>,
    /// The most cost, in the currency of the gateway's prices: a decimal number such as `0.50`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<String>,
    /// The most rounds; the last one has no tools.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<u32>,
    /// The most tokens, input and output together.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
}

impl LimitsGiven {
    /// Lowers the limits of a turn to these.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] that names the field.
    pub(crate) fn apply_to(self, options: &mut TurnOptions) -> Result<(), ProblemDetails> {
        at_least_one(self.active_ms, "/limits/active_ms")?;
        at_least_one(self.rounds, "/limits/rounds")?;
        at_least_one(self.tokens, "/limits/tokens")?;
        let cost = self.cost.as_deref().map(Money::parse).transpose();
        let cost =
            cost.map_err(|error| ProblemDetails::field("/limits/cost", error.to_string()))?;
        if cost == Some(Money::ZERO) {
            return Err(ProblemDetails::field(
                "/limits/cost",
                "more than 0 is expected",
            ));
        }
        let allowance = &mut options.allowance;
        lower(
            &mut allowance.active,
            self.active_ms.map(Duration::from_millis),
        );
        lower(&mut allowance.cost, cost);
        lower(&mut allowance.tokens, self.tokens);
        let rounds = &mut options.limits.rounds;
        *rounds = self.rounds.map_or(*rounds, |given| given.min(*rounds));
        Ok(())
    }
}

/// What the request of a turn said in place of what is configured: fields of the request for another turn like it.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[schema(as = TurnGiven)]
pub(crate) struct GivenView {
    /// The system prompt; an empty text is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    /// The settings.
    settings: SettingsGiven,
    /// The limits, as they were asked for.
    limits: LimitsGiven,
}

impl GivenView {
    /// What is recorded of a request; `None` if it says nothing. The system prompt is recorded by itself.
    pub(crate) fn to_record(
        has_system: bool,
        settings: &SettingsGiven,
        limits: &LimitsGiven,
    ) -> Option<Arc<str>> {
        let (settings, limits) = (json!(settings), json!(limits));
        let mut given = json!({ "settings": settings, "limits": limits });
        if has_system {
            given["system"] = json!("");
        } else if settings == json!({}) && limits == json!({}) {
            return None;
        }
        Some(given.to_string().into())
    }

    /// What the request of a turn of this setup said.
    pub(crate) fn of(setup: &Setup) -> Option<Self> {
        let mut given: Self = serde_json::from_str(setup.given.as_deref()?).ok()?;
        if let Some(system) = &mut given.system {
            let is_own = |part: &&SystemPart| part.origin == PartOrigin::Flag;
            let parts = setup.system.parts.iter().filter(is_own).cloned().collect();
            *system = SystemPrompt { parts }.render();
        }
        Some(given)
    }
}

fn lower<T: Ord>(limit: &mut Option<T>, given: Option<T>) {
    if let Some(given) = given
        && limit.as_ref().is_none_or(|limit| given < *limit)
    {
        *limit = Some(given);
    }
}

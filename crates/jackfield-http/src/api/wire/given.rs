//! Wire types of what a request says of its turn in place of what is configured: limits, and all of it of a past turn.

use std::time::Duration;

use jackfield_domain::price::Money;
use jackfield_domain::setup::Setup;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_engine::TurnOptions;
use jackfield_export::values;
use jackfield_gateway::Gateway;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::settings::{SettingsGiven, at_least_one, other};
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

/// What a turn has in place of what the gateway is configured to use for its model: fields of the request for another
/// turn like it.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = TurnGiven)]
pub(crate) struct GivenView {
    /// The system prompt, if it is another one; an empty text is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    /// The settings that differ.
    settings: SettingsGiven,
    /// The limits that differ.
    limits: LimitsGiven,
}

impl GivenView {
    /// What a turn of this setup was given; `None` if it is the same as that of the turn before.
    pub(crate) fn of(setup: &Setup, before: Option<&Setup>, gateway: &Gateway) -> Option<Self> {
        let is_same = |before: &Setup| {
            before.system == setup.system
                && before.settings == setup.settings
                && before.limits == setup.limits
                && before.allowance == setup.allowance
                && before.assistant == setup.assistant
                && before.model.provider == setup.model.provider
        };
        (!before.is_some_and(is_same)).then(|| Self::of_setup(setup, gateway))
    }

    fn of_setup(setup: &Setup, gateway: &Gateway) -> Self {
        let usual = gateway.configured_options(setup.assistant.as_deref(), &setup.model.provider);
        let Some(usual) = usual else {
            return Self::default();
        };
        let (own, configured) = (&setup.allowance, &usual.allowance);
        let cost = other(own.cost, configured.cost);
        let rounds = other(Some(setup.limits.rounds), Some(usual.limits.rounds));
        Self {
            system: given_system(&setup.system, &usual.system),
            settings: SettingsGiven::differing(&setup.settings, &usual.settings),
            limits: LimitsGiven {
                active_ms: other(own.active, configured.active).map(values::millis),
                cost: cost.map(|cost| cost.to_string()),
                rounds,
                tokens: other(own.tokens, configured.tokens),
            },
        }
    }
}

/// The system prompt of a request. A configured one of another time is none.
fn given_system(prompt: &SystemPrompt, configured: &SystemPrompt) -> Option<String> {
    let is_servers = |part: &SystemPart| matches!(part.origin, PartOrigin::Server(_));
    let parts = prompt.parts.iter().filter(|part| !is_servers(part));
    let own = SystemPrompt {
        parts: parts.cloned().collect(),
    };
    let is_flag = |part: &SystemPart| part.origin == PartOrigin::Flag;
    (own != *configured && own.parts.iter().all(is_flag)).then(|| own.render())
}

fn lower<T: Ord>(limit: &mut Option<T>, given: Option<T>) {
    if let Some(given) = given
        && limit.as_ref().is_none_or(|limit| given < *limit)
    {
        *limit = Some(given);
    }
}

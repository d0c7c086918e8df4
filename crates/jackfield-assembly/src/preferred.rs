//! The preferred model of each vendor, the default model where only some vendors have a key, and the models that a
//! name without a provider may mean.

use std::collections::BTreeSet;

use jackfield_domain::price::PriceList;
use jackfield_domain::request::ModelRef;
use jackfield_prices::Catalogue;

use crate::config::{Config, ProviderConfig};
use crate::key_source::KeySource;
use crate::kinds::{self, MODELS};
use crate::place::{Origin, ValueSource};
use crate::presets::PRESETS;
use crate::surroundings::{Environment, Surroundings, read_small};

/// The preferred model of each vendor that this program was built with, the best vendor first.
pub fn preferred_models() -> impl Iterator<Item = ModelRef> {
    kinds::models().map(|(provider, model)| ModelRef {
        model: model.into(),
        provider: provider.into(),
    })
}

/// Makes a model that can answer the default one.
pub(crate) fn use_model_with_key(config: &mut Config, surroundings: &Surroundings) {
    let Some((model, place)) = model_with_key(config, &surroundings.environment) else {
        return;
    };
    let name = format!("{}/{}", model.provider, model.model);
    let key = Some("model".to_owned());
    config.set_raw_value(
        name.into(),
        ValueSource {
            key,
            ..place.clone()
        },
    );
    (config.options.model, config.model_place) = (model, place);
}

/// The preferred model of the first provider that has a key, with the source of the key; `None` if that is the
/// default model anyway, or no provider has a key.
fn model_with_key(config: &Config, environment: &Environment) -> Option<(ModelRef, ValueSource)> {
    let (model, place) = preferred_models().find_map(|model| {
        let provider = config.providers.get(&model.provider)?;
        let place = key_place(&model.provider, provider, environment)?;
        Some((model, place))
    })?;
    (model != config.options.model).then_some((model, place))
}

/// Whether a kind of provider is a vendor of models, and not a server for any of them.
pub(crate) fn is_vendor(kind: &str) -> bool {
    MODELS.iter().any(|(vendor, _)| *vendor == kind)
}

/// The source of the provider's key, if it is present.
fn key_place(
    name: &str,
    provider: &ProviderConfig,
    environment: &Environment,
) -> Option<ValueSource> {
    let is_set = |variable: &str| {
        let value = environment.get(variable);
        value.is_some_and(|value| value.map_or(true, |text| !text.trim().is_empty()))
    };
    if let Some((kind, _)) = &provider.kind
        && **kind != *name
    {
        return None;
    }
    let configured = provider
        .place
        .clone()
        .unwrap_or_else(|| Origin::Default.into());
    match &provider.key {
        None => {
            let variables = key_variables(name).iter();
            let variable = variables.copied().find(|variable| is_set(variable))?;
            Some(Origin::Variable(variable).into())
        }
        Some(KeySource::File(path)) => {
            let key = read_small(path).ok()?;
            (!key.trim_ascii().is_empty()).then_some(configured)
        }
        // A lookup may ask the person to unlock the keyring.
        Some(KeySource::Keyring | KeySource::None) => Some(configured),
        Some(KeySource::Variable(variable)) => is_set(variable).then_some(configured),
    }
}

/// The usual variables of a vendor's key, in their order.
fn key_variables(kind: &str) -> &'static [&'static str] {
    match kind {
        "claude" => &[CLAUDE_KEY],
        "gemini" => GEMINI_KEYS,
        _ => {
            let preset = PRESETS.iter().find(|preset| preset.kind == kind);
            preset.map_or(&[], |preset| preset.key_variable.as_slice())
        }
    }
}

/// The usual variable of a key for Claude.
pub(crate) const CLAUDE_KEY: &str = "ANTHROPIC_API_KEY";

/// The usual variables of a key for Gemini: the vendor's SDKs take both.
pub(crate) const GEMINI_KEYS: &[&str] = &["GEMINI_API_KEY", "GOOGLE_API_KEY"];

impl Config {
    /// The only known model with this name, if there is exactly one.
    pub(crate) fn model_of_name(&self, name: &str) -> Option<ModelRef> {
        let known = known_models(self);
        let mut named = known.into_iter().filter(|model| *model.model == *name);
        named.next().filter(|_| named.next().is_none())
    }

    /// The `provider/model` that a name without a provider probably means.
    pub(crate) fn suggested_model(&self, name: &str) -> String {
        let known = known_models(self);
        // A part of a name means the best model with it, and among the others the newest.
        let mut by_rank = preferred_models().chain(known.into_iter().rev());
        let part = by_rank.find(|model| self.has(model) && model.model.contains(name));
        if let Some(model) = part {
            return format!("{}/{}", model.provider, model.model);
        }
        let vendor = VENDORS.iter().find(|(begin, _)| name.starts_with(begin));
        let vendor = vendor.map(|(_, provider)| *provider);
        let vendor = vendor.filter(|provider| self.providers.contains_key(*provider));
        let provider = vendor.unwrap_or(&self.options.model.provider);
        format!("{provider}/{name}")
    }
}

/// The models that are known without asking a provider: those of vendors with a price, those of the configuration, and
/// the preferred ones.
fn known_models(config: &Config) -> BTreeSet<ModelRef> {
    let catalogue = Catalogue::built_in();
    let listed = catalogue.names().filter(|(kind, _)| is_vendor(kind));
    let listed = listed.map(|(kind, model)| ModelRef {
        model: model.into(),
        provider: kind.into(),
    });
    let configured = config.aliases.values().chain([&config.options.model]);
    let own = config.prices.keys().chain(configured).cloned();
    let known = listed.chain(own).chain(preferred_models());
    let is_one = |model: &ModelRef| config.has(model) && &*model.model != PriceList::ANY;
    known.filter(is_one).collect()
}

/// How the model names of a vendor begin.
const VENDORS: &[(&str, &str)] = &[
    ("claude-", "claude"),
    ("gemini-", "gemini"),
    ("gpt-", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("mistral-", "mistral"),
    ("deepseek-", "deepseek"),
];

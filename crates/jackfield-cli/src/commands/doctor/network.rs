//! Checks keys, providers and models.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_assembly::{Assembly, Config, KeyState, ProviderState};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::request::ModelRef;

use super::pending::Pending;
use crate::commands::ask::key_help;
use crate::doctor_check::{Area, DoctorCheck, TroubleshootingSection};
use crate::reach::{ReachResult, reach};
use crate::render::words;

/// The providers to check, that of the model first: those that are configured, that a model refers to, or that
/// have a key. The other built-in providers are not in use.
pub(crate) fn chosen(config: &Config, assembled: &Assembly) -> Vec<Arc<str>> {
    let first = &config.options.model.provider;
    let named: BTreeSet<&Arc<str>> = config
        .aliases
        .values()
        .chain(
            config
                .assistants
                .values()
                .map(|assistant| &assistant.options.model),
        )
        .map(|model| &model.provider)
        .collect();
    let others = assembled.providers.iter().filter(|(name, state)| {
        let has_key = matches!(state.key, KeyState::Found(_));
        *name != first && (state.configured || has_key || named.contains(name))
    });
    let others = others.map(|(name, _)| Arc::clone(name));
    std::iter::once(Arc::clone(first)).chain(others).collect()
}

/// Checks the keys of these providers, without printing them.
pub(super) fn keys(assembled: &Assembly, chosen: &[Arc<str>]) -> Vec<DoctorCheck> {
    let first = &assembled.options.model.provider;
    let states = chosen
        .iter()
        .filter_map(|name| Some((name, assembled.providers.get(name)?)));
    let checks = states.map(|(name, state)| match &state.key {
        KeyState::Found(place) => {
            let says = format!("the key of `{name}` is in {place}");
            DoctorCheck::passed(Area::Keys, says)
        }
        KeyState::Missing(missing) => {
            let says = format!("there is no key for `{name}`: {}", missing.reason);
            let help = key_help(missing);
            if name == first {
                DoctorCheck::failed(Area::Keys, says, help)
            } else {
                DoctorCheck::warning(Area::Keys, says, help)
            }
        }
        KeyState::NotNeeded => DoctorCheck::passed(Area::Keys, format!("`{name}` needs no key")),
    });
    checks.collect()
}

/// Checks a provider by listing its models, and its configured models.
pub(super) fn provider(
    config: &Config,
    assembled: &Assembly,
    name: Arc<str>,
    pending: &Pending,
) -> impl Future<Output = Vec<DoctorCheck>> + Send + use<> {
    let engine = assembled.engine.clone();
    let state = assembled.providers.get(&name).cloned();
    let is_first = config.options.model.provider == name;
    let configured = configured_models(config, &name);
    let pending = pending.clone();
    async move {
        let has_no_key = |state: &ProviderState| matches!(state.key, KeyState::Missing(_));
        let Some(state) = state.filter(|state| !has_no_key(state)) else {
            let says = format!("`{name}` was not asked: it has no key");
            return vec![DoctorCheck::skipped(Area::Providers, says)];
        };
        let waiting = pending.wait(format!("the provider `{name}`"));
        let reached = reach(engine, Arc::clone(&name)).await;
        drop(waiting);
        let mut checks = vec![reachable(&name, &state, &reached, is_first)];
        if let Ok(listed) = &reached.listed {
            checks.extend(configured.iter().map(|wanted| model(wanted, listed)));
        }
        checks
    }
}

fn reachable(
    name: &str,
    state: &ProviderState,
    reached: &ReachResult,
    is_first: bool,
) -> DoctorCheck {
    let endpoint = &state.endpoint;
    let took = reached.duration;
    let check = match &reached.listed {
        Ok(models) => {
            let key = match state.key {
                KeyState::Found(_) => " and takes the key",
                KeyState::Missing(_) | KeyState::NotNeeded => "",
            };
            let models = words::counted(models.len() as u64, "model");
            let says = format!("`{name}` at {endpoint} answers{key}: {models}");
            DoctorCheck::passed(Area::Providers, says)
        }
        Err(failure) if reached.is_well() => {
            let says = format!("`{name}` was not asked: {}", failure.message);
            DoctorCheck::skipped(Area::Providers, says)
        }
        Err(failure) => {
            let says = format!("`{name}` at {endpoint}: {}", failure.message);
            let help = advice(failure, name);
            let check = if is_first {
                DoctorCheck::failed(Area::Providers, says, help)
            } else {
                DoctorCheck::warning(Area::Providers, says, help)
            };
            let is_key = matches!(
                failure.kind,
                ModelFailureKind::Forbidden | ModelFailureKind::Unauthenticated
            );
            if is_key {
                check.with_page(TroubleshootingSection::Keys)
            } else {
                check
            }
        }
    };
    check.with_duration(took)
}

/// Help for a provider whose models could not be listed.
pub(crate) fn advice(failure: &ModelFailure, name: &str) -> String {
    if failure.kind == ModelFailureKind::Timeout {
        return format!(
            "see whether something slow or silent stands between: the network, a proxy, or \
             `base_url` under [providers.{name}]"
        );
    }
    // A request for the list has neither settings nor a model that could be wrong.
    let is_elsewhere = matches!(
        failure.kind,
        ModelFailureKind::InvalidRequest | ModelFailureKind::ModelNotFound
    );
    if is_elsewhere {
        return format!(
            "look at `base_url` under [providers.{name}]: the provider has no list of models there"
        );
    }
    let nothing = ModelRef {
        model: "".into(),
        provider: name.into(),
    };
    words::help(failure, &nothing)
}

/// The configured models of a provider, each with the key that names it.
fn configured_models(config: &Config, provider: &str) -> Vec<(String, Arc<str>)> {
    let chosen = &config.options.model;
    let chosen = [("the model".to_owned(), chosen)].into_iter();
    let aliases = config.aliases.iter();
    let aliases = aliases.map(|(alias, model)| (format!("the alias `{alias}`"), model));
    let all = chosen.chain(aliases);
    all.filter(|(_, model)| &*model.provider == provider)
        .map(|(what, model)| (what, Arc::clone(&model.model)))
        .collect()
}

fn model((what, model): &(String, Arc<str>), listed: &[ListedModel]) -> DoctorCheck {
    if listed.iter().any(|listed| is_named(&listed.id, model)) {
        return DoctorCheck::passed(Area::Models, format!("{what} is `{model}`, which is there"));
    }
    let says = format!("{what} is `{model}`, which the provider does not list");
    let mut near: Vec<&str> = listed.iter().map(|listed| &*listed.id).collect();
    near.sort_by_key(|id| std::cmp::Reverse(common_prefix_len(id, model)));
    near.truncate(MAX_NAMED);
    let help = if near.is_empty() {
        "it may be known by this name all the same; the provider lists no models".to_owned()
    } else {
        format!(
            "it may be known all the same; there are, among others: {}",
            near.join(", ")
        )
    };
    DoctorCheck::warning(Area::Models, says, help)
}

/// Whether a listed model matches: many are listed with a date or a tag after the name.
fn is_named(listed: &str, model: &str) -> bool {
    let rest = listed.strip_prefix(model);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':', '@']))
}

/// The length of the common prefix of two names, in characters.
fn common_prefix_len(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    pairs.take_while(|(a, b)| a == b).count()
}

/// How many models are named.
const MAX_NAMED: usize = 4;

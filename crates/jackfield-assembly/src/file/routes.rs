//! Reads the tables of routes.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::routing::{OnExhausted, Strategy};
use toml::de::DeValue;

use crate::document::Section;
use crate::file::{Trust, trust_help};
use crate::form::{self, ValueForm};
use crate::place::ConfigProblem;
use crate::routes::{ConfiguredRoute, ConfiguredTarget};
use crate::values;

/// Reads `[routes]` over earlier ones.
pub(crate) fn read(
    routes: &mut BTreeMap<Arc<str>, ConfiguredRoute>,
    section: Section<'_>,
    trust: Trust,
) {
    if trust == Trust::Found
        && let Some(place) = section.first_place()
    {
        let help = trust_help(&place);
        let message = "a file that was merely found says nothing of routes";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    let names = section.again();
    for entry in section.entries() {
        let is_name = !entry.name.trim().is_empty() && !entry.name.contains('/');
        if !is_name {
            let message = "the name of a route has no `/`, which stands between provider and model";
            names.problem(ConfigProblem::new(entry.place.clone(), message));
        }
        let mut section = Section::of(&names, &entry);
        let slot = routes.entry(Arc::clone(&entry.name));
        let route = slot.or_insert_with(|| ConfiguredRoute::at(entry.place.clone()));
        route.place = entry.place;
        form::keys! { let section;
            content_filter: form::of(ValueForm::Targets, targets), "Its models for requests that a content filter refused, in order";
            first_byte: form::duration("20s"), "How long a target may take to begin its reply";
            targets: form::of(ValueForm::Targets, targets), "Its models: aliases, or provider/model, or tables with more";
        }
        if let Some((filtered, _)) = content_filter {
            route.content_filter = filtered;
        }
        if let Some((limit, _)) = first_byte {
            route.first_byte = Some(limit);
        }
        if let Some((targets, _)) = targets {
            route.targets = targets;
        }
        form::keys! { section over route;
            cache_minimum: form::whole::<u64>(0), "The tokens from which on a conversation without a session stays at its target";
            on_exhausted: form::one_of(OnExhausted::NAMES), "What a client gets when no target answers: 503, or the last error";
            sticky: form::flag(), "Whether a conversation stays at the target that answered it before";
            strategy: form::one_of(Strategy::NAMES), "How the targets of a tier are sorted";
        }
        section.finish();
    }
}

/// Parses a list of targets, each a name or a table.
fn targets(value: &DeValue<'_>) -> Result<Vec<ConfiguredTarget>, String> {
    let items = value
        .as_array()
        .ok_or_else(|| "this must be a list of models".to_owned())?;
    if items.len() > MAX_TARGETS {
        return Err(format!("a route has at most {MAX_TARGETS} targets"));
    }
    items.iter().map(|item| target(item.get_ref())).collect()
}

fn target(value: &DeValue<'_>) -> Result<ConfiguredTarget, String> {
    let Some(table) = value.as_table() else {
        return values::filled(value).map(ConfiguredTarget::named);
    };
    let mut target = ConfiguredTarget::named("".into());
    for (key, value) in table {
        let (key, value) = (key.get_ref().as_ref(), value.get_ref());
        let read = match key {
            "audio" => values::flag(value).map(|flag| target.audio = Some(flag)),
            "documents" => values::flag(value).map(|flag| target.documents = Some(flag)),
            "first_byte" => values::duration(value).map(|limit| target.first_byte = Some(limit)),
            "images" => values::flag(value).map(|flag| target.images = Some(flag)),
            "model" => values::filled(value).map(|name| target.name = name),
            "tier" => values::whole(value).map(|tier| target.tier = tier),
            "tools" => values::flag(value).map(|flag| target.tools = Some(flag)),
            "weight" => values::at_least_one(value).and_then(|weight| {
                target.weight = weight;
                (weight <= MAX_WEIGHT)
                    .then_some(())
                    .ok_or_else(|| format!("{weight} is more than {MAX_WEIGHT}"))
            }),
            _ => Err(format!(
                "a target has no `{key}`: it has audio, documents, first_byte, images, model, tier, tools, weight"
            )),
        };
        read.map_err(|why| format!("`{key}`: {why}"))?;
    }
    if target.name.is_empty() {
        return Err("a target has a `model`".to_owned());
    }
    Ok(target)
}

/// The largest number of targets of a route.
const MAX_TARGETS: usize = 32;
/// The largest weight.
const MAX_WEIGHT: u32 = 1_000_000;

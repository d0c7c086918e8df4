//! Models and providers, for people and for programs.

use std::io::{self, Write};
use std::sync::Arc;

use jackfield_assembly::{KeyState, ProviderState};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::listing::ListedModel;
use jackfield_engine::Capabilities;
use serde_json::{Value, json};

use crate::reach::ReachResult;
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words;

#[derive(Clone, Debug)]
pub struct ProviderModels {
    /// Aliases and assistants, with the model of each.
    pub aliases: Vec<(Arc<str>, Arc<str>)>,
    /// Help if it could not be reached.
    pub help: Option<String>,
    /// Whether the configured model is one of its models.
    pub is_current: bool,
    pub model: Arc<str>,
    pub provider: Arc<str>,
    pub reached: Result<Vec<ListedModel>, ModelFailure>,
}

#[derive(Clone, Debug)]
pub struct ProviderStatus {
    /// The capabilities of its models.
    pub can: Option<Capabilities>,
    /// Whether the configured model is one of its models.
    pub is_current: bool,
    pub name: Arc<str>,
    /// The result of contacting it, if it was contacted.
    pub(crate) reached: Option<ReachResult>,
    pub state: ProviderState,
}

/// Prints models, provider after provider.
///
/// # Errors
///
/// The stream cannot be written.
pub fn models(out: &mut impl Write, all: &[ProviderModels], as_json: bool) -> io::Result<()> {
    if as_json {
        return document(out, &all.iter().map(models_json).collect());
    }
    for listed in all {
        let provider = &listed.provider;
        let models = match &listed.reached {
            Ok(models) => models.as_slice(),
            Err(failure) => {
                let why = words::printable(&failure.message);
                writeln!(out, "{BAD}✗{BAD:#} {NAME}{provider}{NAME:#}: {why}")?;
                if let Some(help) = &listed.help {
                    let help = words::printable(help);
                    writeln!(out, "    {GOOD}help{GOOD:#}: {help}")?;
                }
                &[]
            }
        };
        for model in models {
            let marks = marks(listed, &model.id);
            let id = words::printable(&model.id);
            write!(out, "{NAME}{provider}/{id}{NAME:#}")?;
            writeln!(out, "{DIM}{}{DIM:#}{marks}", about(model))?;
        }
        for (alias, model) in unlisted(listed) {
            let model = words::printable(model);
            writeln!(
                out,
                "{NAME}{provider}/{model}{NAME:#}  {WARM}not listed{WARM:#}  {alias}"
            )?;
        }
    }
    out.flush()
}

/// Prints providers.
///
/// # Errors
///
/// The stream cannot be written.
pub fn providers(out: &mut impl Write, all: &[ProviderStatus], as_json: bool) -> io::Result<()> {
    if as_json {
        return document(out, &all.iter().map(status_json).collect());
    }
    for one in all {
        let (sign, style, how) = match &one.reached {
            Some(reached) => match &reached.listed {
                Ok(models) => {
                    let models = words::counted(models.len() as u64, "model");
                    ("✓", GOOD, format!("reachable, {models}"))
                }
                Err(_) if reached.is_well() => ("-", DIM, "lists no models".to_owned()),
                Err(failure) => ("✗", BAD, failure.message.clone()),
            },
            None => ("-", DIM, "not asked".to_owned()),
        };
        let current = if one.is_current { ", the model's" } else { "" };
        writeln!(
            out,
            "{style}{sign}{style:#} {NAME}{}{NAME:#}{current}: {}",
            one.name,
            words::printable(&how)
        )?;
        let ProviderState {
            dialect, endpoint, ..
        } = &one.state;
        writeln!(
            out,
            "  {DIM}{endpoint} · {dialect} · {}{DIM:#}",
            abilities(one.can)
        )?;
        let (key, style) = key(&one.state.key);
        writeln!(out, "  {style}{}{style:#}", words::printable(&key))?;
    }
    out.flush()
}

/// The details of a model besides its id.
fn about(model: &ListedModel) -> String {
    let name = model.name.as_ref();
    let name = name.map(|name| words::shortened(name, 60));
    let context = model.context.map(|tokens| format!("{tokens} tokens"));
    let words: Vec<String> = name.into_iter().chain(context).collect();
    if words.is_empty() {
        String::new()
    } else {
        format!("  {}", words.join(", "))
    }
}

/// The aliases of a model, and whether it is the configured one.
fn marks(listed: &ProviderModels, id: &str) -> String {
    let aliases = listed.aliases.iter();
    let aliases = aliases.filter(|(_, model)| &**model == id);
    let mut marks: Vec<String> = aliases.map(|(alias, _)| alias.to_string()).collect();
    if listed.is_current && *listed.model == *id {
        marks.insert(0, "the model".to_owned());
    }
    if marks.is_empty() {
        String::new()
    } else {
        format!("  {GOOD}← {}{GOOD:#}", marks.join(", "))
    }
}

/// The configured models of a provider that it does not list.
fn unlisted(listed: &ProviderModels) -> Vec<(String, &str)> {
    let ids: Vec<&str> = match &listed.reached {
        Ok(models) => models.iter().map(|model| &*model.id).collect(),
        Err(_) => Vec::new(),
    };
    let current = listed
        .is_current
        .then_some(("the model".to_owned(), &*listed.model));
    let aliases = listed.aliases.iter();
    let aliases = aliases.map(|(alias, model)| (alias.to_string(), &**model));
    let all = current.into_iter().chain(aliases);
    all.filter(|(_, model)| !ids.contains(model)).collect()
}

fn abilities(can: Option<Capabilities>) -> String {
    let words: Vec<&str> = can.map(able).unwrap_or_default();
    if words.is_empty() {
        "text alone".to_owned()
    } else {
        words.join(", ")
    }
}

fn able(can: Capabilities) -> Vec<&'static str> {
    [
        (can.tools, "tools"),
        (can.images, "images"),
        (can.documents, "documents"),
        (can.audio, "audio"),
        (can.reasoning, "reasoning"),
        (can.structured_output, "structured_output"),
    ]
    .into_iter()
    .filter_map(|(able, word)| able.then_some(word))
    .collect()
}

fn key(key: &KeyState) -> (String, anstyle::Style) {
    match key {
        KeyState::Found(place) => (format!("key in {place}"), DIM),
        KeyState::Missing(missing) => (format!("no key: {}", missing.reason), WARM),
        KeyState::NotNeeded => ("needs no key".to_owned(), DIM),
    }
}

fn models_json(listed: &ProviderModels) -> Value {
    let (models, failure) = match &listed.reached {
        Ok(models) => (models.as_slice(), None),
        Err(failure) => (&[][..], Some(&failure.message)),
    };
    let models = models.iter().map(|model| {
        let aliases = listed.aliases.iter();
        let aliases = aliases.filter(|(_, known)| *known == model.id);
        json!({
            "id": &*model.id,
            "name": model.name.as_deref(),
            "context_tokens": model.context,
            "output_tokens": model.output,
            "aliases": aliases.map(|(alias, _)| &**alias).collect::<Vec<_>>(),
            "current": listed.is_current && listed.model == model.id,
        })
    });
    let unlisted = unlisted(listed);
    let unlisted = unlisted
        .iter()
        .map(|(what, model)| json!({ "id": model, "is": what }));
    json!({
        "provider": &*listed.provider,
        "models": models.collect::<Vec<_>>(),
        "unlisted": unlisted.collect::<Vec<_>>(),
        "error": failure,
        "help": listed.help,
    })
}

fn status_json(one: &ProviderStatus) -> Value {
    let (key, place, why) = match &one.state.key {
        KeyState::Found(place) => ("found", Some(place), None),
        KeyState::Missing(missing) => ("missing", None, Some(&missing.reason)),
        KeyState::NotNeeded => ("not_needed", None, None),
    };
    let error = one.reached.as_ref().and_then(|reached| {
        let failure = reached.listed.as_ref().err();
        failure.filter(|_| !reached.is_well())
    });
    json!({
        "name": &*one.name,
        "kind": &*one.state.kind,
        "configured": one.state.configured,
        "current": one.is_current,
        "endpoint": &*one.state.endpoint,
        "dialect": &*one.state.dialect,
        "can": one.can.map(able).unwrap_or_default(),
        "key": { "state": key, "place": place, "reason": why },
        "reachable": one.reached.as_ref().map(ReachResult::is_well),
        "error": error.map(|failure| &failure.message),
    })
}

//! `jackfield models` and `jackfield providers`: the available models and providers.

use std::sync::Arc;

use jackfield_assembly::{Assembly, Config, KeyState, Registry, UnknownProvider, load};

use crate::args::{ModelsArgs, Providers, Source};
use crate::commands::doctor::{advice, chosen, retiring};
use crate::commands::{ask, config, printed};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::reach::{ReachResult, reach_all};
use crate::render::{self, ProviderModels, ProviderStatus};
use crate::since;

/// Lists the models of the providers.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn list(models: ModelsArgs, registry: &Registry) -> Result<Exit, CommandError> {
    let (config, assembled) = assemble(&models.source, registry)?;
    let names = named(&models.providers, &config, &assembled)?;
    let reached = reach_all(&assembled, names).await;
    let exit = exit_of(&reached);
    let listed: Vec<ProviderModels> = reached
        .into_iter()
        .map(|(name, reached)| ProviderModels {
            aliases: aliases(&config, &name),
            help: help(&assembled, &name, &reached),
            is_current: config.options.model.provider == name,
            model: Arc::clone(&config.options.model.model),
            provider: name,
            reached: reached.listed,
        })
        .collect();
    for says in retiring(&config, since::now()) {
        render::remark(&format!("warning: {says}"));
    }
    let out = &mut anstream::stdout();
    printed::finish(render::models(out, &listed, models.json), exit)
}

/// The exit code of a list: as that of a question if no provider answers.
fn exit_of(reached: &[(Arc<str>, ReachResult)]) -> Exit {
    let failures = reached.iter().map(|(_, one)| one.failure());
    let failures: Option<Vec<_>> = failures.collect();
    let failures = failures.unwrap_or_default();
    let mut exits = failures.into_iter().map(Exit::of_failure);
    match exits.next() {
        None => Exit::Answered,
        Some(first) if exits.all(|exit| exit == first) => first,
        Some(_) => Exit::Provider,
    }
}

/// Lists the providers and their states.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn providers(providers: Providers, registry: &Registry) -> Result<Exit, CommandError> {
    let (config, assembled) = assemble(&providers.source, registry)?;
    let mut names = chosen(&config, &assembled);
    let shown = names.clone();
    if providers.all {
        let others = assembled.providers.keys();
        names.extend(others.filter(|name| !shown.contains(name)).cloned());
    }
    // Built-in providers that are not in use are not contacted.
    let probed = if providers.offline { Vec::new() } else { shown };
    let probed = probed.into_iter().filter(|name| {
        let state = assembled.providers.get(name);
        state.is_some_and(|state| !matches!(state.key, KeyState::Missing(_)))
    });
    let mut reached = reach_all(&assembled, probed.collect()).await;
    let standings = names.into_iter().filter_map(|name| {
        let at = reached.iter().position(|(reached, _)| *reached == name);
        Some(ProviderStatus {
            can: assembled.engine.capabilities(&name),
            is_current: config.options.model.provider == name,
            reached: at.map(|at| reached.swap_remove(at).1),
            state: assembled.providers.get(&name)?.clone(),
            name,
        })
    });
    let standings: Vec<ProviderStatus> = standings.collect();
    let out = &mut anstream::stdout();
    let printed = render::providers(out, &standings, providers.json);
    printed::finish(printed, Exit::Answered)
}

fn assemble(source: &Source, registry: &Registry) -> Result<(Config, Assembly), CommandError> {
    let surroundings = config::surroundings()?;
    let config = load(&surroundings, &ask::flags_without_servers(source))?;
    let assembled = registry.assemble(&config, &surroundings.environment)?;
    Ok((config, assembled))
}

fn named(
    names: &[String],
    config: &Config,
    assembled: &Assembly,
) -> Result<Vec<Arc<str>>, CommandError> {
    if names.is_empty() {
        return Ok(chosen(config, assembled));
    }
    let known = &assembled.providers;
    let named = names.iter().map(|name| {
        let found = known.keys().find(|known| ***known == **name);
        found.cloned().ok_or_else(|| {
            let known: Vec<&Arc<str>> = known.keys().collect();
            let UnknownProvider { help, message } = UnknownProvider::new(name, &known);
            CommandError::new(Exit::Usage, message).with_help(help)
        })
    });
    named.collect()
}

/// Help for a provider that cannot be reached.
fn help(assembled: &Assembly, name: &Arc<str>, reached: &ReachResult) -> Option<String> {
    let failure = reached.failure()?;
    match &assembled.providers.get(name)?.key {
        KeyState::Missing(missing) => Some(ask::key_help(missing)),
        KeyState::Found(_) | KeyState::NotNeeded => Some(advice(failure, name)),
    }
}

/// The aliases of a provider's models and its assistants, with the model of each.
fn aliases(config: &Config, provider: &str) -> Vec<(Arc<str>, Arc<str>)> {
    let aliases = config.aliases.iter();
    let assistants = config.assistants.iter();
    let assistants = assistants.map(|(name, assistant)| (name, &assistant.options.model));
    let names = aliases.chain(assistants);
    let theirs = names.filter(|(_, model)| &*model.provider == provider);
    let theirs = theirs.map(|(alias, model)| (Arc::clone(alias), Arc::clone(&model.model)));
    theirs.collect()
}

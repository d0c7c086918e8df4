//! `jackfield keys`: keys of clients in the journal, and keys of providers in the keyring of the operating system.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_assembly::{
    ConfigFile, Flags, Keyring, ProviderState, Registry, Surroundings, UnknownProvider,
};
use jackfield_domain::directory::EntryKind;

use crate::args::{Keys, Source};
use crate::commands::{ask, directory, key_store};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Runs the command.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(keys: Keys, registry: &Registry) -> Result<Exit, CommandError> {
    match keys {
        Keys::Create(key) => directory::create_key(key, registry).await,
        Keys::Limit { id, limits, source } => {
            directory::limit((EntryKind::Key, &id), limits, &source, registry).await
        }
        Keys::List { user, source, json } => {
            directory::list_keys(user.as_deref(), &source, json, registry).await
        }
        Keys::Remove { provider, source } => remove(&provider, &source, registry),
        Keys::Revoke { id, source } => directory::revoke_key(&id, &source, registry).await,
        Keys::Rotate {
            id,
            overlap,
            source,
            json,
        } => directory::rotate_key(&id, &overlap, &source, json, registry).await,
        Keys::Set { provider, source } => set(&provider, &source, registry),
    }
}

/// Removes the key of a provider from the keyring.
fn remove(provider: &str, source: &Source, registry: &Registry) -> Result<Exit, CommandError> {
    let (file, surroundings) = open(provider, source, registry)?;
    let keyring =
        Keyring::find(&surroundings.environment).map_err(|error| key_store::no_keyring(&error))?;
    let removed = keyring
        .remove(provider)
        .map_err(|error| key_store::no_keyring(&error))?;
    file.forget_keyring(provider)
        .map_err(|error| key_store::cannot_write(file.path(), &error))?;
    if !removed {
        let message = format!("the keyring has no key of `{provider}`");
        return Err(CommandError::new(Exit::Usage, message));
    }
    render::remark(&format!("removed from the keyring: the key of {provider}"));
    Ok(Exit::Answered)
}

/// Stores the key of a provider in the keyring.
fn set(provider: &str, source: &Source, registry: &Registry) -> Result<Exit, CommandError> {
    let (file, surroundings) = open(provider, source, registry)?;
    // Before a person types the key.
    Keyring::find(&surroundings.environment).map_err(|error| key_store::no_keyring(&error))?;
    let key = key_store::read_key(provider)?;
    key_store::store_in_keyring(provider, &key, &file, &surroundings.environment)?;
    render::remark(&format!(
        "stored in the keyring: the key of {provider}; {} says so",
        file.path().display()
    ));
    render::remark("next: jackfield doctor");
    Ok(Exit::Answered)
}

/// The configuration file that is changed, once the provider is known.
fn open(
    provider: &str,
    source: &Source,
    registry: &Registry,
) -> Result<(ConfigFile, Surroundings), CommandError> {
    let surroundings = ask::surroundings()?;
    let flags = ask::source_flags(source);
    let config = ask::load_config_in(&flags, &surroundings)?;
    let assembled = registry.assemble(&config, &surroundings.environment)?;
    check_name(provider, &assembled.providers)?;
    Ok((config_file(&surroundings, &flags)?, surroundings))
}

/// The configuration file that is changed.
///
/// # Errors
///
/// There is no home folder.
pub(crate) fn config_file(
    surroundings: &Surroundings,
    flags: &Flags,
) -> Result<ConfigFile, CommandError> {
    ConfigFile::of(surroundings, flags)?.ok_or_else(|| {
        let message = "there is no home folder, and so no place for a configuration of your own";
        let help = "name a file with `--config FILE`, or set HOME";
        CommandError::new(Exit::Configuration, message).with_help(help)
    })
}

fn check_name(
    provider: &str,
    known: &BTreeMap<Arc<str>, ProviderState>,
) -> Result<(), CommandError> {
    if !known.contains_key(provider) {
        let known: Vec<&Arc<str>> = known.keys().collect();
        let UnknownProvider { help, message } = UnknownProvider::new(provider, &known);
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    Ok(())
}

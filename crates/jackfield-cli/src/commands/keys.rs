//! `jackfield keys`: keeps keys of providers in the keyring of the operating system.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_assembly::{
    ConfigFile, Flags, Keyring, ProviderState, Registry, Surroundings, did_you_mean,
};

use crate::args::Keys;
use crate::commands::{ask, key_store};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Stores or removes a key.
///
/// # Errors
///
/// [`CommandError`] if there is no such provider or no keyring, or a file cannot be written.
pub fn run(keys: &Keys, registry: &Registry) -> Result<Exit, CommandError> {
    let (Keys::Remove { provider, source } | Keys::Set { provider, source }) = keys;
    let surroundings = ask::surroundings()?;
    let flags = ask::source_flags(source);
    let config = ask::load_config_in(&flags, &surroundings)?;
    let assembled = registry.assemble(&config, &surroundings.environment)?;
    check_name(provider, &assembled.providers)?;
    let file = config_file(&surroundings, &flags)?;
    let environment = &surroundings.environment;
    match keys {
        Keys::Remove { .. } => {
            let keyring =
                Keyring::find(environment).map_err(|error| key_store::no_keyring(&error))?;
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
        }
        Keys::Set { .. } => {
            // Before a person types the key.
            Keyring::find(environment).map_err(|error| key_store::no_keyring(&error))?;
            let key = key_store::read_key(provider)?;
            key_store::store_in_keyring(provider, &key, &file, environment)?;
            render::remark(&format!(
                "stored in the keyring: the key of {provider}; {} says so",
                file.path().display()
            ));
            render::remark("next: jackfield doctor");
        }
    }
    Ok(Exit::Answered)
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
        let near = did_you_mean(provider, &known);
        let message = format!("there is no provider `{provider}`{near}");
        let help = "`jackfield providers` lists them";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    Ok(())
}

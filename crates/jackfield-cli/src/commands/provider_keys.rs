//! The keys of users at providers: set, listed and taken away by an administrator.

use std::io::{self, Write as _};

use jackfield_assembly::{Registry, UnknownProvider};
use jackfield_domain::directory::EntryName;
use jackfield_engine::Credential;

use crate::args::Source;
use crate::commands::directory::author;
use crate::commands::session_journal::JournalAccess;
use crate::commands::{ask, directory, key_store, printed};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Sets the key of a user at a provider, from standard input or the terminal.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn set(
    user: &str,
    provider: &str,
    source: &Source,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let user = EntryName::parse(user)?;
    let flags = ask::flags_without_servers(source);
    let (config, _) = ask::load_config(&flags)?;
    if !config.providers.contains_key(provider) {
        let known: Vec<_> = config.providers.keys().collect();
        let UnknownProvider { help, message } = UnknownProvider::new(provider, &known);
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    let key = Credential::new(key_store::read_key(provider)?);
    let (by, provider) = (author(), provider.into());
    let set = directory::with_directory_and_secrets(source, registry, async |directory| {
        let set = directory.set_provider_key(&by, &user, &provider, &key);
        set.await
    });
    let key = set.await?;
    render::remark(&format!(
        "set: the key of {} at {}; it is kept encrypted",
        key.user, key.provider
    ));
    Ok(Exit::Answered)
}

/// Takes the key of a user at a provider away.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn remove(
    user: &str,
    provider: &str,
    source: &Source,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let user = EntryName::parse(user)?;
    let by = author();
    let removed =
        directory::with_directory(source, JournalAccess::Write, registry, async |directory| {
            directory.remove_provider_key(&by, &user, provider).await
        });
    let key = removed.await?;
    render::remark(&format!(
        "removed: the key of {} at {}",
        key.user, key.provider
    ));
    Ok(Exit::Answered)
}

/// Lists the keys of a user at providers.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn list(
    user: &str,
    source: &Source,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let user = EntryName::parse(user)?;
    let keys =
        directory::with_directory(source, JournalAccess::Read, registry, async |directory| {
            directory.user(&user).await?;
            directory.provider_keys(&user).await
        });
    let keys = keys.await?;
    if keys.is_empty() {
        render::remark(&format!("{user} has no keys at providers"));
    }
    let mut out = io::stdout();
    let mut written = Ok(());
    for (key, change) in &keys {
        written = written.and_then(|()| {
            let (provider, hint) = (&key.provider, &key.hint);
            writeln!(out, "{provider}  …{hint}  since {}", change.at.to_rfc3339())
        });
    }
    printed::finish(written.and_then(|()| out.flush()), Exit::Answered)
}

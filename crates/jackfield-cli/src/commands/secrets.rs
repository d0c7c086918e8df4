//! `jackfield secrets`: the master keys, under which secrets in the journal are encrypted.

use std::io::{self, Write as _};

use jackfield_assembly::{Environment, Keyring, MASTER_KEY_IN_KEYRING, Registry};
use jackfield_engine::{MasterKeys, SecretError};

use crate::args::{Secrets, Source};
use crate::commands::session_journal::JournalAccess;
use crate::commands::{key_store, printed, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, words};

/// Runs the command.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(command: Secrets, registry: &Registry) -> Result<Exit, CommandError> {
    match command {
        Secrets::NewKey { keyring } => new_key(keyring),
        Secrets::Rotate { source } => rotate(&source, registry).await,
        Secrets::Status { source } => status(&source, registry).await,
    }
}

fn new_key(to_keyring: bool) -> Result<Exit, CommandError> {
    let key = MasterKeys::generate()?;
    if !to_keyring {
        let mut out = io::stdout();
        let written = writeln!(out, "{}", key.expose()).and_then(|()| out.flush());
        return printed::finish(written, Exit::Answered);
    }
    let no_keyring = |error: io::Error| key_store::no_keyring(&error);
    let keyring = Keyring::find(&Environment::of_process()).map_err(no_keyring)?;
    let before = keyring.key(MASTER_KEY_IN_KEYRING).map_err(no_keyring)?;
    // One line, as the keyring's programs take no other.
    let before = before.unwrap_or_default();
    let keys = format!("{} {before}", key.expose());
    keyring
        .set(MASTER_KEY_IN_KEYRING, keys.trim())
        .map_err(no_keyring)?;
    render::remark("the keyring has a new master key, before those that were there");
    render::remark("next: `key_keyring = true` under [secrets]");
    Ok(Exit::Answered)
}

async fn rotate(source: &Source, registry: &Registry) -> Result<Exit, CommandError> {
    let journal =
        session_journal::open_with_secrets(source, JournalAccess::Write, registry).await?;
    let rotated = journal.engine.rotate_secrets().await;
    journal.close().await;
    let rotated = rotated?;
    render::remark(&format!(
        "under the newest master key: {} now, and {} before",
        words::counted(rotated.changed, "secret"),
        rotated.unchanged
    ));
    Ok(Exit::Answered)
}

async fn status(source: &Source, registry: &Registry) -> Result<Exit, CommandError> {
    let journal = session_journal::open_with_secrets(source, JournalAccess::Read, registry).await?;
    let counts = journal.engine.secret_counts().await;
    let checked = journal.engine.check_secrets().await;
    let has_key = journal.engine.has_master_key();
    journal.close().await;
    let counts = counts?;
    let mut out = io::stdout();
    let mut written = Ok(());
    for (id, count) in &counts {
        written =
            written.and_then(|()| writeln!(out, "{id}  {}", words::counted(*count, "secret")));
    }
    if counts.is_empty() {
        render::remark("there are no secrets");
    }
    if !has_key {
        render::remark("there is no master key under [secrets]");
    }
    checked?;
    printed::finish(written.and_then(|()| out.flush()), Exit::Answered)
}

impl From<SecretError> for CommandError {
    fn from(error: SecretError) -> Self {
        let exit = match &error {
            SecretError::Damaged { .. } => Exit::Damaged,
            SecretError::NotConfigured | SecretError::UnknownKey { .. } => Exit::Configuration,
            SecretError::Journal(_) | SecretError::Random(_) | SecretError::TooLong | _ => {
                Exit::Internal
            }
        };
        let mut fault = Self::new(exit, error.to_string());
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            fault.causes.push(cause.to_string());
            source = cause.source();
        }
        fault
    }
}

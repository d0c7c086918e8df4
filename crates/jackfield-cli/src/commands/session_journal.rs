//! The journal of a command: opened in the background, and closed in order.

use std::sync::Arc;
use std::time::Duration;

use jackfield_assembly::{
    Config, Environment, Flags, JournalConfig, JournalKind, JournalOpenError, OpenJournal, Origin,
    Registry, restored_help,
};
use jackfield_engine::Engine;
use tokio::task::JoinHandle;

use crate::args::Source;
use crate::commands::ask;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// A journal that is being opened.
pub(crate) struct PendingJournal(JoinHandle<Result<OpenJournal, JournalOpenError>>);

/// Starts opening the configured journal in the background.
pub(crate) fn open_in_background(config: &Config, registry: &Registry) -> PendingJournal {
    let (config, registry) = (config.clone(), registry.clone());
    let open = move || registry.open_journal(&config);
    PendingJournal(tokio::task::spawn_blocking(open))
}

/// Starts opening it for reading only: the file need not be writable.
fn open_read_only_in_background(config: &Config, registry: &Registry) -> PendingJournal {
    let (config, registry) = (config.clone(), registry.clone());
    let open = move || registry.open_journal_to_read(&config);
    PendingJournal(tokio::task::spawn_blocking(open))
}

impl PendingJournal {
    /// Waits for the journal. Prints a warning if it is only in memory.
    ///
    /// # Errors
    ///
    /// [`CommandError`] if an explicitly named file cannot be opened.
    pub(crate) async fn wait_and_warn(self) -> Result<OpenJournal, CommandError> {
        let opened = self.wait().await?;
        if let Some(admin) = opened.journal.admin()
            && let Ok(Some(restored)) = admin.restored().await
            && restored.parked > 0
        {
            render::remark(&format!(
                "warning: {restored}; {}",
                restored_help(&restored)
            ));
        }
        if let Some(reason) = &opened.not_persisted {
            let causes = reason.causes.join(": ");
            let help = reason.help;
            render::remark(&format!("warning: sessions are not kept: {causes}; {help}"));
        }
        Ok(opened)
    }

    /// Waits for the journal, without a warning.
    ///
    /// # Errors
    ///
    /// [`CommandError`] if an explicitly named file cannot be opened.
    pub(crate) async fn wait(self) -> Result<OpenJournal, CommandError> {
        match self.0.await {
            Ok(opened) => Ok(opened?),
            Err(error) => {
                let message = "the journal cannot be opened";
                Err(CommandError::new(Exit::Internal, message).with_cause(&error))
            }
        }
    }
}

/// How a command uses the journal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JournalAccess {
    /// It reads only, so a read-only file is enough.
    Read,
    Write,
}

/// The journal of a command without models and tools, and an engine that has none.
pub(crate) struct SessionJournal {
    /// Whether the configuration names an administrator of a gateway.
    pub(crate) config_names_admins: bool,
    pub(crate) engine: Engine,
    pub(crate) journal: OpenJournal,
}

/// Checks that the file exists, so that a command that only reads does not create it.
///
/// # Errors
///
/// [`CommandError`] if `--db` names a file that does not exist.
pub(crate) fn check_exists(config: &Config) -> Result<(), CommandError> {
    let Some((path, place)) = &config.journal.path else {
        return Ok(());
    };
    // A file named in the configuration is created by the first conversation; until then it is empty.
    if !matches!(place.origin, Origin::Flag(_)) || path.exists() {
        return Ok(());
    }
    let message = format!("{place}: there is no file {}", path.display());
    let fault = CommandError::new(Exit::Configuration, message);
    Err(fault.with_help(NOT_THERE))
}

/// Opens the journal for a command on stored sessions, which needs no provider, key or server. Prints a warning
/// if the file is read-only.
///
/// # Errors
///
/// [`CommandError`] if the configuration is invalid, or the file does not exist.
pub(crate) async fn open(
    flags: &Flags,
    access: JournalAccess,
    registry: &Registry,
) -> Result<SessionJournal, CommandError> {
    let (config, _) = ask::load_config(flags)?;
    check_exists(&config)?;
    let opening = match access {
        JournalAccess::Read => open_read_only_in_background(&config, registry),
        JournalAccess::Write => open_in_background(&config, registry),
    };
    let journal = opening.wait().await?;
    if let Some(read_only) = &journal.read_only {
        let causes = read_only.causes.join(": ");
        render::remark(&format!("note: {causes}"));
    } else if !journal.journal.is_durable() {
        let mut fault = CommandError::new(Exit::Configuration, "no sessions are kept");
        match &journal.not_persisted {
            Some(reason) => {
                fault.causes.extend(reason.causes.clone());
                fault = fault.with_help(reason.help);
            }
            None => {
                fault = match &config.journal.kind {
                    JournalKind::Other(kind) => fault.with_help(format!(
                        "the journal of the kind `{kind}` ends with its process; name a file with `--db FILE`"
                    )),
                    JournalKind::Memory | JournalKind::Sqlite | _ => fault.with_help(IN_MEMORY),
                };
            }
        }
        return Err(fault);
    }
    let engine = Engine::builder(Arc::clone(&journal.journal)).build();
    Ok(SessionJournal {
        config_names_admins: config.serve.names_admins(),
        engine,
        journal,
    })
}

/// As [`open`], with the configured master keys of secrets and the servers that people may have.
///
/// # Errors
///
/// [`CommandError`] if the configuration is invalid, a master key cannot be read, or the file does not exist.
pub(crate) async fn open_with_secrets(
    source: &Source,
    access: JournalAccess,
    registry: &Registry,
) -> Result<SessionJournal, CommandError> {
    let flags = &ask::flags_without_servers(source);
    let (config, _) = ask::load_config(flags)?;
    let keys = config.master_keys(&Environment::of_process())?;
    let opened = open(flags, access, registry).await?;
    let builder = Engine::builder(Arc::clone(&opened.journal.journal));
    Ok(SessionJournal {
        engine: builder
            .master_keys(keys)
            .own_servers(Arc::new(config.own_servers))
            .build(),
        journal: opened.journal,
        config_names_admins: opened.config_names_admins,
    })
}

impl SessionJournal {
    pub(crate) async fn close(self) {
        close(&self.journal).await;
    }
}

/// Closes a journal that was written to, after applying the retention.
pub(crate) async fn prune_and_close(journal: &OpenJournal, config: &JournalConfig) {
    let retention = config.retention();
    if !retention.keeps_everything() && journal.journal.is_durable() {
        let engine = Engine::builder(Arc::clone(&journal.journal)).build();
        let pruning = engine.prune(retention, usize::MAX, false);
        // Unfinished pruning continues next time.
        if let Ok(Err(error)) = tokio::time::timeout(CLOSE_TIMEOUT, pruning).await {
            let why = CommandError::from(error).messages.join("; ");
            render::remark(&format!("warning: old sessions were not deleted: {why}"));
        }
    }
    close(journal).await;
}

/// Closes a journal within [`CLOSE_TIMEOUT`]: everything acknowledged is in the file already.
pub(crate) async fn close(journal: &OpenJournal) {
    let _late = tokio::time::timeout(CLOSE_TIMEOUT, journal.close()).await;
}

impl From<JournalOpenError> for CommandError {
    fn from(error: JournalOpenError) -> Self {
        let message = error.to_string();
        let fault = Self::new(Exit::Configuration, message).with_cause(&*error.source);
        fault.with_help(error.help())
    }
}

/// Help where the configuration keeps conversations in memory.
const IN_MEMORY: &str =
    "they are in memory, as `kind = \"memory\"` under [journal] says; name a file with `--db FILE`";

/// Help where a named file does not exist.
const NOT_THERE: &str =
    "name one that is there, or leave --db out; `jackfield chat --db FILE` makes one";

/// How long the end of a command may wait for its journal.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

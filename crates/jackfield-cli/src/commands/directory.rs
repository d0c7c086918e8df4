//! `jackfield users`, `jackfield teams`, and the keys of clients: the directory of the journal.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jackfield_assembly::{Registry, length_of_time};
use jackfield_domain::directory::{
    ClientKey, DirectoryEntry, EntryKind, EntryName, InvalidEntryName, ServerOwner,
};
use jackfield_domain::quota::QuotaChange;
use jackfield_domain::time::WallTime;
use jackfield_engine::{
    ChangeQuery, ClientDirectory, DirectoryError, KeyOptions, SecretError, UserUpdate,
};

use crate::approval;
use crate::args::{KeyCreate, LimitArgs, LimitChanges, Source, Teams, Unpriced, Users};
use crate::commands::session_journal::{JournalAccess, SessionJournal};
use crate::commands::{ask, own_servers, printed, provider_keys, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, directory as show};
use crate::since;

/// Runs `jackfield users`.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn users(command: Users, registry: &Registry) -> Result<Exit, CommandError> {
    match command {
        Users::Add { name, team, source } => {
            let (name, team) = (parsed(&name)?, team.as_deref().map(parsed).transpose()?);
            with_directory(&source, JournalAccess::Write, registry, async |directory| {
                directory.add_user(&author(), name, team).await
            })
            .await
            .map(|user| {
                render::remark(&format!("added: the user {}", user.name));
                render::remark(&format!("next: jackfield keys create {}", user.name));
                Exit::Answered
            })
        }
        Users::Disable { name, source } => {
            let update = UserUpdate {
                is_disabled: Some(true),
                ..UserUpdate::default()
            };
            update_user(&name, &source, &update, registry).await
        }
        Users::Enable { name, source } => {
            let update = UserUpdate {
                is_disabled: Some(false),
                ..UserUpdate::default()
            };
            update_user(&name, &source, &update, registry).await
        }
        Users::Limit {
            name,
            limits,
            source,
        } => limit((EntryKind::User, &name), limits, &source, registry).await,
        Users::Move { name, team, source } => {
            let team = team.as_deref().map(parsed).transpose()?;
            let update = UserUpdate {
                team: Some(team),
                ..UserUpdate::default()
            };
            update_user(&name, &source, &update, registry).await
        }
        Users::ListKeys { name, source } => provider_keys::list(&name, &source, registry).await,
        Users::RemoveKey {
            name,
            provider,
            source,
        } => provider_keys::remove(&name, &provider, &source, registry).await,
        Users::SetKey {
            name,
            provider,
            source,
        } => provider_keys::set(&name, &provider, &source, registry).await,
        Users::Servers(command) => own_servers::run(command, ServerOwner::User, registry).await,
        Users::List { source, json } => {
            let users = entries(EntryKind::User, &source, registry).await?;
            finish(show::users(&mut anstream::stdout(), &users, json))
        }
        Users::Log { most, source, json } => {
            let query = ChangeQuery {
                limit: usize::try_from(most).unwrap_or(usize::MAX),
                ..ChangeQuery::default()
            };
            let changes = with_directory(&source, JournalAccess::Read, registry, async |of| {
                of.changes(&query).await
            });
            let changes = changes.await?;
            finish(show::changes(&mut anstream::stdout(), &changes, json))
        }
    }
}

/// Runs `jackfield teams`.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn teams(command: Teams, registry: &Registry) -> Result<Exit, CommandError> {
    match command {
        Teams::Add { name, source } => {
            let name = parsed(&name)?;
            with_directory(&source, JournalAccess::Write, registry, async |directory| {
                directory.add_team(&author(), name).await
            })
            .await
            .map(|team| {
                render::remark(&format!("added: the team {}", team.name));
                Exit::Answered
            })
        }
        Teams::Limit {
            name,
            limits,
            source,
        } => limit((EntryKind::Team, &name), limits, &source, registry).await,
        Teams::Servers(command) => own_servers::run(command, ServerOwner::Team, registry).await,
        Teams::List { source, json } => {
            let teams = entries(EntryKind::Team, &source, registry).await?;
            finish(show::teams(&mut anstream::stdout(), &teams, json))
        }
    }
}

/// Makes a key, and prints its secret.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn create_key(key: KeyCreate, registry: &Registry) -> Result<Exit, CommandError> {
    let user = parsed(&key.user)?;
    let expires = key.expires.as_deref().map(until).transpose()?;
    let patterns = |patterns: Vec<String>| -> Option<Vec<Arc<str>>> {
        (!patterns.is_empty()).then(|| patterns.into_iter().map(Into::into).collect())
    };
    let options = KeyOptions {
        expires,
        has_no_approvals: key.no_approvals,
        is_admin: key.admin,
        label: key.label.unwrap_or_default().into(),
        models: patterns(key.model),
        quota: named(key.quota).apply(None),
        tools: if key.no_tools {
            Some(Vec::new())
        } else {
            patterns(key.tool)
        },
    };
    let flags = ask::flags_without_servers(&key.source);
    let opened = session_journal::open(&flags, JournalAccess::Write, registry).await?;
    let is_administered = opened.config_names_admins;
    let made = call_and_close(opened, async |directory| {
        let (made, secret) = directory.create_key(&author(), &user, options).await?;
        // The secret is nowhere else: what goes wrong from here on does not lose it.
        let is_administered = is_administered || directory.has_admin_key().await.unwrap_or(true);
        Ok((made, secret, is_administered))
    });
    let (made, secret, is_administered) = made.await?;
    let shown = show::secret(&mut anstream::stdout(), &made, secret.reveal(), key.json);
    render::remark(&format!("made: the key {} of {}", made.id, made.user));
    render::remark("it is shown this once; only its digest is kept");
    if !is_administered {
        let user = &made.user;
        render::remark(&format!(
            "warning: gateways with this journal need a key now, and no key is an administrator's: \
             `jackfield keys create {user} --admin` makes one, for the page and the API"
        ));
    }
    finish(shown)
}

/// Gives a key a new secret, and prints it.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn rotate_key(
    id: &str,
    overlap: &str,
    source: &Source,
    json: bool,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let (id, overlap) = (parsed(id)?, overlap_time(overlap)?);
    let rotated = with_directory(source, JournalAccess::Write, registry, async |directory| {
        directory.rotate_key(&author(), &id, overlap).await
    });
    let (key, secret) = rotated.await?;
    let shown = show::secret(&mut anstream::stdout(), &key, secret.reveal(), json);
    let before = match key.secrets.get(1).and_then(|before| before.until) {
        Some(until) if !overlap.is_zero() => {
            format!("the old one is accepted until {}", since::shown(until))
        }
        Some(_) | None => "the old one is not accepted any more".to_owned(),
    };
    render::remark(&format!("{before}; the new one is shown this once"));
    finish(shown)
}

/// Revokes a key.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn revoke_key(
    id: &str,
    source: &Source,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let id = parsed(id)?;
    let revoked = with_directory(source, JournalAccess::Write, registry, async |directory| {
        directory.revoke_key(&author(), &id).await
    });
    let key = revoked.await?;
    render::remark(&format!("revoked: the key {} of {}", key.id, key.user));
    Ok(Exit::Answered)
}

/// Lists the keys, of one user or of all.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn list_keys(
    user: Option<&str>,
    source: &Source,
    json: bool,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let user = user.map(parsed).transpose()?;
    let keys = entries(EntryKind::Key, source, registry).await?;
    let keys = keys.into_iter().filter_map(DirectoryEntry::into_key);
    let keys = keys.filter(|key| user.as_ref().is_none_or(|user| key.user == *user));
    let keys: Vec<ClientKey> = keys.collect();
    finish(show::keys(
        &mut anstream::stdout(),
        &keys,
        since::now(),
        json,
    ))
}

async fn update_user(
    name: &str,
    source: &Source,
    update: &UserUpdate,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let name = parsed(name)?;
    let updated = with_directory(source, JournalAccess::Write, registry, async |directory| {
        directory.update_user(&author(), &name, update).await
    });
    let user = updated.await?;
    let state = if user.is_disabled {
        "disabled"
    } else {
        "enabled"
    };
    let team = user.team.map_or_else(
        || "in no team".to_owned(),
        |team| format!("in the team {team}"),
    );
    let limits = show::limits(user.quota.as_ref());
    render::remark(&format!(
        "the user {} is {state}, {team}, with {limits}",
        user.name
    ));
    Ok(Exit::Answered)
}

/// Changes what a key, a user or a team may use.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn limit(
    (kind, name): (EntryKind, &str),
    changes: LimitChanges,
    source: &Source,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let name = parsed(name)?;
    let change = match changes.none {
        true => QuotaChange::REMOVE_ALL,
        false => named(changes.limits),
    };
    if change == QuotaChange::default() {
        let help = "`--parallel 4` sets a limit, `--parallel none` takes it away, and `--none` all of them";
        return Err(CommandError::new(Exit::Usage, "no limit is named").with_help(help));
    }
    let limited = with_directory(source, JournalAccess::Write, registry, async |directory| {
        directory.limit(&author(), kind, &name, &change).await
    });
    let (before, entry) = limited.await?;
    let (before, now) = (before.as_ref(), entry.quota());
    let (before, now) = (show::limits(before), show::limits(now.as_ref()));
    let kind = kind.as_str();
    render::remark(&format!("before: the {kind} {name} had {before}"));
    render::remark(&format!("now: the {kind} {name} has {now}"));
    Ok(Exit::Answered)
}

/// The limits that arguments name.
fn named(limits: LimitArgs) -> QuotaChange {
    QuotaChange {
        cost_per_day: limits.cost_per_day.map(Into::into),
        cost_per_month: limits.cost_per_month.map(Into::into),
        parallel: limits.parallel.map(Into::into),
        requests_per_minute: limits.requests_per_minute.map(Into::into),
        tokens_per_day: limits.tokens_per_day.map(Into::into),
        tokens_per_minute: limits.tokens_per_minute.map(Into::into),
        tokens_per_month: limits.tokens_per_month.map(Into::into),
        unpriced: limits.unpriced.map(|given| given == Unpriced::Allow),
    }
}

async fn entries(
    kind: EntryKind,
    source: &Source,
    registry: &Registry,
) -> Result<Vec<DirectoryEntry>, CommandError> {
    with_directory(source, JournalAccess::Read, registry, async |directory| {
        let mut entries: Vec<DirectoryEntry> = Vec::new();
        loop {
            let after = entries.last().map(|entry| entry.name());
            let page = directory.entries(kind, after, PAGE).await?;
            if page.is_empty() {
                return Ok(entries);
            }
            entries.extend(page);
        }
    })
    .await
}

/// Opens the journal, and calls this with its directory.
pub(super) async fn with_directory<T>(
    source: &Source,
    access: JournalAccess,
    registry: &Registry,
    call: impl AsyncFnOnce(ClientDirectory<'_>) -> Result<T, DirectoryError>,
) -> Result<T, CommandError> {
    let flags = ask::flags_without_servers(source);
    let journal = session_journal::open(&flags, access, registry).await?;
    call_and_close(journal, call).await
}

/// As [`with_directory`], to store secrets and servers of people too.
pub(super) async fn with_directory_and_secrets<T>(
    source: &Source,
    registry: &Registry,
    call: impl AsyncFnOnce(ClientDirectory<'_>) -> Result<T, DirectoryError>,
) -> Result<T, CommandError> {
    let opening = session_journal::open_with_secrets(source, JournalAccess::Write, registry);
    call_and_close(opening.await?, call).await
}

async fn call_and_close<T>(
    journal: SessionJournal,
    call: impl AsyncFnOnce(ClientDirectory<'_>) -> Result<T, DirectoryError>,
) -> Result<T, CommandError> {
    let done = match journal.engine.directory() {
        Some(directory) => call(directory).await.map_err(CommandError::from),
        None => {
            let message = "this journal keeps no users and keys";
            let help = "an older version wrote it, or it is of another kind: `jackfield chat` brings a file up to date";
            Err(CommandError::new(Exit::Configuration, message).with_help(help))
        }
    };
    journal.close().await;
    done
}

fn finish(shown: io::Result<()>) -> Result<Exit, CommandError> {
    printed::finish(shown, Exit::Answered)
}

/// The author of a change, as the log of changes names it.
pub(super) fn author() -> Arc<str> {
    format!("{}, by the command line", approval::user()).into()
}

fn parsed(name: &str) -> Result<EntryName, CommandError> {
    EntryName::parse(name).map_err(CommandError::from)
}

/// When a key ends: at the beginning of a day, or after a time from now.
fn until(text: &str) -> Result<WallTime, CommandError> {
    let now = since::now();
    let refusal = |why: &str| {
        let help = "write a day to come, as in 2027-01-31, or a length of time from now, as in 90d";
        CommandError::new(Exit::Usage, format!("`{text}` {why}")).with_help(help)
    };
    let end = match length_of_time(text) {
        Ok(time) => now.after(time),
        Err(_) => {
            since::since(text).map_err(|_| refusal("is neither a day nor a length of time"))?
        }
    };
    if end > now {
        Ok(end)
    } else {
        Err(refusal("has passed"))
    }
}

fn overlap_time(text: &str) -> Result<Duration, CommandError> {
    if matches!(text, "0" | "0s") {
        return Ok(Duration::ZERO);
    }
    length_of_time(text).map_err(|why| {
        let message = format!("`{text}` is no length of time: {why}");
        CommandError::new(Exit::Usage, message).with_help("write one as in 1h or 7d")
    })
}

impl From<InvalidEntryName> for CommandError {
    fn from(error: InvalidEntryName) -> Self {
        Self::new(Exit::Usage, error.to_string())
    }
}

impl From<DirectoryError> for CommandError {
    fn from(error: DirectoryError) -> Self {
        let (exit, help) = match &error {
            DirectoryError::Missing { kind, .. } => {
                let help = match kind {
                    EntryKind::Key => "`jackfield keys list` shows the keys",
                    EntryKind::ProviderKey => {
                        "`jackfield users list-keys` shows the keys of a user"
                    }
                    EntryKind::Server => {
                        "`jackfield users list-servers` and `jackfield teams list-servers` show the servers"
                    }
                    EntryKind::SignIn => {
                        "it begins at `/api/v1/own-servers/NAME/sign-in` of a gateway"
                    }
                    EntryKind::Team => {
                        "`jackfield teams list` shows them, and `jackfield teams add` adds one"
                    }
                    EntryKind::User => {
                        "`jackfield users list` shows them, and `jackfield users add` adds one"
                    }
                };
                (Exit::Usage, Some(help))
            }
            DirectoryError::Exists { .. }
            | DirectoryError::InvalidServer(_)
            | DirectoryError::Name(_)
            | DirectoryError::NoKey
            | DirectoryError::ServerRefused(_)
            | DirectoryError::TooManyServerNames { .. }
            | DirectoryError::TooManyServers { .. } => (Exit::Usage, None),
            DirectoryError::Secret(SecretError::NotConfigured | SecretError::UnknownKey { .. }) => {
                (Exit::Configuration, None)
            }
            DirectoryError::Refused(_) => (
                Exit::Usage,
                Some("make a new key with `jackfield keys create`"),
            ),
            DirectoryError::Busy { .. } | DirectoryError::Journal(_) | _ => (Exit::Internal, None),
        };
        let mut fault = Self::new(exit, error.to_string());
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            fault.causes.push(cause.to_string());
            source = cause.source();
        }
        match help {
            Some(help) => fault.with_help(help),
            None => fault,
        }
    }
}

/// How many entries are read at once.
const PAGE: usize = 500;

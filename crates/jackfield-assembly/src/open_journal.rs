//! Opens the configured journal.

use std::sync::Arc;

use jackfield_ports::chat_model::BoxError;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_store_sqlite::{OpenError, Options, ReadOnlyJournal, SqliteJournal};
use thiserror::Error;

use crate::config::Config;
use crate::factory::{JournalFactory, JournalSettings};
use crate::journal::{JournalKind, MEMORY, POSTGRES, SQLITE};
use crate::place::{ConfigProblem, Origin, ValueSource};
use crate::registry::Registry;
use jackfield_engine::Engine;
use jackfield_engine::near::{DID_YOU_MEAN, did_you_mean};

/// An open journal.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenJournal {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The reason why the file is open for reading only, if it is.
    pub read_only: Option<ReadOnly>,
    /// The reason why the journal is in memory although that was not configured.
    pub not_persisted: Option<NoJournalReason>,
}

/// A file that is open for reading only.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOnly {
    /// The chain of causes, the first cause first.
    pub causes: Vec<String>,
}

/// The reason why conversations are not stored.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct NoJournalReason {
    /// The chain of causes, the first cause first.
    pub causes: Vec<String>,
    /// Whether there is a file, which cannot be used.
    pub has_file: bool,
    /// Help.
    pub help: &'static str,
}

impl OpenJournal {
    /// A journal in memory, for the life of the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::opened(Arc::new(MemoryJournal::default()))
    }

    /// A journal in memory for short-lived sessions, without listing and search.
    #[must_use]
    pub fn ephemeral() -> Self {
        Self::opened(Arc::new(MemoryJournal::new().ephemeral()))
    }

    /// The same for an engine beside its own journal, by its clock.
    #[must_use]
    pub fn ephemeral_beside(engine: &Engine) -> Self {
        let engine = engine.clone();
        let memory = MemoryJournal::with_clock(move || engine.now());
        Self::opened(Arc::new(memory.ephemeral()))
    }

    fn not_persisted(causes: Vec<String>, has_file: bool) -> Self {
        let reason = NoJournalReason {
            causes,
            has_file,
            help: HELP,
        };
        Self {
            not_persisted: Some(reason),
            ..Self::in_memory()
        }
    }

    fn opened(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            read_only: None,
            not_persisted: None,
        }
    }

    fn read_only(journal: ReadOnlyJournal, causes: Vec<String>) -> Self {
        Self {
            read_only: Some(ReadOnly { causes }),
            ..Self::opened(Arc::new(journal))
        }
    }

    /// Writes what was requested so far, and releases every session. Afterwards everything else fails.
    pub async fn close(&self) {
        self.journal.close().await;
    }
}

impl std::fmt::Debug for OpenJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenJournal")
            .field("read_only", &self.read_only)
            .field("unkept", &self.not_persisted)
            .finish_non_exhaustive()
    }
}

/// The error for a configured journal that cannot be opened.
#[derive(Debug, Error)]
#[error("{place}: conversations cannot be kept there")]
#[non_exhaustive]
pub struct JournalOpenError {
    /// Where the journal was configured.
    pub place: ValueSource,
    /// The cause; an [`OpenError`] of a file has help of its own.
    #[source]
    pub source: BoxError,
}

impl JournalOpenError {
    /// Help beyond that of the cause.
    #[must_use]
    pub fn help(&self) -> String {
        let Some(source) = self.source.downcast_ref::<OpenError>() else {
            return format!(
                "mend the section [journal], or leave {} out",
                self.place.short()
            );
        };
        if matches!(source, OpenError::ReadOnly { .. }) {
            return WRITABLE.to_owned();
        }
        let another = if matches!(source, OpenError::Io { .. }) {
            "a file that can be written"
        } else {
            "another file"
        };
        let help = match self.place.origin {
            Origin::Default => format!("name {another} with `--db FILE` or JACKFIELD_DB"),
            Origin::File(_) | Origin::Flag(_) | Origin::Variable(_) => {
                format!("name {another}, or leave {} out", self.place.short())
            }
        };
        if matches!(source, OpenError::Damaged { .. }) {
            return format!(
                "{help}; where it is the file of your sessions, put a copy in its place, or what \
                 `sqlite3 FILE .recover` finds in it"
            );
        }
        help
    }
}

/// How a journal is going to be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Access {
    Read,
    Write,
}

impl Registry {
    /// Opens the configured journal. Blocks meanwhile. The open journal must be used within a Tokio runtime.
    ///
    /// If no file was configured and the default one cannot be used, the journal is in memory, with the reason.
    ///
    /// # Errors
    ///
    /// [`JournalOpenError`] if a named file, or a journal of another kind, cannot be opened.
    pub fn open_journal(&self, config: &Config) -> Result<OpenJournal, JournalOpenError> {
        self.open(config, Access::Write)
    }

    /// Opens the journal for reading: a read-only file is accepted.
    ///
    /// # Errors
    ///
    /// [`JournalOpenError`] if a named file, or a journal of another kind, cannot be opened.
    pub fn open_journal_to_read(&self, config: &Config) -> Result<OpenJournal, JournalOpenError> {
        self.open(config, Access::Read)
    }

    /// The factory of the configured kind, if it is not built in.
    pub(crate) fn journal_factory(
        &self,
        config: &Config,
    ) -> Result<Option<&dyn JournalFactory>, Vec<ConfigProblem>> {
        let JournalKind::Other(kind) = &config.journal.kind else {
            return Ok(None);
        };
        let Some(factory) = self.journals.get(kind) else {
            let mut known = vec![MEMORY, POSTGRES, SQLITE];
            known.extend(self.journals.keys().map(|kind| &**kind));
            let near = did_you_mean(kind, &known);
            let message = format!("there is no kind of journal `{kind}`{near}");
            let problem = ConfigProblem::new(kind_place(config), message);
            // Without a suggestion, the message lists the kinds.
            let problem = if near.starts_with(DID_YOU_MEAN) {
                problem.with_help(format!("there are: {}", known.join(", ")))
            } else {
                problem
            };
            return Err(vec![problem]);
        };
        let known = [&COMMON, factory.options()].concat();
        let options = config.journal.options.iter();
        let problems: Vec<ConfigProblem> = options
            .filter(|(name, _)| !known.contains(&&***name))
            .map(|(name, (_, place))| {
                let message = format!("unknown{}", did_you_mean(name, &known));
                ConfigProblem::new(place.clone(), message)
            })
            .collect();
        if problems.is_empty() {
            Ok(Some(&**factory))
        } else {
            Err(problems)
        }
    }

    fn open(&self, config: &Config, access: Access) -> Result<OpenJournal, JournalOpenError> {
        let found = self.journal_factory(config).map_err(|problems| {
            let text: Vec<String> = problems.iter().map(explained).collect();
            JournalOpenError {
                place: kind_place(config),
                source: text.join("; ").into(),
            }
        })?;
        match (found, &config.journal.kind) {
            (Some(factory), kind) => open_with(factory, kind, config, access),
            (None, JournalKind::Memory) => Ok(OpenJournal::in_memory()),
            (None, JournalKind::Postgres) => open_database(config),
            (None, JournalKind::Sqlite | JournalKind::Other(_)) => open_file(config, access),
        }
    }
}

fn explained(problem: &ConfigProblem) -> String {
    let help = problem.help.iter().map(|help| format!("; {help}"));
    std::iter::once(problem.message.clone())
        .chain(help)
        .collect()
}

fn kind_place(config: &Config) -> ValueSource {
    let place = config.journal.kind_place.clone();
    place.unwrap_or_else(|| Origin::Default.into())
}

/// Opens a journal of a kind that is not built in.
fn open_with(
    factory: &dyn JournalFactory,
    kind: &JournalKind,
    config: &Config,
    access: Access,
) -> Result<OpenJournal, JournalOpenError> {
    let journal = &config.journal;
    let options = journal.options.iter();
    let settings = JournalSettings {
        data: config.data.clone(),
        kind: kind.name().into(),
        max_size: journal.max_size,
        options: options
            .map(|(name, (value, _))| (Arc::clone(name), value.clone()))
            .collect(),
        path: journal.path.as_ref().map(|(path, _)| path.clone()),
        reads_only: access == Access::Read,
    };
    match factory.open(settings) {
        Ok(journal) => Ok(OpenJournal::opened(journal)),
        Err(source) => {
            let place = kind_place(config);
            Err(JournalOpenError { place, source })
        }
    }
}

/// Opens the PostgreSQL database.
#[cfg(feature = "postgres")]
fn open_database(config: &Config) -> Result<OpenJournal, JournalOpenError> {
    use jackfield_store_postgres::{Address, Options, PostgresJournal};

    let database = &config.journal.database;
    let open = || -> Result<PostgresJournal, BoxError> {
        if let Some(missing) = &database.missing {
            return Err(missing.clone().into());
        }
        let url = database.url.as_ref().ok_or(NO_ADDRESS)?;
        let mut address = Address::parse(url.expose())?;
        if let Some(password) = &database.password
            && !address.has_password()
        {
            address = address.with_password(password.expose());
        }
        let mut options = Options::default();
        if let Some(url) = &database.listen_url {
            let listen = Address::parse(url).map_err(|error| format!("`listen_url`: {error}"))?;
            options.listen = Some(listen.or_password_of(&address));
        }
        if let Some(lease) = database.lease {
            options.lease = lease;
        }
        if let Some(schema) = &database.schema {
            schema.as_ref().clone_into(&mut options.schema);
        }
        if let Some(most) = database.connections {
            options.connections = usize::try_from(most)?;
        }
        Ok(PostgresJournal::open(address, options)?)
    };
    match open() {
        Ok(journal) => Ok(OpenJournal::opened(Arc::new(journal))),
        Err(source) => {
            let place = kind_place(config);
            Err(JournalOpenError { place, source })
        }
    }
}

/// Says that this program has no PostgreSQL journal.
#[cfg(not(feature = "postgres"))]
fn open_database(config: &Config) -> Result<OpenJournal, JournalOpenError> {
    Err(JournalOpenError {
        place: kind_place(config),
        source: crate::features::reason("postgres").into(),
    })
}

/// Opens the SQLite file.
fn open_file(config: &Config, access: Access) -> Result<OpenJournal, JournalOpenError> {
    let Some(path) = config.journal_file() else {
        return Ok(OpenJournal::not_persisted(
            vec![NO_FOLDER.to_owned()],
            false,
        ));
    };
    let mut options = Options::default();
    options.max_bytes = config.journal.max_size;
    let opened = SqliteJournal::open(&path, options);
    let opened = opened.map(|journal| OpenJournal::opened(Arc::new(journal)));
    match opened.or_else(|source| read_only(source, access)) {
        Ok(journal) => Ok(journal),
        Err(source) => match &config.journal.path {
            Some((_, place)) => {
                let (place, source) = (place.clone(), source.into());
                Err(JournalOpenError { place, source })
            }
            None => without(source, path.exists()),
        },
    }
}

/// Opens a file that cannot be written, for reading.
fn read_only(source: OpenError, access: Access) -> Result<OpenJournal, OpenError> {
    if let OpenError::ReadOnly { path, .. } = &source
        && access == Access::Read
    {
        let journal = ReadOnlyJournal::open(path)?;
        return Ok(OpenJournal::read_only(journal, chain(&source)));
    }
    Err(source)
}

/// The fallback for the default file. If that exists but cannot be used, the reason is reported.
fn without(source: OpenError, has_file: bool) -> Result<OpenJournal, JournalOpenError> {
    match source {
        OpenError::Io { .. }
        | OpenError::NotAFile { .. }
        | OpenError::NotRead { .. }
        | OpenError::ReadOnly { .. }
        | OpenError::Store { .. } => Ok(OpenJournal::not_persisted(chain(&source), has_file)),
        OpenError::Damaged { .. }
        | OpenError::InUse { .. }
        | OpenError::Newer { .. }
        | OpenError::NotOurs { .. }
        | _ => Err(JournalOpenError {
            place: Origin::Default.into(),
            source: source.into(),
        }),
    }
}

/// An error and its sources.
fn chain(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    chain.map(ToString::to_string).collect()
}

/// The options of every kind, for suggestions.
const COMMON: [&str; 5] = ["keep_bytes", "keep_days", "kind", "max_size", "path"];

/// The reason without an address.
#[cfg(feature = "postgres")]
const NO_ADDRESS: &str =
    "there is no address of a database: write one into `url`, or name a variable with `url_env`";

/// The reason without a data folder.
const NO_FOLDER: &str = "the user has no folder for data";

/// Help for a read-only file.
const WRITABLE: &str = "give yourself the right to write to the file and to its folder, or copy both it and what \
                        stands beside it to a folder that can be written, and name the copy with `--db FILE`";

/// Help if conversations are not stored.
const HELP: &str = "name a file that can be written with `--db FILE` or JACKFIELD_DB, or say \
                    `kind = \"memory\"` under [journal]";

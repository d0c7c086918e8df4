//! Errors of the database, with messages that tell a person what to do.

use std::sync::Arc;

use jackfield_ports::chat_model::BoxError;
use jackfield_ports::journal::{JournalError, Outage, OutageError};
use thiserror::Error;
use tokio_postgres::error::Severity;

/// The database cannot be opened as a journal. Nothing in it was changed. No message has a password in it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A name in the options cannot be used.
    #[error("{0}")]
    Option(String),
    /// The database refuses the user, the password, or the database's name.
    #[error("{place} refuses: {why}; see the user, the password and the database in the address")]
    Denied {
        place: String,
        /// Why, in the words of the database.
        why: Arc<str>,
    },
    /// A newer build wrote the tables.
    #[error(
        "{place} was made by a newer version (its form is {found}, and this one knows {known}): use that one"
    )]
    Newer {
        /// The form of the tables.
        found: i32,
        /// The newest form that this build knows.
        known: i32,
        place: String,
    },
    /// The tables are missing or older, and this user may not make them.
    #[error(
        "{place}: the tables cannot be made or brought up to date: {why}; give the user the right `CREATE` on the \
         database once, or let another user start jackfield"
    )]
    NotPrepared {
        place: String,
        /// Why, in the words of the database.
        why: Arc<str>,
    },
    /// The database can only be read: it is a standby, or set so.
    #[error("{place} can only be read: name the primary, or make it writable")]
    ReadOnly { place: String },
    /// The database reported an error.
    #[error("{place} cannot be used: {why}")]
    Store { place: String, why: Arc<str> },
    /// The server is older than what is supported, or has another encoding.
    #[error("{place} cannot be used: {why}")]
    Unsupported { place: String, why: String },
    /// The server cannot be reached.
    #[error(
        "{place} cannot be reached: {why}; see whether PostgreSQL runs there and accepts connections"
    )]
    Unreachable { place: String, why: Arc<str> },
}

impl OpenError {
    pub(crate) fn new(place: &str, fault: Fault) -> Self {
        let place = place.to_owned();
        match fault {
            Fault::Refused { code, why } if code.starts_with("28") || &*code == "3D000" => {
                Self::Denied { place, why }
            }
            Fault::Refused { code, .. } if &*code == READ_ONLY => Self::ReadOnly { place },
            Fault::Refused { why, .. } | Fault::Row(why) => Self::Store { place, why },
            Fault::Unconnected(why) | Fault::Lost(why) => Self::Unreachable { place, why },
            Fault::Form { found, known } if found > known => Self::Newer {
                found,
                known,
                place,
            },
            Fault::Closed | Fault::Form { .. } => Self::Store {
                place,
                why: fault.to_string().into(),
            },
        }
    }
}

#[derive(Clone, Debug, Error)]
pub(crate) enum Fault {
    #[error("the journal was closed")]
    Closed,
    /// The tables have another form since this process began.
    #[error("its tables have the form {found} by now, and this version knows {known}")]
    Form { found: i32, known: i32 },
    /// Whatever was asked for last may be done.
    #[error("the connection to the database was lost ({0})")]
    Lost(Arc<str>),
    /// The database refused a statement, of which nothing was done.
    #[error("{}", refused(code, why))]
    Refused { code: Arc<str>, why: Arc<str> },
    /// A row has contents that no version writes.
    #[error("a row is damaged or missing ({0}): restore a backup of the database")]
    Row(Arc<str>),
    /// Nothing was asked for.
    #[error("the database cannot be reached ({0})")]
    Unconnected(Arc<str>),
}

impl Fault {
    /// The fault of a statement.
    pub(crate) fn of_statement(error: &tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            let is_row = std::error::Error::source(error)
                .is_some_and(|source| !source.is::<std::io::Error>())
                && !error.is_closed();
            return if is_row {
                Self::Row(chain(error))
            } else {
                Self::Lost(chain(error))
            };
        };
        // The server ends the connection, perhaps after it has committed. A pooler says so in its own name: without the
        // field that is parsed, and of the class of connections.
        let ends = matches!(
            refusal.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        );
        let of_pooler = matches!(refusal.severity(), "FATAL" | "PANIC")
            || refusal.code().code().starts_with(CONNECTION);
        if ends || of_pooler {
            return Self::Lost(refusal.message().into());
        }
        Self::Refused {
            code: refusal.code().code().into(),
            why: refusal.message().into(),
        }
    }

    /// The fault of an attempt to connect.
    pub(crate) fn of_connection(error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            // Too many connections, a server that starts or ends, or none behind a pooler: another attempt may succeed.
            Some(refusal)
                if !matches!(
                    refusal.code().code().get(..2),
                    Some(CONNECTION | "53" | "57")
                ) =>
            {
                Self::Refused {
                    code: refusal.code().code().into(),
                    why: refusal.message().into(),
                }
            }
            Some(refusal) => Self::Unconnected(refusal.message().into()),
            None => Self::Unconnected(chain(error)),
        }
    }

    pub(crate) fn row(why: impl std::fmt::Display) -> Self {
        Self::Row(why.to_string().into())
    }

    /// Whether a repetition may succeed soon, without a person.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Lost(_) | Self::Unconnected(_) => true,
            // Conflicts with other transactions, and a standby that is about to become the primary.
            Self::Refused { code, .. } => {
                matches!(code.get(..2), Some("40" | "53" | "55" | "57")) && &**code != DISK_FULL
                    || &**code == READ_ONLY
            }
            Self::Closed | Self::Form { .. } | Self::Row(_) => false,
        }
    }

    /// Whether a repetition would fail in the same way until a person has done something.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Refused { .. } => !self.is_passing(),
            Self::Form { .. } | Self::Row(_) => true,
            Self::Closed | Self::Lost(_) | Self::Unconnected(_) => false,
        }
    }

    /// Whether the database refused what was asked for last, so that nothing of it was done, for another reason than that
    /// it took too long.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if !matches!(&**code, CANCELLED | LOCKED))
    }

    /// The error with the address.
    pub(crate) fn at(self, place: &str) -> BoxError {
        let why = format!("{place}: {self}");
        match self.outage() {
            Some(outage) => OutageError { outage, why }.into(),
            None => why.into(),
        }
    }

    /// What is out of order with the database as a whole.
    fn outage(&self) -> Option<Outage> {
        match self {
            Self::Form { found, known } if found > known => Some(Outage::Newer),
            Self::Form { .. } => Some(Outage::Older),
            Self::Lost(why) if &**why == LATE => Some(Outage::Slow),
            Self::Lost(_) | Self::Unconnected(_) => Some(Outage::Unreachable),
            Self::Refused { code, .. } => match &**code {
                CANCELLED | LOCKED => Some(Outage::Slow),
                DISK_FULL => Some(Outage::DiskFull),
                READ_ONLY => Some(Outage::ReadOnly),
                UNDEFINED_COLUMN | UNDEFINED_SCHEMA | UNDEFINED_TABLE => Some(Outage::Older),
                DENIED | "3D000" => Some(Outage::Refusal),
                code if code.starts_with("28") => Some(Outage::Refusal),
                _ => None,
            },
            Self::Closed | Self::Row(_) => None,
        }
    }

    /// The error of a request that concerns no single session.
    pub(crate) fn unreachable(self, place: &str) -> JournalError {
        JournalError::Unreachable {
            source: self.at(place),
        }
    }
}

fn refused(code: &str, why: &str) -> String {
    if matches!(code, CANCELLED | LOCKED) {
        return format!("{LATE} ({why})");
    }
    let help = match code {
        DISK_FULL => "; its disk is full: make room",
        READ_ONLY => "; it can only be read: it is a standby, or set so",
        DENIED => "; grant its user the rights on the schema",
        UNDEFINED_SCHEMA | UNDEFINED_TABLE => {
            "; the tables are gone: restore a backup, or start anew"
        }
        _ => "",
    };
    format!("the database refused ({why}){help}")
}

/// The class of errors of connections.
const CONNECTION: &str = "08";
/// An error with its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> Arc<str> {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    let words: Vec<String> = chain.map(ToString::to_string).collect();
    words.join(": ").into()
}

/// Why a connection counts as lost whose server may still be at work.
pub(crate) const LATE: &str = "it gave no answer in time";

/// The server's own time limit for a statement has passed.
const CANCELLED: &str = "57014";
const DENIED: &str = "42501";
const DISK_FULL: &str = "53100";
/// The server's own time limit for a lock has passed.
const LOCKED: &str = "55P03";
const READ_ONLY: &str = "25006";
const UNDEFINED_COLUMN: &str = "42703";
const UNDEFINED_SCHEMA: &str = "3F000";
const UNDEFINED_TABLE: &str = "42P01";

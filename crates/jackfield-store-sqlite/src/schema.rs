//! The tables, and how a connection is set up.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::derived;
use crate::forms::{FORM, MIGRATIONS, NEWEST};

/// Tells our files from those of other programs: "JKFD".
const APPLICATION: i64 = 0x4a4b_4644;

/// The most bytes of the log that are kept once it was taken into the file.
const LOG: i64 = 16 * 1024 * 1024;

/// How long a process waits for another one's write, unless it is told otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a file that is there. Whether it is ours, [`look`] tells.
pub(crate) fn connect(path: &Path, writes: bool) -> rusqlite::Result<Connection> {
    // Readers of a write-ahead log write to its index, too.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = set_up(Connection::open_with_flags(path, flags)?)?;
    if writes {
        // A commit is answered when the log has been synced, on macOS by the one call that means it.
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        // What a long look or a burst made the log grow to is given back.
        connection.pragma_update(None, "journal_size_limit", LOG)?;
        // What a person deletes is not to be found in the file any more.
        connection.pragma_update(None, "secure_delete", true)?;
    } else {
        connection.pragma_update(None, "query_only", true)?;
    }
    Ok(connection)
}

/// Opens a file that is written elsewhere in this process, to read it.
pub(crate) fn to_read(path: &Path) -> rusqlite::Result<Connection> {
    connect(path, false)
}

/// Opens a file that cannot be written. SQLite needs, or makes, an index of its log beside it.
pub(crate) fn read_only(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    set_up(Connection::open_with_flags(path, flags)?)
}

/// Opens a file that cannot be written, without a log and where nothing can be made beside it: as one that
/// nobody changes while it is open.
pub(crate) fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    set_up(Connection::open_with_flags(uri, flags)?)
}

fn set_up(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    // A statement is planned once, and not anew whenever other values are bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// What a file is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DatabaseState {
    /// Ours, in an older form; 0 is an empty file.
    Older(i64),
    /// Ours, in a form that is not known.
    Newer(i64),
    /// Somebody else's.
    NotOurs,
    /// Ours.
    Ready,
}

/// Looks at what the file is.
pub(crate) fn look(connection: &Connection) -> rusqlite::Result<DatabaseState> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, form) = (number("application_id")?, number("user_version")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    Ok(match (application, form) {
        (0, 0) if tables == 0 => DatabaseState::Older(0),
        (APPLICATION, FORM) => DatabaseState::Ready,
        (APPLICATION, form @ 1..FORM) => DatabaseState::Older(form),
        (APPLICATION, form) if form > FORM => DatabaseState::Newer(form),
        _ => DatabaseState::NotOurs,
    })
}

/// Brings the file from a form up to [`FORM`], wholly or not at all.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    // Kept in the file; readers and a writer do not wait for each other.
    connection.pragma_update(None, "journal_mode", "wal")?;
    // What hangs on the rows of a table is not to go when the table is made anew.
    connection.pragma_update(None, "foreign_keys", false)?;
    let done = bring_up(connection);
    connection.pragma_update(None, "foreign_keys", true)?;
    done
}

fn bring_up(connection: &mut Connection) -> rusqlite::Result<()> {
    let migration = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Somebody else may have done it meanwhile.
    if let DatabaseState::Older(form) = look(&migration)? {
        let done = usize::try_from(form).unwrap_or(usize::MAX);
        if done == 0 {
            migration.execute_batch(NEWEST)?;
        } else {
            // The first of them leads from the first form to the second.
            for statements in MIGRATIONS.get(done - 1..).unwrap_or_default() {
                migration.execute_batch(statements)?;
            }
        }
        if form == 1 {
            derived::derive_all(&migration)?;
        }
        migration.pragma_update(None, "application_id", APPLICATION)?;
        migration.pragma_update(None, "user_version", FORM)?;
    }
    migration.commit()
}

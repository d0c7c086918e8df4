//! The file's form and the settings of a connection.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::derived;
use crate::forms::{FORM, MIGRATIONS, NEWEST};
use crate::options::BUSY_TIMEOUT;

/// SQLite's application id, which marks our files: "JKFD".
const APPLICATION: i64 = 0x4a4b_4644;

/// The size in bytes to which the log is truncated after a checkpoint.
const LOG: i64 = 16 * 1024 * 1024;

/// Opens an existing file. Use [`read_state`] to check that it is ours.
pub(crate) fn connect(path: &Path, writes: bool) -> rusqlite::Result<Connection> {
    // Readers of a write-ahead log write to its index, too.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = set_up(Connection::open_with_flags(path, flags)?)?;
    if writes {
        // A commit is answered once the log is synced; on macOS only `F_FULLFSYNC` really does that.
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        // Gives back the space of a log that a long read or a burst of writes made grow.
        connection.pragma_update(None, "journal_size_limit", LOG)?;
        // Deleted contents must not remain in the file.
        connection.pragma_update(None, "secure_delete", true)?;
    } else {
        connection.pragma_update(None, "query_only", true)?;
    }
    Ok(connection)
}

/// Opens a file for reading that this process writes by another connection.
pub(crate) fn connect_reader(path: &Path) -> rusqlite::Result<Connection> {
    connect(path, false)
}

/// Opens a file that cannot be written. SQLite needs, or creates, an index of its log beside it.
pub(crate) fn read_only(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    set_up(Connection::open_with_flags(path, flags)?)
}

/// Opens a file that cannot be written, has no log, and beside which no file can be created: as immutable, so it
/// must not change while it is open.
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
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    // A statement is planned once, and not anew whenever other values are bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// The state of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DatabaseState {
    /// Ours, in an older form; 0 is an empty file.
    Older(i64),
    /// Ours, in a newer form.
    Newer(i64),
    /// A database of another program, or no database.
    NotOurs,
    /// Ours, in the current form.
    Ready,
}

/// Determines the state of the file.
pub(crate) fn read_state(connection: &Connection) -> rusqlite::Result<DatabaseState> {
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

/// Migrates the file from its form to [`FORM`] in one transaction.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    // Stored in the file; readers and a writer do not block each other.
    connection.pragma_update(None, "journal_mode", "wal")?;
    // Recreating a table must not delete the rows that depend on it.
    connection.pragma_update(None, "foreign_keys", false)?;
    let done = run_migrations(connection);
    connection.pragma_update(None, "foreign_keys", true)?;
    done
}

fn run_migrations(connection: &mut Connection) -> rusqlite::Result<()> {
    let migration = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it meanwhile.
    if let DatabaseState::Older(form) = read_state(&migration)? {
        let done = usize::try_from(form).unwrap_or(usize::MAX);
        if done == 0 {
            migration.execute_batch(NEWEST)?;
        } else {
            // The first entry leads from the first form to the second.
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

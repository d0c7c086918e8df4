//! The tables, and how a connection is set up.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::derived;

/// The form of the file; each one below it has a way up in [`MIGRATIONS`].
pub(crate) const FORM: i64 = 5;

/// Tells our files from those of other programs: "JKFD".
const APPLICATION: i64 = 0x4a4b_4644;

/// The most bytes of the log that are kept once it was taken into the file.
const LOG: i64 = 16 * 1024 * 1024;

/// How long a process waits for another one's write, unless it is told otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What leads from each form to the next; the first makes an empty file ours. Never changed once it
/// was released: a new form is a new line.
const MIGRATIONS: &[&str] = &["
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    owner TEXT,
    steps INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT;

CREATE TABLE steps (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (session, position)
) STRICT;

-- The numbers never come again, so that whoever watches for new ones misses none.
CREATE TABLE deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (session, place),
    UNIQUE (session, id)
) STRICT;

CREATE TABLE waits (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    id TEXT NOT NULL,
    wait BLOB NOT NULL,
    deadline INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
    at INTEGER,
    by TEXT,
    how TEXT CHECK (how IN ('answered', 'cancelled', 'expired', 'superseded')),
    delivery TEXT,
    place INTEGER,
    UNIQUE (session, id)
) STRICT;

CREATE INDEX open_waits ON waits (deadline) WHERE state = 'open';
","
-- Of how many steps, from the first on, what follows was derived; and the vocabulary of who wrote them.
ALTER TABLE sessions ADD COLUMN known INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN vocabulary INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN open TEXT;
ALTER TABLE sessions ADD COLUMN due INTEGER;
CREATE INDEX due_sessions ON sessions (due) WHERE due IS NOT NULL;

CREATE TABLE texts (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    text TEXT NOT NULL
) STRICT;

CREATE INDEX texts_of_sessions ON texts (session);

-- The last epoch of a session that was deleted: none of them comes again.
CREATE TABLE past (epoch INTEGER NOT NULL) STRICT;
INSERT INTO past VALUES (0);
","
-- Large texts that were cut out of steps, each kept once; which sessions need them.
CREATE TABLE texts_apart (
    number INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    text BLOB NOT NULL
) STRICT;

CREATE TABLE parts (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    part INTEGER NOT NULL REFERENCES texts_apart,
    PRIMARY KEY (session, part)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_of_parts ON parts (part);
","
-- Whose a session is, and the place after the last delivery that somebody has to take up.
ALTER TABLE sessions ADD COLUMN principal TEXT;
ALTER TABLE sessions ADD COLUMN loud INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET loud = deliveries;

-- What turns are found again by; no session of an older form was begun by a caller and has one.
CREATE TABLE marks (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    place BLOB NOT NULL,
    turn TEXT NOT NULL
) STRICT;

CREATE INDEX places_of_marks ON marks (place);
CREATE INDEX marks_of_sessions ON marks (session);
","
-- Steps know the step before them, and a session the last of its own: no index is kept to find them by.
-- Numbers of sessions may come again, as their epochs never do.
CREATE TABLE sessions_anew (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    owner TEXT,
    steps INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    known INTEGER NOT NULL DEFAULT 0,
    vocabulary INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0,
    title TEXT NOT NULL DEFAULT '',
    turns INTEGER NOT NULL DEFAULT 0,
    open TEXT,
    due INTEGER,
    principal TEXT,
    loud INTEGER NOT NULL DEFAULT 0,
    last INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO sessions_anew (number, id, epoch, owner, steps, deliveries, created, changed, known, vocabulary,
        bytes, seen, title, turns, open, due, principal, loud, last)
    SELECT number, id, epoch, owner, steps, deliveries, created, changed, known, vocabulary,
        bytes, seen, title, turns, open, due, principal, loud,
        coalesce((SELECT steps.rowid FROM steps
                  WHERE session = sessions.number AND position = sessions.steps - 1), 0)
    FROM sessions;

CREATE TABLE steps_anew (
    number INTEGER PRIMARY KEY,
    previous INTEGER NOT NULL,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;

INSERT INTO steps_anew (number, previous, session, position, epoch, record)
    SELECT rowid,
        coalesce((SELECT earlier.rowid FROM steps AS earlier
                  WHERE earlier.session = steps.session AND earlier.position = steps.position - 1), 0),
        session, position, epoch, record
    FROM steps ORDER BY rowid;

-- What is searched of a step has the step's number; of older ones, that of any step of the session, one each.
CREATE TABLE texts_anew (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

INSERT INTO texts_anew (number, session, text)
    SELECT steps.rowid, numbered.session, text
    FROM (SELECT session, text, row_number() OVER (PARTITION BY session ORDER BY rowid) - 1 AS nth
          FROM texts) AS numbered
    JOIN steps ON steps.session = numbered.session AND steps.position = nth
    ORDER BY steps.rowid;

DROP TABLE texts;
ALTER TABLE texts_anew RENAME TO texts;
DROP TABLE steps;
ALTER TABLE steps_anew RENAME TO steps;
DROP TABLE sessions;
ALTER TABLE sessions_anew RENAME TO sessions;
CREATE INDEX due_sessions ON sessions (due) WHERE due IS NOT NULL;
"];

/// Opens a file that is there. Whether it is ours, [`look`] tells.
pub(crate) fn connect(path: &Path, writes: bool) -> rusqlite::Result<Connection> {
    // Readers of a write-ahead log write to its index, too.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    // A statement is planned once, and not anew whenever other values are bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
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

/// What a file is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
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
pub(crate) fn look(connection: &Connection) -> rusqlite::Result<Found> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, form) = (number("application_id")?, number("user_version")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    Ok(match (application, form) {
        (0, 0) if tables == 0 => Found::Older(0),
        (APPLICATION, FORM) => Found::Ready,
        (APPLICATION, form) if form < FORM => Found::Older(form),
        (APPLICATION, form) => Found::Newer(form),
        _ => Found::NotOurs,
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
    if let Found::Older(form) = look(&migration)? {
        let done = usize::try_from(form).unwrap_or(usize::MAX);
        for statements in MIGRATIONS.get(done..).unwrap_or_default() {
            migration.execute_batch(statements)?;
        }
        if form < 2 {
            derived::derive_all(&migration)?;
        }
        migration.pragma_update(None, "application_id", APPLICATION)?;
        migration.pragma_update(None, "user_version", FORM)?;
    }
    migration.commit()
}

//! The forms (schema versions) of the file, and the migrations between them.

/// The current form; [`MIGRATIONS`] leads up to it from each earlier one.
pub(crate) const FORM: i64 = 11;

/// The oldest form that can be read without a migration: later forms only add tables, and form 11 also labels
/// of sessions and what waits are found by.
pub(crate) const READABLE_FORM: i64 = 5;

/// The form that adds the table of spending records.
pub(crate) const SPENDING_FORM: i64 = 6;

/// The form that adds the table of given titles.
pub(crate) const TITLES_FORM: i64 = 7;

/// The form in which sessions can be pinned and archived.
pub(crate) const LABELS_FORM: i64 = 11;

/// The form that adds the tables of the directory and of meters.
pub(crate) const DIRECTORY_FORM: i64 = 8;

/// The form that adds the table of secrets.
pub(crate) const SECRETS_FORM: i64 = 9;

/// The statements that set up an empty file. The result equals the first form after all [`MIGRATIONS`].
pub(crate) const NEWEST: &str = "
CREATE TABLE sessions (
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
    , pinned INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX due_sessions ON sessions (due) WHERE due IS NOT NULL;

CREATE TABLE steps (
    number INTEGER PRIMARY KEY,
    previous INTEGER NOT NULL,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    record BLOB NOT NULL
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

-- The numbers never come again.
CREATE TABLE waits (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    id TEXT NOT NULL,
    wait BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
    at INTEGER,
    by TEXT,
    how TEXT CHECK (how IN ('answered', 'cancelled', 'expired', 'superseded')),
    delivery TEXT,
    place INTEGER,
    UNIQUE (session, id)
) STRICT;

CREATE INDEX open_waits ON waits (number) WHERE state = 'open';
CREATE INDEX waits_by_id ON waits (id);

-- What is searched of a step has the step's number.
CREATE TABLE texts (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- The last epoch of a session that was deleted: none of them comes again.
CREATE TABLE past (epoch INTEGER NOT NULL) STRICT;
INSERT INTO past VALUES (0);

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

-- What turns are found again by.
CREATE TABLE marks (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    place BLOB NOT NULL,
    turn TEXT NOT NULL
) STRICT;

CREATE INDEX places_of_marks ON marks (place);
CREATE INDEX marks_of_sessions ON marks (session);

-- What requests used that were passed through without a turn; they belong to no session.
CREATE TABLE spending (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    vocabulary INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;

CREATE INDEX spending_by_time ON spending (at, id);

-- Titles that sessions were given, with what is searched of them.
CREATE TABLE titles (
    session INTEGER PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    title TEXT NOT NULL,
    words TEXT NOT NULL
) STRICT;

-- The changes to users, teams, keys and what users bring; the value of an entry is that of its newest one.
CREATE TABLE directory (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    vocabulary INTEGER NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (kind, name, revision)
) STRICT;

-- The digests of the secrets of keys.
CREATE TABLE key_secrets (
    digest BLOB PRIMARY KEY,
    key TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX secrets_of_keys ON key_secrets (key);

-- What was taken from the quotas of keys, users and teams.
CREATE TABLE meters (
    name TEXT PRIMARY KEY,
    record BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The encrypted secrets of entries of the directory.
CREATE TABLE sealed_secrets (
    kind TEXT NOT NULL,
    entry TEXT NOT NULL,
    name TEXT NOT NULL,
    master_key TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (kind, entry, name)
) STRICT, WITHOUT ROWID;

-- The logins of browsers, by the digests of their secrets.
CREATE TABLE logins (
    secret BLOB PRIMARY KEY,
    client TEXT NOT NULL,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Whose the responses are that providers keep, with the spending records of their requests.
CREATE TABLE upstream_responses (
    place BLOB PRIMARY KEY,
    expires INTEGER NOT NULL,
    background INTEGER NOT NULL,
    model TEXT NOT NULL,
    vocabulary INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX upstream_responses_by_expiry ON upstream_responses (expires);
";

/// The statements from each form to the next, from the first on. A released entry never changes: a new form is a
/// new entry and a new [`NEWEST`].
pub(crate) const MIGRATIONS: &[&str] = &["
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
","
-- What requests used that were passed through without a turn; they belong to no session.
CREATE TABLE spending (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    vocabulary INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;

CREATE INDEX spending_by_time ON spending (at, id);
","
-- Titles that sessions were given, with what is searched of them.
CREATE TABLE titles (
    session INTEGER PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    title TEXT NOT NULL,
    words TEXT NOT NULL
) STRICT;
","
-- The changes to users, teams and keys; the value of an entry is that of its newest one.
CREATE TABLE directory (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('key', 'team', 'user')),
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    vocabulary INTEGER NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (kind, name, revision)
) STRICT;

-- The digests of the secrets of keys.
CREATE TABLE key_secrets (
    digest BLOB PRIMARY KEY,
    key TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX secrets_of_keys ON key_secrets (key);

-- What was taken from the quotas of keys, users and teams.
CREATE TABLE meters (
    name TEXT PRIMARY KEY,
    record BLOB NOT NULL
) STRICT, WITHOUT ROWID;
","
-- The kinds of entries are those of the domain.
CREATE TABLE directory_anew (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    vocabulary INTEGER NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (kind, name, revision)
) STRICT;

INSERT INTO directory_anew (number, kind, name, revision, vocabulary, record)
    SELECT number, kind, name, revision, vocabulary, record FROM directory ORDER BY number;

-- An empty copy leaves a row that an empty table has not.
DELETE FROM sqlite_sequence WHERE name = 'directory_anew' AND seq = 0;

DROP TABLE directory;
ALTER TABLE directory_anew RENAME TO directory;

-- The encrypted secrets of entries of the directory.
CREATE TABLE sealed_secrets (
    kind TEXT NOT NULL,
    entry TEXT NOT NULL,
    name TEXT NOT NULL,
    master_key TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (kind, entry, name)
) STRICT, WITHOUT ROWID;
","
-- The logins of browsers, by the digests of their secrets.
CREATE TABLE logins (
    secret BLOB PRIMARY KEY,
    client TEXT NOT NULL,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
","
-- What a person says of a session in lists.
ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;

-- Waits have numbers that never come again, and are found by their ids.
CREATE TABLE waits_anew (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    id TEXT NOT NULL,
    wait BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
    at INTEGER,
    by TEXT,
    how TEXT CHECK (how IN ('answered', 'cancelled', 'expired', 'superseded')),
    delivery TEXT,
    place INTEGER,
    UNIQUE (session, id)
) STRICT;

INSERT INTO waits_anew (number, session, id, wait, state, at, by, how, delivery, place)
    SELECT rowid, session, id, wait, state, at, by, how, delivery, place FROM waits ORDER BY rowid;

-- An empty copy leaves a row that an empty table has not.
DELETE FROM sqlite_sequence WHERE name = 'waits_anew' AND seq = 0;

DROP TABLE waits;
ALTER TABLE waits_anew RENAME TO waits;
CREATE INDEX open_waits ON waits (number) WHERE state = 'open';
CREATE INDEX waits_by_id ON waits (id);

-- Whose the responses are that providers keep, with the spending records of their requests.
CREATE TABLE upstream_responses (
    place BLOB PRIMARY KEY,
    expires INTEGER NOT NULL,
    background INTEGER NOT NULL,
    model TEXT NOT NULL,
    vocabulary INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX upstream_responses_by_expiry ON upstream_responses (expires);
"];

//! The tables and their forms, and what has to be true of a server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::ServerClock;
use crate::error::{Fault, OpenError};
use crate::options::Options;
use crate::pool::{Connection, Pool, Transaction, column, values};

/// Checks the server, and makes the tables or brings them up to date. Any number of processes may do so at once.
/// It hears the database's clock meanwhile.
pub(crate) async fn prepare(
    pool: &Arc<Pool>,
    options: &Options,
    clock: &ServerClock,
) -> Result<(), OpenError> {
    let place = pool.place();
    let fault = |fault| OpenError::new(&place, fault);
    if !is_name(&options.schema) {
        return Err(OpenError::Option(format!(
            "`{}` cannot be the name of a schema: use the letters a to z, digits and `_`",
            options.schema
        )));
    }
    let mut connection = pool.get().await.map_err(fault)?;
    check_server(&mut connection, &place, clock).await?;
    if is_current(&mut connection, &place, options).await? {
        return Ok(());
    }
    let prepared = migrate(&mut connection, &place, options).await?;
    prepared.map_err(|fault| {
        if let Fault::Refused { code, why } = &fault
            && &**code == "42501"
        {
            let (place, why) = (place.clone(), Arc::clone(why));
            return OpenError::NotPrepared { place, why };
        }
        OpenError::new(&place, fault)
    })
}

/// Checks the version, the encoding, and that the database can be written.
async fn check_server(
    connection: &mut Connection,
    place: &str,
    clock: &ServerClock,
) -> Result<(), OpenError> {
    let fault = |fault| OpenError::new(place, fault);
    let sent = Instant::now();
    let found = connection.query_row(SERVER, &[]).await.map_err(fault)?;
    let row = found.ok_or_else(|| fault(Fault::row("the server says nothing of itself")))?;
    let (version, encoding, reads_only, sync): (i32, &str, bool, &str) = (
        column(&row, 0).map_err(fault)?,
        column(&row, 1).map_err(fault)?,
        column(&row, 2).map_err(fault)?,
        column(&row, 3).map_err(fault)?,
    );
    clock.hear(sent, column(&row, 4).map_err(fault)?);
    let unsupported = |why: String| OpenError::Unsupported {
        place: place.to_owned(),
        why,
    };
    if version < OLDEST_SERVER {
        let major = version / 10_000;
        return Err(unsupported(format!(
            "it is PostgreSQL {major}, and 15 or later is needed"
        )));
    }
    if encoding != "UTF8" {
        return Err(unsupported(format!(
            "its encoding is {encoding}, and UTF8 is needed: create the database with `ENCODING 'UTF8'`"
        )));
    }
    if reads_only {
        return Err(OpenError::ReadOnly {
            place: place.to_owned(),
        });
    }
    if sync == "off" {
        tracing::warn!(
            place,
            "`synchronous_commit` of the database is off: what is committed may be lost if it crashes"
        );
    }
    Ok(())
}

/// Whether the tables are there in the current form.
async fn is_current(
    connection: &mut Connection,
    place: &str,
    options: &Options,
) -> Result<bool, OpenError> {
    let fault = |fault| OpenError::new(place, fault);
    let table = format!("{}.journal", options.schema);
    let values = values![table => TEXT];
    let there = connection.query_row("SELECT to_regclass($1) IS NOT NULL", values);
    let there = there.await.map_err(fault)?;
    let there = there
        .map(|row| column(&row, 0))
        .transpose()
        .map_err(fault)?;
    if there != Some(true) {
        return Ok(false);
    }
    match form(connection).await.map_err(fault)? {
        found if found > FORM => Err(OpenError::Newer {
            found,
            known: FORM,
            place: place.to_owned(),
        }),
        found => Ok(found == FORM),
    }
}

/// Checks that the tables still have the form of this build.
pub(crate) async fn check_form(connection: &mut Connection) -> Result<(), Fault> {
    match form(connection).await? {
        FORM => Ok(()),
        found => Err(Fault::Form { found, known: FORM }),
    }
}

async fn form(connection: &mut Connection) -> Result<i32, Fault> {
    let row = connection
        .query_row("SELECT form FROM jackfield.journal", &[])
        .await?;
    row.map_or(Ok(0), |row| column(&row, 0))
}

/// Brings the tables to [`FORM`] in one transaction. The lock ends with it, so it works through a pooler, too.
async fn migrate(
    connection: &mut Connection,
    place: &str,
    options: &Options,
) -> Result<Result<(), Fault>, OpenError> {
    let lock = format!("jackfield schema {}", options.schema);
    let values = values![lock => TEXT];
    connection.set_timeout(MIGRATION_LIMIT);
    let locked = connection.begin(
        Transaction::Unlimited,
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
        values,
    );
    if let Err(fault) = locked.await {
        return Ok(Err(fault));
    }
    // Another process may have done it meanwhile.
    if is_current(connection, place, options).await? {
        return Ok(connection.roll_back().await);
    }
    let migrated = async {
        // A user without the right to make schemas may be given one.
        let named = "SELECT to_regnamespace($1) IS NOT NULL";
        let values = values![options.schema => TEXT];
        let row = connection.query_row(named, values).await?;
        let is_there = row.map(|row| column(&row, 0)).transpose()?;
        if is_there != Some(true) {
            let create = format!("CREATE SCHEMA {}", options.schema);
            connection.batch(&create).await?;
        }
        connection.batch(BEFORE).await?;
        let form = form(connection).await?;
        let done = usize::try_from(form).unwrap_or(usize::MAX);
        for statements in MIGRATIONS.get(done..).unwrap_or_default() {
            connection.batch(statements).await?;
        }
        let set = "INSERT INTO jackfield.journal (form) VALUES ($1)
                   ON CONFLICT (one) DO UPDATE SET form = excluded.form";
        connection.execute(set, values![FORM => INT4]).await?;
        connection.commit().await
    };
    Ok(migrated.await)
}

/// Whether a text can stand in a statement as the name of a schema.
fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    text.len() <= 63
        && text.bytes().next().is_some_and(is_letter)
        && text
            .bytes()
            .all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// The current form; [`MIGRATIONS`] has an entry for each.
pub(crate) const FORM: i32 = 5;

const OLDEST_SERVER: i32 = 150_000;

const SERVER: &str = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), \
     pg_is_in_recovery() OR current_setting('transaction_read_only')::bool, current_setting('synchronous_commit'), \
     (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// How long a statement of a migration may take, and how long others wait for it.
const MIGRATION_LIMIT: Duration = Duration::from_secs(3600);

/// Where the form is written.
const BEFORE: &str = "
CREATE TABLE IF NOT EXISTS jackfield.journal (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    form integer NOT NULL,
    made timestamptz NOT NULL DEFAULT now()
);
";

/// The statements that lead to each form from the one before. A released entry never changes.
///
/// Texts that others choose are `bytea`: no `text` can hold a NUL. Ids compare by their bytes. There are no foreign
/// keys to sessions: each change is made under the lock of its session's row.
const MIGRATIONS: &[&str] = &["
-- Epochs never come again, of whichever session.
CREATE SEQUENCE jackfield.epochs AS bigint;

-- The processes that own or hold sessions, and until when they count as alive.
CREATE TABLE jackfield.processes (
    name text COLLATE \"C\" PRIMARY KEY,
    alive_until timestamptz NOT NULL,
    started timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE jackfield.sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE \"C\" NOT NULL UNIQUE,
    epoch bigint NOT NULL,
    owner text COLLATE \"C\",
    steps bigint NOT NULL DEFAULT 0,
    deliveries bigint NOT NULL DEFAULT 0,
    -- The place after the last delivery that an owner has to handle, and how many its owner had seen.
    loud bigint NOT NULL DEFAULT 0,
    seen bigint NOT NULL DEFAULT 0,
    created bigint NOT NULL,
    changed bigint NOT NULL,
    bytes bigint NOT NULL DEFAULT 0,
    vocabulary bigint NOT NULL DEFAULT 0,
    restored boolean NOT NULL DEFAULT false,
    title text NOT NULL DEFAULT '',
    turns bigint NOT NULL DEFAULT 0,
    open text,
    due bigint,
    principal bytea,
    given_title bytea,
    given_words text
) WITH (fillfactor = 70);

CREATE INDEX due_sessions ON jackfield.sessions (due, number) WHERE due IS NOT NULL;

CREATE TABLE jackfield.steps (
    session bigint NOT NULL,
    position bigint NOT NULL,
    epoch bigint NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (session, position)
);

-- Large texts that were cut out of the steps of a session.
CREATE TABLE jackfield.parts (
    session bigint NOT NULL,
    digest bytea NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (session, digest)
);

CREATE TABLE jackfield.deliveries (
    session bigint NOT NULL,
    place bigint NOT NULL,
    id text COLLATE \"C\" NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (session, place),
    UNIQUE (session, id)
);

CREATE TABLE jackfield.waits (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL,
    id text COLLATE \"C\" NOT NULL,
    wait bytea NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
    at bigint,
    by bytea,
    how text CHECK (how IN ('answered', 'cancelled', 'expired', 'superseded')),
    delivery text COLLATE \"C\",
    place bigint,
    UNIQUE (session, id)
);

CREATE INDEX open_waits ON jackfield.waits (number) WHERE state = 'open';

-- What is searched of steps.
CREATE TABLE jackfield.texts (
    session bigint NOT NULL,
    position bigint NOT NULL,
    text text COLLATE \"C\" NOT NULL,
    PRIMARY KEY (session, position)
);

-- What turns are found again by.
CREATE TABLE jackfield.marks (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL,
    place bytea NOT NULL,
    turn text COLLATE \"C\" NOT NULL
);

CREATE INDEX places_of_marks ON jackfield.marks (place, number);
CREATE INDEX marks_of_sessions ON jackfield.marks (session, number);

-- The holds on sessions, which need not exist.
CREATE TABLE jackfield.holds (
    process text COLLATE \"C\" NOT NULL REFERENCES jackfield.processes ON DELETE CASCADE,
    nth bigint NOT NULL,
    session text COLLATE \"C\" NOT NULL,
    PRIMARY KEY (process, nth)
);

CREATE INDEX holds_of_sessions ON jackfield.holds (session);

-- What requests used that were passed through without a turn; they belong to no session.
CREATE TABLE jackfield.spending (
    id bytea PRIMARY KEY,
    at bigint NOT NULL,
    vocabulary bigint NOT NULL,
    record bytea NOT NULL
);

CREATE INDEX spending_by_time ON jackfield.spending (at, id);
","
-- The changes to users, teams and keys; the value of an entry is that of its newest one.
CREATE TABLE jackfield.directory (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE \"C\" NOT NULL CHECK (kind IN ('key', 'team', 'user')),
    name text COLLATE \"C\" NOT NULL,
    revision bigint NOT NULL,
    vocabulary bigint NOT NULL,
    record bytea NOT NULL,
    UNIQUE (kind, name, revision)
);

-- The digests of the secrets of keys.
CREATE TABLE jackfield.key_secrets (
    digest bytea PRIMARY KEY,
    key text COLLATE \"C\" NOT NULL
);

CREATE INDEX secrets_of_keys ON jackfield.key_secrets (key);

-- What was taken from the quotas of keys, users and teams.
CREATE TABLE jackfield.meters (
    name text COLLATE \"C\" PRIMARY KEY,
    record bytea NOT NULL
);
","
-- The kinds of entries are those of the domain.
ALTER TABLE jackfield.directory DROP CONSTRAINT IF EXISTS directory_kind_check;

-- The encrypted secrets of entries of the directory.
CREATE TABLE jackfield.sealed_secrets (
    kind text COLLATE \"C\" NOT NULL,
    entry text COLLATE \"C\" NOT NULL,
    name text COLLATE \"C\" NOT NULL,
    master_key text COLLATE \"C\" NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (kind, entry, name)
);
","
-- The logins of browsers, by the digests of their secrets.
CREATE TABLE jackfield.logins (
    secret bytea PRIMARY KEY,
    client text COLLATE \"C\" NOT NULL,
    expires bigint NOT NULL
);
","
-- What a person says of a session in lists.
ALTER TABLE jackfield.sessions ADD COLUMN pinned boolean NOT NULL DEFAULT false,
    ADD COLUMN archived boolean NOT NULL DEFAULT false;

-- Waits are found by their ids.
CREATE INDEX waits_by_id ON jackfield.waits (id);

-- Whose the responses are that providers keep, with the spending records of their requests.
CREATE TABLE jackfield.upstream_responses (
    place bytea PRIMARY KEY,
    expires bigint NOT NULL,
    background boolean NOT NULL,
    model bytea NOT NULL,
    vocabulary bigint NOT NULL,
    record bytea NOT NULL
);

CREATE INDEX upstream_responses_by_expiry ON jackfield.upstream_responses (expires);
"];

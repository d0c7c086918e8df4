//! The rows of logins.

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::ClientLookup;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::logins::{Login, MAX_LOGINS};

use crate::error::Fault;
use crate::pool::{Connection, Transaction, column, values};

/// Stores a login, and deletes those that are over or too many, in one transaction.
pub(crate) async fn insert(
    connection: &mut Connection,
    login: &Login,
    now: WallTime,
) -> Result<(), Fault> {
    let (client, secret) = (login.client.to_string(), &login.secret.as_bytes()[..]);
    let stored = values![secret => BYTEA, &*client => TEXT, login.expires.as_millis() => INT8];
    connection
        .begin(Transaction::Synced, INSERT, stored)
        .await?;
    let limit = i64::try_from(MAX_LOGINS).unwrap_or(i64::MAX);
    let deleted = values![
        now.as_millis() => INT8, &*client => TEXT, limit => INT8,
    ];
    connection.commit_with(DELETE, deleted).await
}

/// The login with this secret. One of a client that a later version knows is none.
pub(crate) async fn find(
    connection: &mut Connection,
    secret: &Digest,
) -> Result<Option<Login>, Fault> {
    let Some(row) = connection
        .query_row(FIND, values![&secret.as_bytes()[..] => BYTEA])
        .await?
    else {
        return Ok(None);
    };
    let (client, expires): (&str, i64) = (column(&row, 0)?, column(&row, 1)?);
    Ok(ClientLookup::parse(client).map(|client| Login {
        client,
        expires: WallTime::from_millis(expires),
        secret: *secret,
    }))
}

/// Removes the login with this secret.
pub(crate) async fn remove(connection: &mut Connection, secret: &Digest) -> Result<(), Fault> {
    let values = values![&secret.as_bytes()[..] => BYTEA];
    connection.execute(REMOVE, values).await?;
    Ok(())
}

const INSERT: &str = "INSERT INTO jackfield.logins (secret, client, expires) VALUES ($1, $2, $3) \
     ON CONFLICT (secret) DO UPDATE SET client = excluded.client, expires = excluded.expires";
const DELETE: &str = "DELETE FROM jackfield.logins WHERE expires <= $1 OR client = $2 AND secret NOT IN \
     (SELECT secret FROM jackfield.logins WHERE client = $2 ORDER BY expires DESC LIMIT $3)";
const FIND: &str = "SELECT client, expires FROM jackfield.logins WHERE secret = $1";
const REMOVE: &str = "DELETE FROM jackfield.logins WHERE secret = $1";

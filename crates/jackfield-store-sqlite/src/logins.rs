//! The rows of logins.

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::ClientLookup;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::logins::{Login, MAX_LOGINS};
use rusqlite::{Connection, OptionalExtension as _, params};

/// Stores a login within the current transaction, and deletes those that are over or too many.
pub(crate) fn insert(
    connection: &Connection,
    login: &Login,
    now: WallTime,
) -> rusqlite::Result<()> {
    let client = login.client.to_string();
    let values = params![login.secret.as_bytes(), client, login.expires.as_millis()];
    connection
        .prepare_cached(
            "INSERT INTO logins (secret, client, expires) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET client = excluded.client, expires = excluded.expires",
        )?
        .execute(values)?;
    connection
        .prepare_cached("DELETE FROM logins WHERE expires <= ?1")?
        .execute([now.as_millis()])?;
    let limit = i64::try_from(MAX_LOGINS).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "DELETE FROM logins WHERE client = ?1 AND secret NOT IN
             (SELECT secret FROM logins WHERE client = ?1 ORDER BY expires DESC LIMIT ?2)",
        )?
        .execute(params![client, limit])?;
    Ok(())
}

/// The login with this secret. One of a client that a later version knows is none.
pub(crate) fn find(connection: &Connection, secret: &Digest) -> rusqlite::Result<Option<Login>> {
    let row: Option<(String, i64)> = connection
        .prepare_cached("SELECT client, expires FROM logins WHERE secret = ?1")?
        .query_row([secret.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(row.and_then(|(client, expires)| {
        Some(Login {
            client: ClientLookup::parse(&client)?,
            expires: WallTime::from_millis(expires),
            secret: *secret,
        })
    }))
}

/// Removes the login with this secret.
pub(crate) fn remove(connection: &Connection, secret: &Digest) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM logins WHERE secret = ?1")?
        .execute([secret.as_bytes()])?;
    Ok(())
}

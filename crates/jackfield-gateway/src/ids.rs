//! Unguessable ids, and idempotency keys.

use std::io;
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ForkPlace, InvalidId, SessionId};

/// Validates the idempotency key of a request. The key is kept with the turn.
///
/// # Errors
///
/// Why the key is invalid, as text for people.
pub fn idempotency_key(key: &str) -> Result<Arc<str>, String> {
    let key = key.trim();
    let is_visible = key
        .bytes()
        .all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    if is_visible && (1..=MAX_KEY).contains(&key.len()) {
        Ok(key.into())
    } else {
        Err(format!(
            "1 to {MAX_KEY} visible ASCII characters are expected"
        ))
    }
}

/// A new random session id.
///
/// # Errors
///
/// The operating system has no random numbers.
pub fn session() -> io::Result<SessionId> {
    SessionId::parse(&random()?).map_err(io::Error::other)
}

/// A new session id for this principal. It is 24 random digits and a digest of those with the principal, so it
/// proves the owner before the session has any steps.
///
/// # Errors
///
/// The operating system has no random numbers.
pub fn session_for(principal: &str) -> io::Result<SessionId> {
    let random = random()?;
    SessionId::issue(&random, principal).map_err(io::Error::other)
}

/// The id of a session that a client calls by a name of its own, and the number of its rewritings; always the same. It
/// proves the owner as that of [`session_for`] does.
///
/// # Errors
///
/// None: letters, digits and `-` are a valid id.
pub fn named_session(principal: &str, name: &str, rewriting: u32) -> Result<SessionId, InvalidId> {
    let nth = rewriting.to_string();
    let mut digits = Digest::of_parts(["named session", principal, name, &nth]).to_hex();
    digits.truncate(24);
    SessionId::issue(&digits, principal)
}

/// The id of a new session for a request with an idempotency key, the session of the last turn with that key which does
/// not count, and the place of which the session is a fork, if it is one; the same in every process. It proves the owner
/// as that of [`session_for`] does.
///
/// # Errors
///
/// None: letters, digits and `-` are a valid id.
pub(crate) fn keyed_session(
    principal: &str,
    key: &str,
    after: Option<&SessionId>,
    fork: Option<(&SessionId, &ForkPlace)>,
) -> Result<SessionId, InvalidId> {
    let after = after.map_or("", SessionId::as_str);
    let round = fork
        .and_then(|(_, at)| at.round)
        .map(|round| round.to_string());
    let place = fork.map(|(from, at)| {
        [
            from.as_str(),
            at.turn.as_str(),
            round.as_deref().unwrap_or_default(),
        ]
    });
    let parts = ["keyed session", principal, key, after]
        .into_iter()
        .chain(place.into_iter().flatten());
    let mut digits = Digest::of_parts(parts).to_hex();
    digits.truncate(24);
    SessionId::issue(&digits, principal)
}

/// 24 random hexadecimal digits.
///
/// # Errors
///
/// The operating system has no random numbers.
pub fn random() -> io::Result<String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(|error| {
        io::Error::other(format!(
            "the operating system has no random numbers: {error}"
        ))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The maximum length of an idempotency key.
const MAX_KEY: usize = 255;

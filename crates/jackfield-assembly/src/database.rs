//! The configured address of a database. Its password is never written in a file of ours, and never shown.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackfield_provider_kit::secret::Secret;

use crate::surroundings::Environment;

/// The configured PostgreSQL database of the journal.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct DatabaseConfig {
    /// The maximum number of connections; `None` for the default.
    pub connections: Option<u32>,
    /// How long a process counts as alive after it was last heard of; `None` for the default.
    pub lease: Option<Duration>,
    /// The address for notifications between processes; `None` for none.
    pub listen_url: Option<Arc<str>>,
    /// The environment variable with the password.
    pub password_env: Option<Arc<str>>,
    /// The schema with the tables; `None` for the default.
    pub schema: Option<Arc<str>>,
    /// The environment variable with the address.
    pub url_env: Option<Arc<str>>,
    /// Why the address or the password is missing, if a named variable does not have it.
    pub(crate) missing: Option<String>,
    /// The password, if it is apart from the address.
    pub(crate) password: Option<Secret>,
    /// The address, perhaps with a password.
    pub(crate) url: Option<Secret>,
}

impl DatabaseConfig {
    /// Sets the address.
    pub(crate) fn set_url(&mut self, url: &str) {
        self.url = Some(Secret::new(url));
        self.url_env = None;
    }

    /// Reads the variables that have the address and the password.
    pub(crate) fn resolve(&mut self, environment: &Environment) {
        let mut read = |name: &Option<Arc<str>>| {
            let name = name.as_deref()?;
            let value = environment.get(name).and_then(Result::ok);
            let value = value.filter(|value| !value.trim().is_empty());
            if value.is_none() {
                self.missing = Some(format!("the variable {name} is not set"));
            }
            value.map(|value| Secret::new(&value))
        };
        let (url, password) = (read(&self.url_env), read(&self.password_env));
        self.url = url.or_else(|| self.url.take());
        self.password = password;
    }
}

impl PartialEq for DatabaseConfig {
    fn eq(&self, other: &Self) -> bool {
        let secret = |secret: &Option<Secret>| secret.as_ref().map(|one| one.expose().to_owned());
        let all = |one: &Self| {
            (
                one.connections,
                one.lease,
                one.listen_url.clone(),
                one.password_env.clone(),
                one.schema.clone(),
                one.url_env.clone(),
                one.missing.clone(),
                secret(&one.password),
                secret(&one.url),
            )
        };
        all(self) == all(other)
    }
}

impl fmt::Debug for DatabaseConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseConfig")
            .field("connections", &self.connections)
            .field("lease", &self.lease)
            .field("listen_url", &self.listen_url)
            .field("password_env", &self.password_env)
            .field("schema", &self.schema)
            .field("url_env", &self.url_env)
            .finish_non_exhaustive()
    }
}

/// Whether a text is the address of a PostgreSQL database, and not the path of a file.
pub(crate) fn is_address(text: &str) -> bool {
    ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

/// Whether an address has a password in it.
pub(crate) fn has_password(url: &str) -> bool {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    let rest = place.split_once("://").map_or(place, |(_, rest)| rest);
    // The password ends at the last `@`; the database's name cannot have one that is not encoded.
    let user = rest.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':')) || options.contains("password=")
}

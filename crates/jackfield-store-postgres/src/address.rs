//! The address of a database: a URL, and what of it may be shown.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// The address of a database. Neither `Debug` nor `Display` shows the password.
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) encryption: Encryption,
    shown: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Encryption {
    Off,
    /// With the certificate verified by the authorities of this machine, or by those in this file.
    Verified(Option<PathBuf>),
}

/// The text is no address of a database. The message does not quote it, as it may have a password in it.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{0}")]
pub struct AddressError(String);

impl Address {
    /// Reads `postgres://USER@HOST:PORT/DATABASE?OPTION=VALUE`, as libpq defines it, with several hosts if need be.
    ///
    /// Of `sslmode`, `disable`, `require` and `verify-full` are understood; both of the latter verify the certificate
    /// and the host name. By default, connections are encrypted unless all hosts are this machine. `sslrootcert` names
    /// a file with certificate authorities in PEM.
    ///
    /// # Errors
    ///
    /// [`AddressError`], whose message says what to do.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let is_url = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        if !is_url {
            return Err(error("it does not begin with `postgres://`"));
        }
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut root, mut rest) = (None, None, Vec::new());
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => root = Some(decoded(value)?),
                _ => rest.push(option),
            }
        }
        let url = if rest.is_empty() {
            place.to_owned()
        } else {
            format!("{place}?{}", rest.join("&"))
        };
        let mut config: Config = url.parse().map_err(|fault: tokio_postgres::Error| {
            let why = std::error::Error::source(&fault).map(ToString::to_string);
            error(&why.unwrap_or_else(|| fault.to_string()))
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(error("it names no host"));
        }
        let encryption = encryption(mode, root.map(PathBuf::from), &config)?;
        config.ssl_mode(match encryption {
            Encryption::Off => SslMode::Disable,
            Encryption::Verified(_) => SslMode::Require,
        });
        if config.get_application_name().is_none() {
            config.application_name("jackfield");
        }
        let has_at = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
        if config.get_hosts().iter().any(has_at) {
            // A part of the password would count as a host.
            return Err(error("an `@` in the password is written as `%40`"));
        }
        // Of several hosts, the one that takes writes.
        if config.get_hosts().len() > 1
            && config.get_target_session_attrs() == TargetSessionAttrs::Any
        {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let shown = shown(&config);
        Ok(Self {
            config,
            encryption,
            shown,
        })
    }

    /// The same with this password.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        self.config.password(password);
        self
    }

    /// The same with the password of another address, unless it has one.
    #[must_use]
    pub fn or_password_of(mut self, other: &Self) -> Self {
        if let (None, Some(password)) = (self.config.get_password(), other.config.get_password()) {
            self.config.password(password);
        }
        self
    }

    #[must_use]
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown).finish()
    }
}

fn error(why: &str) -> AddressError {
    AddressError(format!(
        "the address of the database is not valid: {why}; write `postgres://USER@HOST:PORT/DATABASE`"
    ))
}

fn encryption(
    mode: Option<&str>,
    root: Option<PathBuf>,
    config: &Config,
) -> Result<Encryption, AddressError> {
    match mode {
        Some("disable") => Ok(Encryption::Off),
        Some("require" | "verify-full") => Ok(Encryption::Verified(root)),
        None if root.is_some() || !is_here(config) => Ok(Encryption::Verified(root)),
        None => Ok(Encryption::Off),
        Some(_) => Err(error(
            "of `sslmode`, `disable`, `require` and `verify-full` are understood",
        )),
    }
}

/// Whether all hosts are this machine.
fn is_here(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse()
                    .is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_local)
        && config
            .get_hostaddrs()
            .iter()
            .all(std::net::IpAddr::is_loopback)
}

/// The address without password and options.
fn shown(config: &Config) -> String {
    let mut hosts: Vec<String> = Vec::new();
    let ports = config.get_ports();
    for (nth, host) in config.get_hosts().iter().enumerate() {
        let port = ports.get(nth).or_else(|| ports.first()).unwrap_or(&5432);
        hosts.push(match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
            Host::Tcp(name) => format!("{name}:{port}"),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
    }
    if hosts.is_empty() {
        hosts.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    }
    let user = config.get_user().map(|user| format!("{user}@"));
    let database = config.get_dbname().or_else(|| config.get_user());
    format!(
        "postgres://{}{}/{}",
        user.unwrap_or_default(),
        hosts.join(","),
        database.unwrap_or_default()
    )
}

/// Undoes the percent-encoding of a value.
fn decoded(value: &str) -> Result<String, AddressError> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let code = digit(rest.next()).zip(digit(rest.next()));
        let code = code.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(code.ok_or_else(|| error("a percent sign is not followed by two digits"))?);
    }
    String::from_utf8(bytes).map_err(|_| error("a value is no UTF-8"))
}

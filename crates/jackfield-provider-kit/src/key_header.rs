//! The header of a key, for keys that people bring.

use http::HeaderMap;
use http::header::HeaderName;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_ports::credential::Credential;

use crate::secret::Secret;

/// How a server takes a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyHeader {
    /// Headers of the account of the configured key, which are not sent with another one.
    pub account: Vec<HeaderName>,
    /// The name of the header.
    pub name: HeaderName,
    /// What stands before the key, such as `Bearer `.
    pub prefix: &'static str,
}

impl KeyHeader {
    /// A header of this name, without headers of the account.
    #[must_use]
    pub const fn new(name: HeaderName, prefix: &'static str) -> Self {
        Self {
            account: Vec::new(),
            name,
            prefix,
        }
    }

    /// Puts a key into the headers of a request, in place of the configured one and its account.
    ///
    /// # Errors
    ///
    /// The failure of a request that cannot be sent: no header can hold the key.
    pub fn apply(&self, headers: &mut HeaderMap, key: &Secret) -> Result<(), ModelFailure> {
        for name in &self.account {
            headers.remove(name);
        }
        headers.remove(&self.name);
        let value = key.header_value(self.prefix).map_err(|error| {
            let message = format!("your own key cannot be sent: {error}");
            ModelFailure::new(
                ModelFailureKind::Unauthenticated,
                Phase::BeforeSend,
                message,
            )
        })?;
        headers.insert(self.name.clone(), value);
        Ok(())
    }
}

/// The secret of a credential.
pub(crate) fn secret_of(credential: &Credential) -> Secret {
    Secret::new(credential.expose())
}

/// The failure where requests cannot take a key of a person.
pub(crate) fn takes_no_keys() -> ModelFailure {
    let message = "requests to this provider cannot be made with a key of your own";
    ModelFailure::new(ModelFailureKind::Unsupported, Phase::BeforeSend, message)
}

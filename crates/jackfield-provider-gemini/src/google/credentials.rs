//! A file with credentials, as `gcloud` and the console write it.

use jackfield_provider_kit::secret::Secret;
use serde::Deserialize;
use thiserror::Error;

/// Credentials that are exchanged for tokens.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Credentials {
    /// A person's sign-in (`gcloud auth application-default login`).
    AuthorizedUser(AuthorizedUser),
    /// The machine's own account, by its metadata server.
    Metadata {
        /// Its host, with a port if there is one.
        host: String,
    },
    /// The key of a service account.
    ServiceAccount(ServiceAccount),
}

#[derive(Clone, Debug, Deserialize)]
pub struct AuthorizedUser {
    pub(super) client_id: String,
    #[serde(deserialize_with = "secret")]
    pub(super) client_secret: Secret,
    quota_project_id: Option<String>,
    #[serde(deserialize_with = "secret")]
    pub(super) refresh_token: Secret,
    #[serde(default = "token_uri")]
    pub(super) token_uri: String,
}

/// The key of a service account.
#[derive(Clone, Debug, Deserialize)]
pub struct ServiceAccount {
    pub(super) client_email: String,
    #[serde(deserialize_with = "secret")]
    pub(super) private_key: Secret,
    pub(super) private_key_id: Option<String>,
    project_id: Option<String>,
    quota_project_id: Option<String>,
    #[serde(default = "token_uri")]
    pub(super) token_uri: String,
}

/// A file that holds no credentials. The messages do not quote it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidCredentials {
    /// It is not JSON, or something is missing.
    #[error("it is not a file of credentials as `gcloud` and the Google Cloud console write it")]
    Form,
    /// Its type has another flow.
    #[error(
        "credentials of the type `{0}` are not read: use the key of a service account, or \
         `gcloud auth application-default login`"
    )]
    Type(String),
}

impl Credentials {
    /// The credentials in a file.
    ///
    /// # Errors
    ///
    /// [`InvalidCredentials`] if it has none that are supported.
    pub fn parse(file: &[u8]) -> Result<Self, InvalidCredentials> {
        #[derive(Deserialize)]
        struct Typed {
            r#type: String,
        }
        let form = |_: serde_json::Error| InvalidCredentials::Form;
        let Typed { r#type } = serde_json::from_slice(file).map_err(form)?;
        match &*r#type {
            "authorized_user" => {
                let user = serde_json::from_slice(file).map_err(form)?;
                Ok(Self::AuthorizedUser(user))
            }
            "service_account" => {
                let account = serde_json::from_slice(file).map_err(form)?;
                Ok(Self::ServiceAccount(account))
            }
            _ => {
                let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                let known = r#type.chars().take(40).filter(word).collect();
                Err(InvalidCredentials::Type(known))
            }
        }
    }

    /// The project of a service account.
    #[must_use]
    pub fn project(&self) -> Option<&str> {
        match self {
            Self::AuthorizedUser(_) | Self::Metadata { .. } => None,
            Self::ServiceAccount(account) => account.project_id.as_deref(),
        }
    }

    /// The project that pays, if the file names one.
    #[must_use]
    pub fn quota_project(&self) -> Option<&str> {
        match self {
            Self::AuthorizedUser(user) => user.quota_project_id.as_deref(),
            Self::Metadata { .. } => None,
            Self::ServiceAccount(account) => account.quota_project_id.as_deref(),
        }
    }
}

fn secret<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Secret::new(&text))
}

/// The vendor's own server for tokens.
fn token_uri() -> String {
    "https://oauth2.googleapis.com/token".to_owned()
}

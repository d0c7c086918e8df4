//! Exchanges credentials for tokens.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_provider_kit::base_url::BaseUrl;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::tokens::{FetchedToken, TokenSource};
use jackfield_provider_kit::transport::{Transport, TransportError};
use serde::Deserialize;
use url::form_urlencoded;

use super::credentials::{AuthorizedUser, Credentials, ServiceAccount};
use super::{assertion, metadata};

#[derive(Debug)]
pub struct GoogleTokens {
    credentials: Credentials,
    transport: Transport,
}

impl GoogleTokens {
    /// The tokens of these credentials, over this transport; a metadata server is asked without a proxy. Sends nothing
    /// yet.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if there is no HTTP client.
    pub fn new(credentials: Credentials, transport: Transport) -> Result<Self, TransportError> {
        let transport = match &credentials {
            Credentials::AuthorizedUser(_) | Credentials::ServiceAccount(_) => {
                transport.with_url_key("token_uri")
            }
            Credentials::Metadata { .. } => metadata::transport()?,
        };
        Ok(Self {
            credentials,
            transport,
        })
    }

    async fn of_account(&self, account: &ServiceAccount) -> Result<FetchedToken, ModelFailure> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let assertion = assertion::sign(account, since.unwrap_or_default().as_secs());
        let assertion = assertion.ok_or_else(|| {
            unauthenticated("the private key in the file of the service account cannot be read: create a new key")
        })?;
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", &assertion),
        ];
        let fix = "create a new key of the service account, and check the clock of this machine";
        let refused = [&account.private_key];
        self.exchange(&account.token_uri, &form, fix, &refused)
            .await
    }

    async fn of_user(&self, user: &AuthorizedUser) -> Result<FetchedToken, ModelFailure> {
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", &user.client_id),
            ("client_secret", user.client_secret.expose()),
            ("refresh_token", user.refresh_token.expose()),
        ];
        let fix = "sign in again with `gcloud auth application-default login`";
        let secrets = [&user.client_secret, &user.refresh_token];
        self.exchange(&user.token_uri, &form, fix, &secrets).await
    }

    /// Sends a form to the server for tokens.
    async fn exchange(
        &self,
        url: &str,
        form: &[(&str, &str)],
        fix: &str,
        secrets: &[&Secret],
    ) -> Result<FetchedToken, ModelFailure> {
        let is_safe = BaseUrl::parse(url).is_ok_and(|url| !url.is_exposed());
        if !is_safe {
            return Err(unauthenticated(
                "`token_uri` in the file of credentials is not an address that begins with `https://`",
            ));
        }
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let request = Request::post(url)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::from(body));
        let request = request
            .map_err(|_| unauthenticated("`token_uri` in the file of credentials is no address"))?;
        let incoming = self.transport.send(request).await.map_err(before)?;
        let status = incoming.status();
        if status.is_success() {
            let body = incoming.into_body().await.map_err(before)?;
            return read(&body);
        }
        let body = incoming.into_error_body().await;
        let refusal: Refusal = serde_json::from_slice(&body).unwrap_or_default();
        let description = refusal.error_description.unwrap_or_default();
        let description: String = description.chars().take(MAX_DESCRIPTION).collect();
        let error = refusal.error.unwrap_or_default();
        let error: String = error.chars().take(MAX_DESCRIPTION).collect();
        let kind = match status.as_u16() {
            429 => ModelFailureKind::RateLimited,
            500.. => ModelFailureKind::ServerError,
            _ => ModelFailureKind::Unauthenticated,
        };
        let mut message = format!("Google issues no token ({status}");
        for part in [error, description].iter().filter(|part| !part.is_empty()) {
            message.push_str(&format!(": {part}"));
        }
        message.push(')');
        if kind == ModelFailureKind::Unauthenticated {
            message.push_str(&format!(": {fix}"));
        }
        for secret in secrets {
            message = secret.redact(&message);
        }
        Err(ModelFailure::new(kind, Phase::BeforeSend, message))
    }
}

#[async_trait]
impl TokenSource for GoogleTokens {
    async fn fetch(&self) -> Result<FetchedToken, ModelFailure> {
        match &self.credentials {
            Credentials::AuthorizedUser(user) => self.of_user(user).await,
            Credentials::Metadata { host } => {
                let body = metadata::ask(&self.transport, host).await?;
                read(&body)
            }
            Credentials::ServiceAccount(account) => self.of_account(account).await,
        }
    }
}

/// The answer with a token.
#[derive(Deserialize)]
struct Answer {
    access_token: String,
    expires_in: Option<u64>,
}

/// The answer without one (RFC 6749, section 5.2).
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    error: Option<String>,
    error_description: Option<String>,
}

fn read(body: &[u8]) -> Result<FetchedToken, ModelFailure> {
    let answer: Option<Answer> = serde_json::from_slice(body).ok();
    let answer = answer.filter(|answer| Secret::new(&answer.access_token).header_value("").is_ok());
    let answer = answer.ok_or_else(|| {
        let message = "the server for tokens answered with something else than a token";
        ModelFailure::new(
            ModelFailureKind::ProtocolViolation,
            Phase::BeforeSend,
            message,
        )
    })?;
    Ok(FetchedToken {
        lifetime: answer
            .expires_in
            .map_or(DEFAULT_LIFETIME, Duration::from_secs),
        secret: Secret::new(&answer.access_token),
    })
}

/// The model was not asked, whatever became of the request for a token.
fn before(error: jackfield_ports::chat_model::ModelError) -> ModelFailure {
    let mut failure = error.failure;
    failure.phase = Phase::BeforeSend;
    failure
}

fn unauthenticated(message: &str) -> ModelFailure {
    ModelFailure::new(
        ModelFailureKind::Unauthenticated,
        Phase::BeforeSend,
        message,
    )
}

/// What the tokens are for.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The lifetime of a token that names none.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(300);
/// How many characters of a refusal are repeated.
const MAX_DESCRIPTION: usize = 200;

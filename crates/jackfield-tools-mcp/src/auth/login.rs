//! One sign-in by a person: the address to open, and what its redirect brings back (RFC 6749 with PKCE, RFC 7636; the
//! check of the issuer, RFC 9207).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::fetch::shown;
use super::metadata::Issuer;
use super::stored::RegisteredClient;
use crate::error::ServerFault;

/// A sign-in that a person has yet to confirm. Its address is not secret, and useless to others.
#[derive(Deserialize, Serialize)]
pub struct Login {
    pub(super) client: RegisteredClient,
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) scope: Option<String>,
    /// Whether redirects of this authorization server name it (RFC 9207).
    sends_issuer: bool,
    state: String,
    pub(super) token_endpoint: String,
    url: String,
    pub(super) verifier: String,
}

impl Login {
    /// Prepares the address.
    ///
    /// # Errors
    ///
    /// The operating system gives no random numbers.
    pub(super) fn new(
        client: RegisteredClient,
        issuer: Issuer,
        resource: String,
        scope: Option<String>,
    ) -> Result<Self, ServerFault> {
        let (state, verifier) = (random()?, random()?);
        let mut url = issuer.authorization_endpoint.clone();
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &client.id)
                .append_pair("redirect_uri", &client.redirect_uri)
                .append_pair("state", &state)
                .append_pair("code_challenge", &challenge(&verifier))
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &resource);
            if let Some(scope) = &scope {
                query.append_pair("scope", scope);
                if scope.split(' ').any(|one| one == OFFLINE) {
                    // Without it, servers of OpenID Connect give no refresh token (OpenID Connect Core 1.0, section 11).
                    query.append_pair("prompt", "consent");
                }
            }
        }
        Ok(Self {
            client,
            issuer: issuer.issuer,
            resource,
            revocation_endpoint: issuer.revocation_endpoint.map(Into::into),
            scope,
            sends_issuer: issuer.sends_issuer,
            state,
            token_endpoint: issuer.token_endpoint.into(),
            url: url.into(),
            verifier,
        })
    }

    /// Reads a sign-in that was kept as text.
    ///
    /// # Errors
    ///
    /// The text is none of [`Login::to_text`].
    pub fn read(text: &str) -> Result<Self, ServerFault> {
        // The error may quote a secret.
        serde_json::from_str(text).map_err(|_| {
            ServerFault::new("the sign-in that has begun cannot be read", "sign in again")
        })
    }

    /// The sign-in as text, which contains secrets, for another process that finishes it.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn to_text(&self) -> Result<String, ServerFault> {
        serde_json::to_string(self).map_err(|error| {
            let reason = format!("the sign-in that has begun cannot be kept: {error}");
            ServerFault::new(reason, "try again")
        })
    }

    /// The address that a person opens in a browser.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The scope that is asked for, if one is.
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// Whether this redirect is the answer to this sign-in.
    #[must_use]
    pub fn is_answered_by(&self, redirect: &Url) -> bool {
        field(redirect, "state").as_deref() == Some(&*self.state)
    }

    /// The code of a redirect, if the redirect belongs to this sign-in.
    ///
    /// # Errors
    ///
    /// It belongs to another one, was sent by another server, or brings a refusal.
    pub(super) fn code(&self, redirect: &str) -> Result<String, ServerFault> {
        let again = |reason: String| ServerFault::new(reason, "sign in again");
        let base = Url::parse(&self.client.redirect_uri).ok();
        let redirect = match &base {
            Some(base) => base.join(redirect.trim()).ok(),
            None => Url::parse(redirect.trim()).ok(),
        };
        let redirect =
            redirect.ok_or_else(|| again("the answer to the sign-in is no address".to_owned()))?;
        let field = |name: &str| field(&redirect, name);
        if !self.is_answered_by(&redirect) {
            let reason = "the answer to the sign-in belongs to another one";
            return Err(again(reason.to_owned()));
        }
        // Before all else that the redirect says, also of errors (RFC 9207, section 2.4).
        match field("iss") {
            Some(issuer) if issuer != self.issuer => {
                let reason = format!(
                    "the answer to the sign-in is from another server, `{}`, and was not used",
                    shown(&issuer)
                );
                return Err(again(reason));
            }
            None if self.sends_issuer => {
                let reason = "the answer to the sign-in does not say which server it is from, and was not used";
                return Err(again(reason.to_owned()));
            }
            Some(_) | None => {}
        }
        if let Some(error) = field("error") {
            let words = match field("error_description") {
                Some(description) => format!("{error} ({description})"),
                None => error,
            };
            return Err(again(format!("the sign-in was refused: {}", shown(&words))));
        }
        let code = field("code").filter(|code| !code.is_empty());
        code.ok_or_else(|| again("the answer to the sign-in has no code".to_owned()))
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("issuer", &self.issuer)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// A field of an address's query.
fn field(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}

/// 256 random bits as a text of 43 letters, digits, `-` and `_`.
fn random() -> Result<String, ServerFault> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        let reason = format!("the operating system gives no random numbers: {error}");
        ServerFault::new(reason, "try again")
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier (RFC 7636, section 4.2).
fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// The scope that asks for a refresh token (OpenID Connect Core 1.0, section 11).
pub(super) const OFFLINE: &str = "offline_access";

//! Authentication: matches the token of a request against the configured tokens.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jackfield_assembly::{ConfigError, Environment, ServeConfig, ToolsUsed};
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::digest::Digest;
use subtle::{Choice, ConstantTimeEq as _};

use crate::gateway::Gateway;

/// An authenticated client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Principal {
    /// Whether it sees the sessions of all principals.
    pub(crate) admin: bool,
    /// The name of the token.
    pub(crate) name: Arc<str>,
    /// The principal whose sessions it sees.
    pub(crate) principal: Arc<str>,
    /// The server tools that it may use.
    pub(crate) tools: ToolsUsed,
}

impl Principal {
    /// The principal of a request made for an end user. The token's own principal and each end user have separate
    /// conversations. Token names contain no `/`, so the two cannot collide.
    pub(crate) fn principal_for(&self, end_user: Option<&str>) -> Arc<str> {
        match end_user {
            None => Arc::clone(&self.principal),
            Some(user) => format!("{}/{user}", self.principal).into(),
        }
    }
}

/// The configured tokens.
#[derive(Debug)]
pub(crate) struct ApiKeys {
    /// The principal of requests without a token, where no token is required.
    anonymous: Option<Arc<Principal>>,
    tokens: Vec<(Digest, Arc<Principal>)>,
}

impl ApiKeys {
    /// Reads the tokens of a configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a token cannot be read.
    pub(crate) fn from_config(
        config: &ServeConfig,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let mut tokens = Vec::new();
        let digests = config.digests(environment).into_iter();
        for ((name, token), (_, digest)) in config.tokens.iter().zip(digests) {
            let principal = token.principal.as_ref().unwrap_or(name);
            let client = Principal {
                admin: token.admin,
                name: Arc::clone(name),
                principal: Arc::clone(principal),
                tools: token.tools.as_ref().unwrap_or(&config.tools).clone(),
            };
            tokens.push((digest?, Arc::new(client)));
        }
        let anonymous = tokens.is_empty().then(|| {
            Arc::new(Principal {
                // The gateway only listens on this machine then, so every client is its owner.
                admin: true,
                name: ANYBODY.into(),
                principal: ANYBODY.into(),
                tools: config.tools.clone(),
            })
        });
        Ok(Self { anonymous, tokens })
    }

    /// Whether every client that reaches the address is accepted.
    pub(crate) const fn is_open(&self) -> bool {
        self.anonymous.is_some()
    }

    /// The principal of this token. Runs in constant time, regardless of which token matches and whether one
    /// does.
    fn find(&self, token: &str) -> Option<&Arc<Principal>> {
        let digest = Digest::of(token.as_bytes());
        let mut found = None;
        for (stored, client) in &self.tokens {
            let same: Choice = stored.as_bytes().ct_eq(digest.as_bytes());
            if bool::from(same) {
                found = Some(client);
            }
        }
        found
    }
}

impl Gateway {
    /// Authenticates a request by `Authorization: Bearer` or `x-api-key`.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unauthenticated`] without a token, or with a wrong one.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Principal>, ServeError> {
        let tokens = &self.shared.tokens;
        if let Some(anonymous) = &tokens.anonymous {
            return Ok(Arc::clone(anonymous));
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = text(AUTHORIZATION.as_str()).and_then(bearer);
        let Some(token) = bearer.or_else(|| text("x-api-key")) else {
            let message =
                "there is no token: send one as `Authorization: Bearer` or as `x-api-key`";
            return Err(ServeError::new(ServeErrorKind::Unauthenticated, message));
        };
        tokens.find(token.trim()).map(Arc::clone).ok_or_else(|| {
            let message = "this token is not one of those that the gateway knows";
            ServeError::new(ServeErrorKind::Unauthenticated, message)
        })
    }
}

/// The token after the scheme, which is case-insensitive (RFC 9110, section 11.1).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// The principal where no token is required.
const ANYBODY: &str = "local";

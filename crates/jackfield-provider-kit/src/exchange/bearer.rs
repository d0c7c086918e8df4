//! The token of one request.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_ports::chat_model::ModelError;

use super::adapter::Adapter;
use crate::secret::Secret;
use crate::tokens::{IssuedToken, Tokens};

/// The token of a request, if its adapter has tokens.
pub(super) struct Bearer<'a>(Option<(&'a Tokens, IssuedToken)>);

impl<'a> Bearer<'a> {
    /// Puts a token into the headers.
    pub(super) async fn fetch(
        adapter: &'a impl Adapter,
        headers: &mut HeaderMap,
    ) -> Result<Self, ModelFailure> {
        let Some(tokens) = adapter.tokens() else {
            return Ok(Self(None));
        };
        let token = tokens.issue().await?;
        let header = token.secret.header_value("Bearer ").map_err(|error| {
            let message = format!("the token cannot be sent: {error}");
            ModelFailure::new(
                ModelFailureKind::Unauthenticated,
                Phase::BeforeSend,
                message,
            )
        })?;
        headers.insert(AUTHORIZATION, header);
        Ok(Self(Some((tokens, token))))
    }

    /// The token, which no message may show.
    pub(super) fn secret(&self) -> Option<Secret> {
        let (_, token) = self.0.as_ref()?;
        Some(token.secret.clone())
    }

    /// Forgets a token that the provider refuses. If it was kept from another request, a new one may be taken, so the
    /// failure advises to try again at once.
    pub(super) async fn renew_after(self, mut error: ModelError) -> ModelError {
        let is_refused = error.failure.kind == ModelFailureKind::Unauthenticated;
        if let (Some((tokens, token)), true) = (self.0, is_refused) {
            tokens.forget(&token.secret).await;
            if !token.is_fresh {
                error.failure.advice = RetryAdvice::AtOnce;
            }
        }
        error
    }
}

//! Renews the tokens of a sign-in, once for all processes that share its store.

use std::sync::Arc;

use super::stored::{SignIn, now};
use super::tokens::{self, Renewal};
use super::{Authorization, Bearer};
use crate::error::ServerFault;

impl Authorization {
    /// The present token, renewed if it has ended or if it is this one. Another process may have renewed it, or a person
    /// may have signed in, since this process has looked.
    ///
    /// A caller that is cancelled does not cancel the renewal: the authorization server may have replaced the refresh
    /// token already, and the new one has to reach the store.
    pub(super) async fn renew(
        self: &Arc<Self>,
        refused: Option<&Bearer>,
    ) -> Result<Renewed, ServerFault> {
        let (authorization, refused) = (Arc::clone(self), refused.cloned());
        let renewing =
            tokio::spawn(async move { authorization.renew_to_the_end(refused.as_ref()).await });
        renewing.await.unwrap_or_else(|error| {
            let reason = format!("its sign-in cannot be renewed: {error}");
            Err(ServerFault::new(reason, "try again"))
        })
    }

    async fn renew_to_the_end(&self, refused: Option<&Bearer>) -> Result<Renewed, ServerFault> {
        let _renewing = self.renewing.lock().await;
        // Most servers have no sign-in: nothing is locked for them.
        let Some(sign_in) = self.load().await? else {
            *self.known() = Some(None);
            return Ok(Renewed::Unsigned);
        };
        if let Some(bearer) = usable(&sign_in, refused) {
            *self.known() = Some(Some(Arc::new(sign_in)));
            return Ok(Renewed::Signed(bearer));
        }
        if sign_in.tokens.is_none() {
            return Ok(Renewed::Refused("it was not renewed".to_owned()));
        }
        let lock = self.lock().await?;
        // Again, behind the lock.
        let Some(mut sign_in) = self.load().await? else {
            *self.known() = Some(None);
            return Ok(Renewed::Unsigned);
        };
        if let Some(bearer) = usable(&sign_in, refused) {
            *self.known() = Some(Some(Arc::new(sign_in)));
            return Ok(Renewed::Signed(bearer));
        }
        // Also if it cannot be renewed at present: it is of use until its end.
        *self.known() = Some(Some(Arc::new(sign_in.clone())));
        let renewed = match tokens::renew(&self.http, &sign_in).await? {
            Renewal::Renewed(tokens) => {
                let bearer = Bearer(tokens.access.clone());
                sign_in.tokens = Some(tokens);
                Renewed::Signed(bearer)
            }
            Renewal::Refused(why) => {
                sign_in.tokens = None;
                Renewed::Refused(why)
            }
        };
        self.keep(sign_in).await?;
        drop(lock);
        Ok(renewed)
    }

    /// The token that this process knows, if it has not ended and is not about to. Sends and reads nothing.
    pub(crate) fn known_bearer(&self) -> Option<Bearer> {
        let known = self.known().clone().flatten()?;
        usable(&known, None)
    }

    /// The token that this process knows, if it has not ended, for a request while it cannot be renewed.
    pub(super) fn last_bearer(&self) -> Option<Bearer> {
        let known = self.known().clone().flatten()?;
        let tokens = known.tokens.as_ref()?;
        let has_ended = tokens.expires_at.is_some_and(|ends| now() >= ends);
        (!has_ended).then(|| Bearer(tokens.access.clone()))
    }
}

/// The outcome of a renewal.
pub(super) enum Renewed {
    /// A person has to sign in again, for this reason.
    Refused(String),
    Signed(Bearer),
    /// There is no sign-in.
    Unsigned,
}

/// The token of a sign-in, if it has not ended and is not the refused one.
pub(super) fn usable(sign_in: &SignIn, refused: Option<&Bearer>) -> Option<Bearer> {
    let tokens = sign_in.tokens.as_ref()?;
    let bearer = Bearer(tokens.access.clone());
    let is_usable = !tokens.is_stale(now()) && Some(&bearer) != refused;
    is_usable.then_some(bearer)
}

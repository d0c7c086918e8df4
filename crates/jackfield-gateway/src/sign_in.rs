//! Sign-in of people at an identity provider, for the page: the user that the provider names is logged in.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::directory::{ClientLookup, EntryName, KeyRefusal};
use jackfield_engine::{AcceptedUser, DirectoryError};
use jackfield_ports::identity_provider::{Identity, IdentityError, SignInSecrets};

use crate::api_keys::Principal;
use crate::config::SignInConfig;
use crate::failures;
use crate::gateway::Gateway;

/// A sign-in that has begun: where the browser goes, and the secret for its cookie.
pub struct StartedSignIn {
    /// The value of the cookie, which lasts for [`SIGN_IN_LIFETIME`].
    pub cookie: String,
    /// Whether the browser reaches the gateway over TLS.
    pub is_encrypted: bool,
    /// The address of the provider.
    pub url: String,
}

impl fmt::Debug for StartedSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartedSignIn").finish_non_exhaustive()
    }
}

/// A sign-in that has ended well: the browser is logged in.
pub struct EndedSignIn {
    /// Whether the browser reaches the gateway over TLS.
    pub is_encrypted: bool,
    /// The value of the cookie of the [login](Gateway::log_in).
    pub login: String,
}

impl fmt::Debug for EndedSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndedSignIn").finish_non_exhaustive()
    }
}

/// Why a sign-in failed. The log has the details.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SignInFailure {
    /// The user is disabled.
    Disabled,
    /// The sign-in is over, or began in another browser.
    Expired,
    /// What the provider says is not to be trusted.
    Invalid,
    /// The provider does not say by which name the gateway knows the person.
    Nameless,
    /// The provider, or the person there, refused.
    Refused,
    /// The provider or the journal cannot be used now.
    Unavailable,
    /// The gateway has no user of this name.
    UnknownUser,
    /// The browser came to an address to which no provider sends it back.
    WrongAddress,
}

impl SignInFailure {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Expired => "expired",
            Self::Invalid => "invalid",
            Self::Nameless => "nameless",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::UnknownUser => "unknown_user",
            Self::WrongAddress => "wrong_address",
        }
    }
}

impl Gateway {
    /// How people sign in without a key, if they can.
    #[must_use]
    pub fn sign_in(&self) -> Option<&SignInConfig> {
        self.shared.config.sign_in.as_ref()
    }

    /// Begins a sign-in of a browser that came to this host; the answer of the provider comes to `path` there.
    ///
    /// # Errors
    ///
    /// [`SignInFailure`], which is logged.
    pub async fn begin_sign_in(
        &self,
        host: Option<&str>,
        path: &str,
    ) -> Result<StartedSignIn, SignInFailure> {
        let config = self.sign_in().ok_or(SignInFailure::Unavailable)?;
        let redirect = self.redirect(host, path)?;
        let begun = config.provider.begin(&redirect).await;
        let begun = begun.map_err(|error| logged(&error))?;
        Ok(StartedSignIn {
            cookie: begun.secrets.to_string(),
            is_encrypted: is_encrypted(&redirect),
            url: begun.url,
        })
    }

    /// Ends the sign-in that a cookie has, by the query of the address to which the provider sent the browser back, on
    /// this host and path, and logs the user in.
    ///
    /// # Errors
    ///
    /// [`SignInFailure`], which is logged.
    pub async fn end_sign_in(
        &self,
        cookie: Option<&str>,
        (host, path): (Option<&str>, &str),
        answer: &str,
    ) -> Result<EndedSignIn, SignInFailure> {
        let config = self.sign_in().ok_or(SignInFailure::Unavailable)?;
        let secrets = cookie.and_then(SignInSecrets::parse);
        let secrets = secrets.ok_or(SignInFailure::Expired)?;
        let redirect = self.redirect(host, path)?;
        let identity = config.provider.finish(&secrets, &redirect, answer).await;
        let identity = identity.map_err(|error| logged(&error))?;
        let client = self.user_of(&identity).await?;
        let login = self.log_in(&client).await;
        let login = login.map_err(|_| SignInFailure::Unavailable)?;
        tracing::info!(name = %client.name, subject = %identity.subject, "a user signed in");
        Ok(EndedSignIn {
            is_encrypted: is_encrypted(&redirect),
            login,
        })
    }

    /// The address of this path for a browser that came to this host.
    fn redirect(&self, host: Option<&str>, path: &str) -> Result<String, SignInFailure> {
        let Some(origin) = self.browser_origin(host) else {
            let help =
                "set `public_url` under [serve] to the address by which browsers reach the gateway";
            tracing::warn!(host, help, "people cannot sign in at this address");
            return Err(SignInFailure::WrongAddress);
        };
        Ok(format!("{origin}{path}"))
    }

    /// The client that this person is.
    async fn user_of(&self, identity: &Identity) -> Result<Arc<Principal>, SignInFailure> {
        let Identity { name, subject } = identity;
        let shown: String = name.chars().take(MAX_SHOWN).collect();
        let refused = |failure: SignInFailure, why: &str| {
            tracing::warn!(name = %shown, %subject, why, "a person was not signed in");
            failure
        };
        let Ok(name) = EntryName::parse(name) else {
            let why = "the name cannot be that of a user";
            return Err(refused(SignInFailure::UnknownUser, why));
        };
        match self.accepted_user(&name).await {
            Ok(client) => Ok(client),
            Err(DirectoryError::Missing { .. }) => {
                let why = "there is no such user: `jackfield users add` makes one";
                Err(refused(SignInFailure::UnknownUser, why))
            }
            Err(DirectoryError::Refused(KeyRefusal::UserDisabled)) => {
                Err(refused(SignInFailure::Disabled, "the user is disabled"))
            }
            Err(error) => Err(refused(SignInFailure::Unavailable, &error.to_string())),
        }
    }

    /// The client of a user that signed in, as the user is now.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unauthenticated`] if it is not accepted any more, and [`ServeErrorKind::Unavailable`] if the
    /// journal cannot be read.
    pub(crate) async fn find_user(&self, name: &EntryName) -> Result<Arc<Principal>, ServeError> {
        self.accepted_user(name).await.map_err(|error| {
            let is_refusal = matches!(
                error,
                DirectoryError::Missing { .. } | DirectoryError::Refused(_)
            );
            if !is_refusal {
                return failures::from_directory_error(&error);
            }
            let message = "the user of this login is not accepted any more: sign in again";
            ServeError::new(ServeErrorKind::Unauthenticated, message)
        })
    }

    async fn accepted_user(&self, name: &EntryName) -> Result<Arc<Principal>, DirectoryError> {
        let missing = || DirectoryError::Refused(KeyRefusal::Unknown);
        let config = self.sign_in().ok_or_else(missing)?;
        let directory = self.engine().directory().ok_or_else(missing)?;
        let AcceptedUser { quotas, user } = directory.accept_user(name).await?;
        let has_own_servers = self.needs_own_servers(&directory, &user).await?;
        Ok(Arc::new(Principal {
            admin: config.admins.contains(&user.name),
            endpoints: Vec::new(),
            has_no_approvals: false,
            has_own_servers,
            lookup: Some(ClientLookup::User(user.name.clone())),
            models: config.models.clone(),
            name: format!("{}/sign-in", user.name).into(),
            passthrough: None,
            principal: user.principal(),
            quotas,
            tools: config.tools.clone(),
        }))
    }
}

/// Whether the browser comes back over TLS.
fn is_encrypted(redirect: &str) -> bool {
    redirect.starts_with("https:")
}

fn logged(error: &IdentityError) -> SignInFailure {
    tracing::warn!(why = %error, "a person was not signed in");
    match error {
        IdentityError::Invalid(_) => SignInFailure::Invalid,
        IdentityError::Nameless(_) => SignInFailure::Nameless,
        IdentityError::Refused(_) => SignInFailure::Refused,
        IdentityError::Unavailable(_) | _ => SignInFailure::Unavailable,
    }
}

/// How long a person may take to sign in at an identity provider.
pub const SIGN_IN_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The longest name that a log shows, in characters.
const MAX_SHOWN: usize = 100;

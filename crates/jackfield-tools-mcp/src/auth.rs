//! Signing in at a server over HTTP: OAuth 2.1 with PKCE, as the protocol profiles it (MCP 2025-11-25 and 2026-07-28,
//! "Authorization", read 2026-11-26).
//!
//! A person signs in once, by a [`Login`]. From then on every request has a bearer token, which is renewed once for all
//! processes that share the [`TokenStore`]. A request that needs a person again fails, and says what to do; nothing
//! here opens a browser.
//!
//! Addresses that a server names are reached through the guarded client: they have to be public, unless they belong to
//! the server's own host, and encrypted.

pub(crate) mod challenge;
pub(crate) mod client;
mod fetch;
mod login;
pub(crate) mod metadata;
mod redirect;
mod renewal;
pub(crate) mod stored;
mod tokens;

use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jackfield_provider_kit::guarded::GuardedSettings;
use serde_json::json;
use url::Url;

pub use self::login::Login;
pub use self::redirect::RedirectListener;
pub use self::stored::TokenStore;

use self::challenge::Challenge;
use self::fetch::AuthHttp;
use self::login::OFFLINE;
use self::renewal::Renewed;
use self::stored::{FORMAT, SignIn, union};
use crate::error::ServerFault;

/// The settings of sign-ins at one server.
#[derive(Clone)]
pub struct AuthSettings {
    /// What a person does to sign in, in the imperative, such as "sign in with `jackfield mcp login tracker`".
    pub advice: String,
    /// The id of a client that was registered by hand.
    pub client_id: Option<String>,
    /// The address of a document about the client, which is its id at authorization servers that take such ids.
    pub client_metadata_url: Option<String>,
    /// The secret of the client that was registered by hand.
    pub client_secret: Option<String>,
    /// Whether the administrator has configured the server. Its host is reached then wherever it is, and this machine if
    /// the server is on it. The server of another person has no more than `network` allows.
    pub is_configured: bool,
    /// The guarded client's settings, for the addresses that a server names.
    pub network: GuardedSettings,
    /// The scope to ask for, instead of what the server suggests.
    pub scope: Option<String>,
    /// The address of the server.
    pub url: String,
}

/// The sign-in at one server.
pub struct Authorization {
    http: AuthHttp,
    /// The sign-in as this process knows it, once it has looked.
    known: Mutex<Option<Option<Arc<SignIn>>>>,
    /// Whether the last refused request needs a person.
    needs_person: AtomicBool,
    /// Held while the stored sign-in is read, renewed or replaced.
    renewing: tokio::sync::Mutex<()>,
    server: Url,
    settings: AuthSettings,
    store: Arc<dyn TokenStore>,
}

/// A bearer token of a request.
#[derive(Clone, Eq, PartialEq)]
pub(crate) struct Bearer(String);

impl Bearer {
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// What is to be done about a refused request.
pub(crate) enum Remedy {
    /// Send it again, with this token.
    Again(Bearer),
    /// A person has to do something.
    Person(ServerFault),
    /// The sign-in cannot be renewed at present.
    Wait(ServerFault),
}

impl Authorization {
    /// The sign-in at this server, kept in this store.
    ///
    /// # Errors
    ///
    /// The address is not one of the web.
    pub fn new(settings: AuthSettings, store: Arc<dyn TokenStore>) -> Result<Self, ServerFault> {
        let server = Url::parse(settings.url.trim()).ok();
        let server = server.filter(|url| matches!(url.scheme(), "http" | "https"));
        let server = server.ok_or_else(|| {
            ServerFault::new(
                "its `url` is not an address of the web",
                "set `url` to an address such as `https://host/mcp`",
            )
        })?;
        Ok(Self {
            http: AuthHttp::new(&server, settings.network.clone(), settings.is_configured),
            known: Mutex::default(),
            needs_person: AtomicBool::new(false),
            renewing: tokio::sync::Mutex::default(),
            server,
            settings,
            store,
        })
    }

    /// Whether the last refused request needs a person to sign in.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.needs_person.load(Ordering::Relaxed)
    }

    /// The redirect of the last sign-in, which the authorization server may know by heart.
    pub async fn last_redirect(&self) -> Option<String> {
        let known = self.load().await.ok().flatten()?;
        Some(known.client.redirect_uri.clone())
    }

    /// Begins a sign-in, with this redirect.
    ///
    /// # Errors
    ///
    /// The server has no sign-in, or one that cannot be used.
    pub async fn begin(&self, redirect_uri: &str) -> Result<Login, ServerFault> {
        let challenge = self.probe().await?;
        let known = self.load().await?;
        let resource = metadata::resource(&self.http, &self.server, challenge.as_ref()).await?;
        let same = known.as_ref().map(|known| &known.issuer);
        let same = same.filter(|issuer| resource.issuers.contains(issuer));
        let named = same.or_else(|| resource.issuers.first());
        let Some(named) = named else {
            let reason = "its metadata names no authorization server";
            return Err(ServerFault::new(reason, fetch::TELL_OWNER));
        };
        let issuer = metadata::issuer(&self.http, named).await?;
        // What was granted by another server means nothing here.
        let known = known.filter(|known| known.issuer == issuer.issuer);
        let demanded = challenge.and_then(|challenge| challenge.scope);
        let suggested = self.settings.scope.clone().or(demanded).or(resource.scopes);
        let wanted = known.as_ref().and_then(|known| known.wanted_scope.clone());
        let mut scope = union(wanted.as_deref(), suggested.as_deref());
        if scope.is_some() && issuer.scopes.iter().any(|one| one == OFFLINE) {
            scope = union(scope.as_deref(), Some(OFFLINE));
        }
        let client = client::client(
            &self.http,
            &self.settings,
            &issuer,
            known.map(|known| known.client.clone()),
            redirect_uri,
            scope.as_deref(),
        )
        .await?;
        Login::new(client, issuer, resource.resource, scope)
    }

    /// Ends a sign-in with the redirect that the browser was sent to, and stores it.
    ///
    /// # Errors
    ///
    /// The redirect does not belong to it, the authorization server refuses, or the store cannot be written.
    pub async fn finish(&self, login: Login, redirect: &str) -> Result<(), ServerFault> {
        let code = login.code(redirect)?;
        let Login {
            client,
            issuer,
            resource,
            revocation_endpoint,
            scope,
            token_endpoint,
            verifier,
            ..
        } = login;
        let endpoint = self.http.check("token_endpoint", &token_endpoint)?;
        let exchanged = tokens::exchange(
            &self.http,
            &endpoint,
            &client,
            &resource,
            (&code, &verifier),
        );
        let tokens = exchanged.await?;
        let sign_in = SignIn {
            client,
            format: FORMAT,
            issuer,
            resource,
            revocation_endpoint,
            token_endpoint,
            tokens: Some(tokens),
            wanted_scope: scope,
        };
        let _renewing = self.renewing.lock().await;
        let lock = self.lock().await?;
        self.keep(sign_in).await?;
        drop(lock);
        self.needs_person.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Forgets the sign-in, and has its tokens revoked where the authorization server does that; `false` if there was
    /// none.
    ///
    /// # Errors
    ///
    /// The store cannot be changed. A failed revocation is the `Err` within.
    pub async fn sign_out(&self) -> Result<Option<Result<(), ServerFault>>, ServerFault> {
        let _renewing = self.renewing.lock().await;
        let lock = self.lock().await?;
        // What cannot be read is removed, too.
        let known = self.load().await.ok().flatten();
        let removed = self.store.remove().await;
        let removed = removed.map_err(|error| stored_fault(&error))?;
        drop(lock);
        *self.known() = Some(None);
        if !removed {
            return Ok(None);
        }
        Ok(Some(match known {
            Some(known) => tokens::revoke(&self.http, &known).await,
            None => Ok(()),
        }))
    }

    /// The token for a request; renewed if it has ended or is about to. `None` without a sign-in.
    ///
    /// # Errors
    ///
    /// The sign-in cannot be read, or its token has ended and cannot be renewed.
    pub(crate) async fn bearer(self: &Arc<Self>) -> Result<Option<Bearer>, ServerFault> {
        // There is no sign-in; a refusal makes this process look again.
        if matches!(&*self.known(), Some(None)) {
            return Ok(None);
        }
        if let Some(bearer) = self.known_bearer() {
            return Ok(Some(bearer));
        }
        match self.renew(None).await {
            Ok(Renewed::Signed(bearer)) => Ok(Some(bearer)),
            // The server says whether it needs one.
            Ok(Renewed::Unsigned | Renewed::Refused(_)) => Ok(None),
            Err(fault) => match self.last_bearer() {
                Some(bearer) => {
                    let host = self.server.host_str();
                    tracing::warn!(host, "a token is used until its end: {fault}");
                    Ok(Some(bearer))
                }
                None => Err(fault),
            },
        }
    }

    /// What to do about a request that was refused for want of a token, or with this one.
    pub(crate) async fn refused(self: &Arc<Self>, used: Option<&Bearer>, host: &str) -> Remedy {
        let advice = &self.settings.advice;
        let renewed = self.renew(used).await;
        let is_remedied = matches!(&renewed, Ok(Renewed::Signed(bearer)) if Some(bearer) != used);
        self.needs_person
            .store(renewed.is_ok() && !is_remedied, Ordering::Relaxed);
        match renewed {
            Ok(Renewed::Signed(bearer)) if Some(&bearer) != used => Remedy::Again(bearer),
            Ok(Renewed::Signed(_)) => Remedy::Person(self.unaccepted(host)),
            Ok(Renewed::Unsigned) => Remedy::Person(ServerFault::new(
                format!("{host} wants a sign-in"),
                format!("{advice}, or give it a key in its `headers`"),
            )),
            Ok(Renewed::Refused(why)) => Remedy::Person(ServerFault::new(
                format!("the sign-in at {host} has ended: {why}"),
                format!("{advice} again"),
            )),
            Err(fault) => Remedy::Wait(fault),
        }
    }

    /// A token that was just renewed is refused, too.
    pub(crate) fn unaccepted(&self, host: &str) -> ServerFault {
        self.needs_person.store(true, Ordering::Relaxed);
        let advice = &self.settings.advice;
        ServerFault::new(
            format!("{host} does not accept the sign-in"),
            format!("{advice} again"),
        )
    }

    /// Records the scope that a request needs and the sign-in does not cover; the next sign-in asks for it, too.
    pub(crate) async fn uncovered(&self, challenge: &Challenge, host: &str) -> ServerFault {
        let scope = challenge.scope.as_deref().map(fetch::shown);
        self.needs_person.store(true, Ordering::Relaxed);
        if let Err(fault) = self.want(challenge.scope.as_deref()).await {
            return fault;
        }
        let reason = match scope {
            Some(scope) => {
                format!("the sign-in at {host} does not cover this, which needs `{scope}`")
            }
            None => format!("the sign-in at {host} does not cover this"),
        };
        let advice = &self.settings.advice;
        ServerFault::new(reason, format!("{advice} again, which asks for it"))
    }

    async fn want(&self, scope: Option<&str>) -> Result<(), ServerFault> {
        let _renewing = self.renewing.lock().await;
        let lock = self.lock().await?;
        if let Some(mut sign_in) = self.load().await? {
            let granted = sign_in
                .tokens
                .as_ref()
                .and_then(|tokens| tokens.scope.clone());
            let wanted = union(sign_in.wanted_scope.as_deref(), granted.as_deref());
            let wanted = union(wanted.as_deref(), scope);
            if sign_in.wanted_scope != wanted {
                sign_in.wanted_scope = wanted;
                self.keep(sign_in).await?;
            }
        }
        drop(lock);
        Ok(())
    }

    /// What the server demands of a client without a token.
    async fn probe(&self) -> Result<Option<Challenge>, ServerFault> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accepted);
        let body = json!({ "jsonrpc": "2.0", "id": "sign-in", "method": "ping" }).to_string();
        let answered = self
            .http
            .head(Method::POST, &self.server, headers, Bytes::from(body));
        let (status, headers) = answered.await?;
        // Many servers demand a token for some requests only.
        let challenge = Challenge::of(&headers);
        Ok(challenge.filter(|_| status == StatusCode::UNAUTHORIZED))
    }

    fn known(&self) -> MutexGuard<'_, Option<Option<Arc<SignIn>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn load(&self) -> Result<Option<SignIn>, ServerFault> {
        let text = self.store.load().await;
        let read = text.and_then(|text| text.map(|text| SignIn::read(&text)).transpose());
        read.map_err(|error| stored_fault(&error))
    }

    async fn lock(&self) -> Result<Box<dyn Any + Send>, ServerFault> {
        let locked = self.store.lock().await;
        locked.map_err(|error| stored_fault(&error))
    }

    /// Stores a sign-in. This process knows it even if the store fails: the one before may be worth nothing any more.
    async fn keep(&self, sign_in: SignIn) -> Result<(), ServerFault> {
        let text = sign_in.to_text().map_err(|error| stored_fault(&error))?;
        *self.known() = Some(Some(Arc::new(sign_in)));
        let stored = self.store.store(&text).await;
        stored.map_err(|error| stored_fault(&error))
    }

    /// A text of the server without the tokens that it may repeat.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        let known = self.known().clone().flatten();
        let tokens = known.as_ref().and_then(|known| known.tokens.as_ref());
        let mut text = text.to_owned();
        if let Some(tokens) = tokens {
            text = text.replace(&tokens.access, "[redacted]");
            if let Some(refresh) = &tokens.refresh {
                text = text.replace(refresh, "[redacted]");
            }
        }
        text
    }
}

impl std::fmt::Debug for Authorization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorization")
            .field("server", &self.server.host_str())
            .finish_non_exhaustive()
    }
}

fn stored_fault(error: &io::Error) -> ServerFault {
    let reason = format!("its stored sign-in cannot be used: {error}");
    ServerFault::new(reason, "mend that, or sign out and in again")
}

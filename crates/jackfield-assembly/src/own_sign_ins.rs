//! Signing in at the servers of users and teams by OAuth.

use std::any::Any;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::directory::{OwnServer, ServerOwner};
use jackfield_engine::{BegunLogin, Credential, SignInClient, SignInStore};
use jackfield_provider_kit::guarded::GuardedSettings;
use jackfield_tools_mcp::{AuthSettings, Authorization, Login, ServerFault, TokenStore};
use url::Url;

/// Signs users in, within what the configuration lets their servers reach.
pub(crate) struct OwnSignIns {
    network: GuardedSettings,
}

impl OwnSignIns {
    /// Sign-ins that reach public addresses, and those that `network` allows.
    pub(crate) const fn new(network: GuardedSettings) -> Self {
        Self { network }
    }

    /// The sign-in of a user at a server, which is kept there; `None` for a program.
    ///
    /// # Errors
    ///
    /// The address is not one of the web.
    pub(crate) fn authorization(
        &self,
        server: &OwnServer,
        store: Arc<dyn TokenStore>,
        url: &str,
    ) -> Result<Authorization, ServerFault> {
        let of = match &server.owner {
            ServerOwner::Team(team) => format!("?team={team}"),
            ServerOwner::User(_) => String::new(),
        };
        let settings = AuthSettings {
            advice: format!(
                "sign in on the page, under My keys and servers, or by `POST /api/v1/own-servers/{}/sign-in{of}`",
                server.name
            ),
            client_id: None,
            client_metadata_url: None,
            client_secret: None,
            is_configured: false,
            network: self.network.clone(),
            scope: None,
            url: url.to_owned(),
        };
        Authorization::new(settings, store)
    }

    /// That sign-in while a request for it is answered.
    fn passing(
        &self,
        server: &OwnServer,
        known: Option<Credential>,
    ) -> Result<(Authorization, Arc<PassingStore>), String> {
        let url = server.sign_in_address().ok_or(
            "a sign-in is for servers at an address, set without a header `Authorization`",
        )?;
        let known = known.map(|known| known.expose().to_owned());
        let store = Arc::new(PassingStore(Mutex::new(known)));
        let kept = Arc::clone(&store) as Arc<dyn TokenStore>;
        let authorization = self.authorization(server, kept, url);
        let authorization = authorization.map_err(|fault| fault.to_string())?;
        Ok((authorization, store))
    }
}

#[async_trait]
impl SignInClient for OwnSignIns {
    async fn begin(
        &self,
        server: &OwnServer,
        known: Option<Credential>,
        redirect_uri: &str,
    ) -> Result<BegunLogin, String> {
        let (authorization, _) = self.passing(server, known)?;
        let begun = authorization.begin(redirect_uri).await;
        let login = begun.map_err(|fault| fault.to_string())?;
        let text = login.to_text().map_err(|fault| fault.to_string())?;
        Ok(BegunLogin {
            login: Credential::new(text),
            scope: login.scope().map(str::to_owned),
            url: login.url().to_owned(),
        })
    }

    fn is_answered(&self, login: &Credential, redirect: &str) -> bool {
        let (login, redirect) = (Login::read(login.expose()), Url::parse(redirect.trim()));
        matches!((login, redirect), (Ok(login), Ok(redirect)) if login.is_answered_by(&redirect))
    }

    async fn finish(
        &self,
        server: &OwnServer,
        login: &Credential,
        redirect: &str,
    ) -> Result<Credential, String> {
        let (authorization, store) = self.passing(server, None)?;
        let login = Login::read(login.expose()).map_err(|fault| fault.to_string())?;
        let finished = authorization.finish(login, redirect).await;
        finished.map_err(|fault| fault.to_string())?;
        let tokens = store.text().ok_or("there are no tokens")?;
        Ok(Credential::new(tokens))
    }

    async fn revoke(&self, server: &OwnServer, tokens: &Credential) -> Result<(), String> {
        let (authorization, _) = self.passing(server, Some(tokens.clone()))?;
        match authorization.sign_out().await {
            Ok(Some(Err(fault))) | Err(fault) => Err(fault.to_string()),
            Ok(Some(Ok(())) | None) => Ok(()),
        }
    }
}

/// Keeps a sign-in as long as a request is answered.
struct PassingStore(Mutex<Option<String>>);

impl PassingStore {
    fn text(&self) -> Option<String> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.clone()
    }
}

#[async_trait]
impl TokenStore for PassingStore {
    async fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
        Ok(Box::new(()))
    }

    async fn load(&self) -> io::Result<Option<String>> {
        Ok(self.text())
    }

    async fn store(&self, text: &str) -> io::Result<()> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        Ok(())
    }

    async fn remove(&self) -> io::Result<bool> {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(text.take().is_some())
    }
}

/// The sign-in of a user, as turns use it: in the journal.
pub(crate) struct JournalTokens(pub(crate) Arc<SignInStore>);

#[async_trait]
impl TokenStore for JournalTokens {
    async fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
        let locked = self.0.lock().await.map_err(io::Error::other)?;
        Ok(Box::new(locked))
    }

    async fn load(&self) -> io::Result<Option<String>> {
        let tokens = self.0.load().await.map_err(io::Error::other)?;
        Ok(tokens.map(|tokens| tokens.expose().to_owned()))
    }

    async fn store(&self, text: &str) -> io::Result<()> {
        let stored = self.0.store(&Credential::new(text)).await;
        stored.map_err(io::Error::other)
    }

    async fn remove(&self) -> io::Result<bool> {
        // A request of the user ends a sign-in, and no turn.
        Err(ErrorKind::Unsupported.into())
    }
}

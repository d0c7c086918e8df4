//! Signing in at a server, and out.

use std::io;
use std::path::Path;
use std::sync::Arc;

use jackfield_provider_kit::guarded::GuardedSettings;
use jackfield_tools_mcp::{
    AuthSettings, Authorization, Login, RedirectListener, ServerConfig, ServerFault,
};

use crate::expand::expand;
use crate::servers::McpServerEntry;
use crate::servers::sign_in_file::SignInFile;
use crate::surroundings::Environment;

/// The sign-in at a server with an address. Clones share it.
#[derive(Clone)]
pub struct ServerSignIn {
    authorization: Arc<Authorization>,
    file: Arc<SignInFile>,
    redirect: Option<String>,
}

/// A sign-in that a person has yet to confirm in a browser.
pub struct PendingSignIn {
    listener: RedirectListener,
    login: Login,
}

impl ServerSignIn {
    /// The sign-in at this server; `None` if it has no address, has a key of its own, or if there is no folder to keep
    /// tokens in.
    ///
    /// # Errors
    ///
    /// A variable is not set, or the address is not one of the web.
    pub(crate) fn new(
        config: &McpServerEntry,
        server: &ServerConfig,
        environment: &Environment,
        data: Option<&Path>,
        network: &GuardedSettings,
    ) -> Result<Option<Self>, ServerFault> {
        let (Some(endpoint), Some(data)) = (&server.http, data) else {
            return Ok(None);
        };
        let mut headers = endpoint.headers.iter();
        if headers.any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Ok(None);
        }
        let entry = &config.oauth;
        let fill = |what: &str, text: &Option<Arc<str>>| match text {
            None => Ok(None),
            Some(text) => expand(text, environment)
                .map(Some)
                .map_err(|why| ServerFault {
                    advice: format!(
                        "correct it in {}, or set it",
                        config.place.origin_in_words()
                    ),
                    reason: format!("its `oauth.{what}` cannot be filled in: {why}"),
                }),
        };
        let mut network = network.clone();
        for allowed in &entry.allow_private {
            network
                .allowed
                .allow(allowed)
                .map_err(|error| ServerFault {
                    advice: format!("correct it in {}", config.place.origin_in_words()),
                    reason: format!("its `oauth.allow_private`: {error}"),
                })?;
        }
        let settings = AuthSettings {
            advice: format!("sign in with `jackfield mcp login {}`", config.id),
            client_id: fill("client_id", &entry.client_id)?,
            client_metadata_url: fill("client_metadata_url", &entry.client_metadata_url)?,
            client_secret: fill("client_secret", &entry.client_secret)?,
            is_configured: true,
            network,
            scope: fill("scope", &entry.scope)?,
            url: endpoint.url.clone(),
        };
        let file = Arc::new(SignInFile::new(
            data,
            &config.id,
            &endpoint.url,
            environment,
        ));
        let store = Arc::clone(&file);
        // A wrong address is reported when the server is started.
        let Ok(authorization) = Authorization::new(settings, store) else {
            return Ok(None);
        };
        Ok(Some(Self {
            authorization: Arc::new(authorization),
            file,
            redirect: fill("redirect_uri", &entry.redirect_uri)?,
        }))
    }

    pub(crate) fn authorization(&self) -> Arc<Authorization> {
        Arc::clone(&self.authorization)
    }

    /// Begins a sign-in.
    ///
    /// # Errors
    ///
    /// The server has none that can be used, or no port of this machine is free.
    pub async fn begin(&self) -> Result<PendingSignIn, ServerFault> {
        let is_required = self.redirect.is_some();
        let wanted = match &self.redirect {
            Some(redirect) => Some(redirect.clone()),
            None => self.authorization.last_redirect().await,
        };
        let listener = RedirectListener::bind(wanted.as_deref(), is_required).await;
        let listener = listener.map_err(|error| ServerFault {
            advice: "end the program that uses the port, or change `redirect_uri` of the server's `oauth`".to_owned(),
            reason: format!("the answer to the sign-in cannot be received: {error}"),
        })?;
        let login = self.authorization.begin(listener.uri()).await?;
        Ok(PendingSignIn { listener, login })
    }

    /// Ends a sign-in with the address that the browser was sent to.
    ///
    /// # Errors
    ///
    /// It is the answer to another sign-in, a refusal, or the tokens cannot be had or stored.
    pub async fn finish(&self, pending: PendingSignIn, redirect: &str) -> Result<(), ServerFault> {
        self.authorization.finish(pending.login, redirect).await
    }

    /// Forgets the sign-in; `None` if there was none. Within, whether its tokens were revoked where the server does that.
    ///
    /// # Errors
    ///
    /// The stored sign-in cannot be removed.
    pub async fn sign_out(&self) -> Result<Option<Result<(), ServerFault>>, ServerFault> {
        self.authorization.sign_out().await
    }

    /// Where the tokens are, for people. Blocks.
    #[must_use]
    pub fn place(&self) -> String {
        self.file.place()
    }
}

impl PendingSignIn {
    /// The address to open in a browser.
    #[must_use]
    pub fn url(&self) -> &str {
        self.login.url()
    }

    /// The scope that is asked for, if one is.
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.login.scope()
    }

    /// Waits for a browser on this machine, and returns the address that it was sent to.
    ///
    /// # Errors
    ///
    /// No connection can be accepted any more.
    pub async fn redirect(&self) -> io::Result<String> {
        self.listener.redirect(&self.login).await
    }
}

//! Who the client of a request is: by a key of the configuration, or by one of the journal's directory, which is looked
//! up for every request.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::block::RanBy;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{ClientLookup, User};
use jackfield_domain::find_tools;
use jackfield_domain::listing::ListedModel;
use jackfield_domain::setup::Setup;
use jackfield_domain::tool::{CatalogEntry, Permission};
use jackfield_engine::{AcceptedKey, ClientDirectory, DirectoryError, KEY_PREFIX, ServerTools};

use crate::agents::AGENTS;
use crate::api_keys::Principal;
use crate::browser_logins::BrowserLogin;
use crate::gateway::Gateway;
use crate::models::RequestedModel;
use crate::{failures, tools};

impl Gateway {
    /// The client of a request with this key, if it has one.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unauthenticated`] without a key, or with one that is not accepted, and
    /// [`ServeErrorKind::Unavailable`] if the journal cannot be read.
    pub async fn authenticate(&self, key: Option<&str>) -> Result<Arc<Principal>, ServeError> {
        let keys = &self.shared.config.api_keys;
        if let Some(key) = key.map(str::trim) {
            let secret = Digest::of(key.as_bytes());
            if let Some(client) = keys.find(&secret) {
                return Ok(Arc::clone(client));
            }
            if key.starts_with(KEY_PREFIX) {
                return self.find_client(secret).await;
            }
        }
        if let Some(anonymous) = &keys.anonymous
            && !self.has_directory_keys().await?
        {
            return Ok(Arc::clone(anonymous));
        }
        let message = match key {
            Some(_) => "this token is not one of those that the gateway knows",
            None => "there is no token: send one as `Authorization: Bearer` or as `x-api-key`",
        };
        Err(unauthenticated(message))
    }

    /// The client of a login of a browser, whose key or user is looked up again.
    ///
    /// # Errors
    ///
    /// As for [`authenticate`](Self::authenticate).
    pub async fn client_of(&self, login: BrowserLogin) -> Result<Arc<Principal>, ServeError> {
        self.find_again(&login.client).await
    }

    /// Whether every client that reaches the address is accepted: the configuration has no keys, and neither has the
    /// directory.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unavailable`] if the journal cannot be read.
    pub async fn is_open(&self) -> Result<bool, ServeError> {
        let is_open = self.shared.config.api_keys.is_open();
        Ok(is_open && !self.has_directory_keys().await?)
    }

    /// Whether a request of this client would still be accepted.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Unavailable`] if the journal cannot be read.
    pub async fn still_accepts(&self, client: &Principal) -> Result<bool, ServeError> {
        let found = match &client.lookup {
            Some(lookup) => self.find_again(lookup).await.map(|_| true),
            None => self.is_open().await,
        };
        match found {
            Err(error) if error.kind == ServeErrorKind::Unauthenticated => Ok(false),
            found => found,
        }
    }

    /// Refuses a request that names a model which its key may not use. `name` is what the client wrote, if it named any.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Forbidden`].
    pub fn check_model(
        &self,
        client: &Principal,
        name: Option<&str>,
        requested: &RequestedModel<'_>,
    ) -> Result<(), ServeError> {
        let model = format!("{}/{}", requested.model.provider, requested.model.model);
        let own_name = match (requested.assistant, &requested.route) {
            (Some(assistant), _) => assistant.options.assistant.as_deref().unwrap_or(&model),
            (None, Some(route)) => &**route,
            (None, None) => &*model,
        };
        if client.allows_model(own_name) || name.is_some_and(|name| client.allows_model(name)) {
            return Ok(());
        }
        let shown = name.unwrap_or(own_name);
        let message = format!("this key may not use the model `{shown}`");
        Err(ServeError::new(ServeErrorKind::Forbidden, message).at("model"))
    }

    /// Refuses to go on with a turn of a model or with server tools that this client may not use: another key of its
    /// principal began it.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Forbidden`].
    pub fn check_turn(&self, client: &Principal, setup: &Setup) -> Result<(), ServeError> {
        self.check_model_of_turn(client, setup)?;
        let is_forbidden = |tool: &&CatalogEntry| {
            let may_run = !matches!(tool.permission, Permission::Deny(_));
            // A provider's own tool is ours to decide about if it asks.
            let is_ours = tool.ran_by == RanBy::Engine || tool.asked_by.is_some();
            is_ours && may_run && !find_tools::is(tool) && !client.tools.offers(&tool.origin)
        };
        match setup.catalog.iter().find(is_forbidden) {
            Some(tool) => {
                let name = &tool.definition.name;
                let message =
                    format!("this turn has the tool `{name}`, which this key may not use");
                Err(ServeError::new(ServeErrorKind::Forbidden, message))
            }
            None => Ok(()),
        }
    }

    /// Refuses to go on with the model of a turn that this client may not use.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Forbidden`].
    pub fn check_model_of_turn(&self, client: &Principal, setup: &Setup) -> Result<(), ServeError> {
        let model = format!("{}/{}", setup.model.provider, setup.model.model);
        let own_name = setup.assistant.as_deref().or(setup.route.as_deref());
        let named = setup.caller.as_deref().map(|caller| &*caller.model);
        // What its client may have written.
        let aliases = self.shared.config.aliases.iter();
        let aliases = aliases.filter(|(_, of)| **of == setup.model);
        let bare = Some(&*setup.model.model);
        let bare = bare.filter(|name| self.model(name).is_ok_and(|of| of == setup.model));
        let names = [Some(own_name.unwrap_or(&model)), named, bare];
        let mut names = names.into_iter().flatten();
        // The questions of agents have no model.
        if *setup.model.provider == *AGENTS
            || names.any(|name| client.allows_model(name))
            || aliases
                .into_iter()
                .any(|(alias, _)| client.allows_model(alias))
        {
            return Ok(());
        }
        let message =
            format!("this key may not use the model `{model}`, with which this turn goes on");
        Err(ServeError::new(ServeErrorKind::Forbidden, message))
    }

    /// The models that a client may name, as [`model_catalog`](Self::model_catalog) lists them.
    pub async fn models_for(&self, client: &Principal) -> Vec<ListedModel> {
        let catalog = self.model_catalog().await;
        let allowed = catalog.entries.iter();
        let allowed = allowed.filter(|model| client.allows_model(&model.id));
        allowed.cloned().collect()
    }

    /// A client as it is now.
    async fn find_again(&self, lookup: &ClientLookup) -> Result<Arc<Principal>, ServeError> {
        match lookup {
            ClientLookup::Key(secret) => match self.shared.config.api_keys.find(secret) {
                Some(client) => Ok(Arc::clone(client)),
                None => self.find_client(*secret).await,
            },
            ClientLookup::User(name) => self.find_user(name).await,
        }
    }

    /// Whether turns of a user have tools because of the servers of the user or its team. Where the configuration has
    /// tools, every turn may run some, and nothing is read.
    pub(crate) async fn needs_own_servers(
        &self,
        directory: &ClientDirectory<'_>,
        user: &User,
    ) -> Result<bool, DirectoryError> {
        Ok(!self.has_configured_tools() && directory.has_own_servers(user).await?)
    }

    /// The client with this secret of a key in the directory.
    async fn find_client(&self, secret: Digest) -> Result<Arc<Principal>, ServeError> {
        let Some(directory) = self.engine().directory() else {
            return Err(unauthenticated(
                "this gateway keeps no users and keys, so it accepts those of its configuration alone",
            ));
        };
        match directory.accept(&secret).await {
            Ok(accepted) => {
                let config = &self.shared.config;
                let user = accepted.user.clone();
                let mut client = client_with(accepted, secret, &config.api_keys.tools);
                let own = self.needs_own_servers(&directory, &user).await;
                client.has_own_servers =
                    own.map_err(|error| failures::from_directory_error(&error))?;
                Ok(Arc::new(client))
            }
            Err(DirectoryError::Refused(refusal)) => Err(unauthenticated(refusal.to_string())),
            Err(error) => Err(failures::from_directory_error(&error)),
        }
    }

    async fn has_directory_keys(&self) -> Result<bool, ServeError> {
        let seen = &self.shared.has_seen_keys;
        if seen.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let Some(directory) = self.engine().directory() else {
            return Ok(false);
        };
        let has_keys = directory.has_keys().await;
        let has_keys = has_keys.map_err(|error| failures::from_directory_error(&error))?;
        if has_keys {
            seen.store(true, Ordering::Relaxed);
        }
        Ok(has_keys)
    }
}

/// The client with a key of the directory. Where the key names no tools, it may use `tools`.
fn client_with(accepted: AcceptedKey, secret: Digest, tools: &ServerTools) -> Principal {
    let AcceptedKey { key, quotas, user } = accepted;
    Principal {
        admin: key.is_admin,
        endpoints: Vec::new(),
        has_no_approvals: key.has_no_approvals,
        has_own_servers: false,
        lookup: Some(ClientLookup::Key(secret)),
        models: key.models,
        name: format!("{}/{}", user.name, key.id).into(),
        passthrough: None,
        principal: user.principal(),
        quotas,
        tools: match key.tools {
            None => tools.clone(),
            Some(patterns) if patterns.is_empty() => ServerTools::None,
            Some(patterns) => tools::restrict(tools, ServerTools::Only(patterns)),
        },
    }
}

fn unauthenticated(message: impl Into<String>) -> ServeError {
    ServeError::new(ServeErrorKind::Unauthenticated, message)
}

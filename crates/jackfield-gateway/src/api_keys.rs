//! The clients of a gateway, and the API keys of those in its configuration.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::ClientLookup;
use jackfield_domain::policy;
use jackfield_domain::quota::Quota;
use jackfield_engine::ServerTools;
use subtle::{Choice, ConstantTimeEq as _};

/// An authenticated client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Principal {
    /// Whether it sees the sessions of all principals.
    pub admin: bool,
    /// The endpoints that are open to it, each at one provider.
    pub endpoints: Vec<OpenEndpoint>,
    /// Whether it may neither list nor answer the questions of turns that wait for a person.
    pub has_no_approvals: bool,
    /// Whether its user has servers of its own, alone or with a team. It is looked up only where the gateway has no tools
    /// otherwise.
    pub has_own_servers: bool,
    /// The key or the user that it is, to look it up again; `None` where no key is needed.
    pub lookup: Option<ClientLookup>,
    /// The models, routes and assistants that it may name, as patterns; `None` for all.
    pub models: Option<Vec<Arc<str>>>,
    /// The name of the token; that of a key in the directory is its user's, `/` and its id.
    pub name: Arc<str>,
    /// Whether its requests are passed through; `None` for the gateway's setting.
    pub passthrough: Option<bool>,
    /// The principal whose sessions it sees.
    pub principal: Arc<str>,
    /// What its key, its user and its team may use, by the names of their meters.
    pub quotas: Vec<(Arc<str>, Quota)>,
    /// The server tools that it may use.
    pub tools: ServerTools,
}

/// An endpoint of one provider that is open to a client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenEndpoint {
    /// Its path; with `/*` at its end, all below it.
    pub path: Arc<str>,
    /// The provider.
    pub provider: Arc<str>,
}

impl Principal {
    /// Whether it may name this model, route or assistant.
    #[must_use]
    pub fn allows_model(&self, name: &str) -> bool {
        let patterns = self.models.as_ref();
        patterns.is_none_or(|patterns| {
            patterns
                .iter()
                .any(|pattern| policy::matches(pattern, name))
        })
    }

    /// Refuses what needs the right to answer for a person.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Forbidden`].
    pub fn check_approvals(&self) -> Result<(), ServeError> {
        if !self.has_no_approvals {
            return Ok(());
        }
        let message = "this key may neither list nor answer what waits for a person: it was made with `--no-approvals`";
        Err(ServeError::new(ServeErrorKind::Forbidden, message))
    }

    /// Whether it may not use every model and server tool.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.models.is_some() || self.tools != ServerTools::All
    }

    /// Its quotas that have budgets.
    #[must_use]
    pub fn budget_quotas(&self) -> Vec<(Arc<str>, Quota)> {
        let quotas = self.quotas.iter();
        quotas
            .filter(|(_, quota)| quota.has_budget())
            .cloned()
            .collect()
    }

    /// The names of the meters whose budgets its model calls count for.
    #[must_use]
    pub fn budgets(&self) -> Vec<Arc<str>> {
        let quotas = self.budget_quotas().into_iter();
        quotas.map(|(name, _)| name).collect()
    }

    /// The principal of a request made for an end user. The token's own principal and each end user have separate
    /// conversations. Token names contain no `/`, so the two cannot collide.
    #[must_use]
    pub fn principal_for(&self, end_user: Option<&str>) -> Arc<str> {
        match end_user {
            None => Arc::clone(&self.principal),
            Some(user) => format!("{}/{user}", self.principal).into(),
        }
    }
}

/// The API keys of the clients in the configuration.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    /// The principal of requests without a token, where no token is required.
    pub(crate) anonymous: Option<Arc<Principal>>,
    /// The server tools of keys in the directory that name none.
    pub(crate) tools: ServerTools,
    tokens: Vec<(Digest, Arc<Principal>)>,
}

impl ApiKeys {
    /// One client, which needs no key and is an admin: for an address that only its owner reaches.
    #[must_use]
    pub fn open(tools: ServerTools) -> Self {
        Self {
            tools: tools.clone(),
            anonymous: Some(Arc::new(Principal {
                admin: true,
                endpoints: Vec::new(),
                has_no_approvals: false,
                has_own_servers: false,
                lookup: None,
                models: None,
                name: LOCAL_CLIENT.into(),
                passthrough: None,
                principal: LOCAL_CLIENT.into(),
                quotas: Vec::new(),
                tools,
            })),
            tokens: Vec::new(),
        }
    }

    /// Clients with keys, by the digest of each key.
    #[must_use]
    pub fn new(clients: impl IntoIterator<Item = (Digest, Principal)>) -> Self {
        let clients = clients.into_iter();
        Self {
            anonymous: None,
            tools: ServerTools::All,
            tokens: clients
                .map(|(digest, client)| {
                    let lookup = Some(ClientLookup::Key(digest));
                    (digest, Arc::new(Principal { lookup, ..client }))
                })
                .collect(),
        }
    }

    /// The same, with these server tools for keys of the directory that name none.
    #[must_use]
    pub fn with_tools(self, tools: ServerTools) -> Self {
        Self { tools, ..self }
    }

    /// Whether every client that reaches the address is accepted.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.anonymous.is_some()
    }

    /// All clients.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &Principal> {
        let tokens = self.tokens.iter().map(|(_, client)| client);
        self.anonymous.iter().chain(tokens).map(|client| &**client)
    }

    /// The principal of the token with this digest. Runs in constant time, regardless of which token matches and
    /// whether one does.
    pub(crate) fn find(&self, digest: &Digest) -> Option<&Arc<Principal>> {
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

/// The principal where no token is required.
const LOCAL_CLIENT: &str = "local";

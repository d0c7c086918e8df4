//! Wire types of the servers of users and teams.

use std::collections::BTreeMap;

use jackfield_domain::directory::{OwnServer, SignIn};
use jackfield_engine::BegunSignIn;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An MCP server of a user or a team, to set. It has either `url` or `program`.
#[derive(Deserialize, ToSchema)]
#[schema(as = SetOwnServer, example = json!({ "url": "https://mcp.example/mcp", "headers": { "Authorization": "Bearer …" } }))]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnServerGiven {
    /// The address of a server over Streamable HTTP.
    #[schema(max_length = 2048)]
    pub(crate) url: Option<String>,
    /// The headers of each request, which nothing shows again.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// A program of the administrator's list, by its name.
    pub(crate) program: Option<String>,
    /// The variables of the program, which nothing shows again.
    #[serde(default)]
    pub(crate) variables: BTreeMap<String, String>,
    /// Whether turns use it.
    #[serde(default = "enabled")]
    #[schema(default = true)]
    pub(crate) enabled: bool,
}

const fn enabled() -> bool {
    true
}

impl std::fmt::Debug for OwnServerGiven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnServerGiven").finish_non_exhaustive()
    }
}

/// What changes of a server of a user or a team.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EditOwnServer)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnServerEdited {
    /// Whether turns use it.
    pub(crate) enabled: bool,
}

/// An MCP server of a user or a team, without its secrets.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OwnServer)]
pub(crate) struct OwnServerView {
    /// The name among those of the owner.
    name: String,
    /// To whom it belongs: `user:NAME` or `team:NAME`.
    owner: String,
    /// What its tools are called by: `TOOLBOX/TOOL` in patterns and rules.
    toolbox: String,
    /// The address of a server over HTTP.
    url: Option<String>,
    /// The program of the administrator's list.
    program: Option<String>,
    /// The names of its headers or variables.
    secrets: Vec<String>,
    /// Whether turns use it.
    enabled: bool,
    /// Whether the requester has signed in there by OAuth; `null` for a server without sign-ins, and where that was not asked.
    signed_in: Option<bool>,
}

impl OwnServerView {
    /// The same, and whether the requester has signed in there.
    pub(crate) const fn with_sign_in(mut self, signed_in: bool) -> Self {
        self.signed_in = Some(signed_in);
        self
    }
}

impl From<&OwnServer> for OwnServerView {
    fn from(server: &OwnServer) -> Self {
        let toolbox = server.toolbox().map(|id| id.to_string());
        Self {
            name: server.name.to_string(),
            owner: server.owner.to_string(),
            toolbox: toolbox.unwrap_or_default(),
            url: server.endpoint.url().map(str::to_owned),
            program: server.endpoint.program().map(str::to_owned),
            secrets: server.secrets.iter().map(ToString::to_string).collect(),
            enabled: !server.is_disabled,
            signed_in: None,
        }
    }
}

/// The servers of a user and its team, or of one of them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OwnServers)]
pub(crate) struct OwnServerList {
    /// The servers, by owner and name.
    pub(crate) servers: Vec<OwnServerView>,
}

/// How a sign-in at a server of a user or a team begins.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = BeginSignIn)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SignInStart {
    /// Where a program of the requester waits for the browser, on its own machine, such as
    /// `http://127.0.0.1:8765/callback`; without it, the browser comes back to the gateway's page.
    pub(crate) redirect_uri: Option<String>,
}

/// A sign-in that has begun.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BegunSignIn)]
pub(crate) struct SignInBegun {
    /// The address to open in a browser.
    url: String,
    /// The scope that is asked for, if one is.
    scope: Option<String>,
    /// Until when it can be ended.
    #[schema(format = DateTime)]
    expires_at: String,
}

impl From<BegunSignIn> for SignInBegun {
    fn from(begun: BegunSignIn) -> Self {
        Self {
            url: begun.url,
            scope: begun.scope,
            expires_at: begun.expires.to_rfc3339(),
        }
    }
}

/// The answer to a sign-in.
#[derive(Deserialize, ToSchema)]
#[schema(as = FinishSignIn)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignInAnswer {
    /// The whole address to which the browser came back, with `code` and `state`.
    #[schema(max_length = 16384)]
    pub(crate) redirect: String,
}

impl std::fmt::Debug for SignInAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignInAnswer").finish_non_exhaustive()
    }
}

/// The sign-in of a user at a server of a user or a team, without its tokens.
#[derive(Debug, Serialize)]
pub(crate) struct SignInView {
    /// The name of the server among those of its owner.
    server: String,
    /// To whom the server belongs: `user:NAME` or `team:NAME`.
    owner: String,
    user: String,
    /// Whether the user has not confirmed it yet.
    pending: bool,
}

impl From<&SignIn> for SignInView {
    fn from(sign_in: &SignIn) -> Self {
        Self {
            server: sign_in.server.to_string(),
            owner: sign_in.owner.to_string(),
            user: sign_in.user.to_string(),
            pending: sign_in.is_pending,
        }
    }
}

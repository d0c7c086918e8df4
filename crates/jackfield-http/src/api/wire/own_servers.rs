//! Wire types of the servers of users and teams.

use std::collections::BTreeMap;

use jackfield_domain::directory::OwnServer;
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

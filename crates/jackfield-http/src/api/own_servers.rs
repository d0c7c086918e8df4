//! The MCP servers of users and teams: each user has and sees its own and those of its team, and changes its own; admins
//! change all. Nothing shows a secret again.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use http::StatusCode;
use http::request::Parts;
use jackfield_domain::directory::{EntryName, OwnEndpoint, OwnServer, ServerOwner};
use jackfield_engine::{ClientDirectory, Credential};
use jackfield_gateway::{Gateway, Principal};
use serde::Deserialize;

use super::directory::{author, directory, own_user};
use super::extract::{JsonBody, NamePath, Parameters, Requester};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::own_servers::{OwnServerEdited, OwnServerGiven, OwnServerList, OwnServerView};

/// Whose servers they are; the requester's without one.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OwnerParameters {
    /// This team's. Its users see them, and admins change them.
    team: Option<String>,
    /// This user's: for admins.
    user: Option<String>,
}

/// Lists the servers of the requester and its team, or those of one owner.
#[utoipa::path(
    get, path = "/own-servers", tag = "users", operation_id = "list_own_servers", params(OwnerParameters),
    responses((status = 200, description = "The servers, without their secrets.", body = OwnServerList), Problems)
)]
pub(crate) async fn own_servers(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(of): Parameters<OwnerParameters>,
) -> Result<Json<OwnServerList>, ProblemDetails> {
    let directory = directory(&gateway)?;
    let owners = match named(&of)? {
        Some(owner) => {
            check_see(&directory, &client, &owner).await?;
            vec![owner]
        }
        None => {
            let user = user(&client)?;
            let team = directory.user(&user).await?.team;
            let mut owners = vec![ServerOwner::User(user)];
            owners.extend(team.map(ServerOwner::Team));
            owners
        }
    };
    let mut servers = Vec::new();
    for owner in &owners {
        for (server, _) in directory.servers(owner).await? {
            let view = OwnServerView::from(&server);
            let user = own_user(&client).filter(|_| server.sign_in_address().is_some());
            servers.push(match user {
                Some(user) => view.with_sign_in(directory.is_signed_in(&user, &server).await?),
                None => view,
            });
        }
    }
    Ok(Json(OwnServerList { servers }))
}

/// Sets a server of the requester, or by an admin of another owner, in place of an earlier one of the name. Turns of its
/// owner have its tools from then on.
#[utoipa::path(
    put, path = "/own-servers/{name}", tag = "users", operation_id = "set_own_server",
    params(("name" = String, Path), OwnerParameters), request_body = OwnServerGiven,
    responses((status = 200, description = "The server, without its secrets.", body = OwnServerView), Problems)
)]
pub(crate) async fn set_own_server(
    OwnServerPath {
        client,
        name,
        owner,
    }: OwnServerPath,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<OwnServerGiven>,
) -> Result<Json<OwnServerView>, ProblemDetails> {
    let OwnServerGiven {
        url,
        headers,
        program,
        variables,
        enabled,
    } = value;
    let (endpoint, secrets) = match (url, program) {
        (Some(url), None) if variables.is_empty() => (OwnEndpoint::Http(url.into()), headers),
        (None, Some(program)) if headers.is_empty() => {
            (OwnEndpoint::Program(program.into()), variables)
        }
        _ => {
            let why = "either `url`, with or without `headers`, or `program`, with or without `variables`, is expected";
            return Err(ProblemDetails::field("", why));
        }
    };
    let server = OwnServer {
        endpoint,
        is_disabled: !enabled,
        is_removed: false,
        name: name.into(),
        owner,
        secrets: Vec::new(),
    };
    let secrets = secrets.into_iter();
    let secrets: Vec<_> = secrets
        .map(|(name, value)| (name.into(), Credential::new(value)))
        .collect();
    let (by, directory) = (author(&client), directory(&gateway)?);
    let set = directory.set_server(&by, server, &secrets).await?;
    Ok(Json((&set).into()))
}

/// Enables or disables a server of the requester, or by an admin of another owner.
#[utoipa::path(
    patch, path = "/own-servers/{name}", tag = "users", operation_id = "edit_own_server",
    params(("name" = String, Path), OwnerParameters), request_body = OwnServerEdited,
    responses((status = 200, description = "The server, without its secrets.", body = OwnServerView), Problems)
)]
pub(crate) async fn edit_own_server(
    OwnServerPath {
        client,
        name,
        owner,
    }: OwnServerPath,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<OwnServerEdited>,
) -> Result<Json<OwnServerView>, ProblemDetails> {
    let (by, directory) = (author(&client), directory(&gateway)?);
    let switched = directory.switch_server(&by, &owner, &name, !value.enabled);
    Ok(Json((&switched.await?).into()))
}

/// Takes a server of the requester, or by an admin of another owner, away, and deletes its secrets.
#[utoipa::path(
    delete, path = "/own-servers/{name}", tag = "users", operation_id = "remove_own_server",
    params(("name" = String, Path), OwnerParameters),
    responses((status = 204, description = "It is gone."), Problems)
)]
pub(crate) async fn remove_own_server(
    OwnServerPath {
        client,
        name,
        owner,
    }: OwnServerPath,
    State(gateway): State<Gateway>,
) -> Result<StatusCode, ProblemDetails> {
    let (by, directory) = (author(&client), directory(&gateway)?);
    directory.remove_server(&by, &owner, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The server in the path, of an owner whose servers the client may change. Its existence is checked later, by the lookup.
#[derive(Clone, Debug)]
pub(crate) struct OwnServerPath {
    client: Arc<Principal>,
    name: String,
    owner: ServerOwner,
}

impl FromRequestParts<Gateway> for OwnServerPath {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        let Requester(client) = Requester::from_request_parts(parts, gateway).await?;
        let NamePath(name) = NamePath::from_request_parts(parts, gateway).await?;
        let Parameters(of) = Parameters::from_request_parts(parts, gateway).await?;
        let owner = match named(&of)? {
            Some(owner) => owner,
            None => ServerOwner::User(user(&client)?),
        };
        check_change(&client, &owner)?;
        Ok(Self {
            client,
            name,
            owner,
        })
    }
}

/// The user of the requester, who has a key of the directory.
pub(super) fn user(client: &Principal) -> Result<EntryName, ProblemDetails> {
    own_user(client).ok_or_else(|| {
        let detail =
            "only users have servers of their own: ask with a key of `jackfield keys create`";
        ProblemDetails::new(ProblemKind::Forbidden, detail)
    })
}

fn named(of: &OwnerParameters) -> Result<Option<ServerOwner>, ProblemDetails> {
    let name = |parameter, text: &str| {
        let name = EntryName::parse(text);
        name.map_err(|error| ProblemDetails::parameter(parameter, error.to_string()))
    };
    match (&of.team, &of.user) {
        (Some(_), Some(_)) => {
            let why = "there is one owner: a user or a team";
            Err(ProblemDetails::parameter("team", why))
        }
        (Some(team), None) => Ok(Some(ServerOwner::Team(name("team", team)?))),
        (None, Some(user)) => Ok(Some(ServerOwner::User(name("user", user)?))),
        (None, None) => Ok(None),
    }
}

/// Refuses to change what belongs to another owner.
fn check_change(client: &Principal, owner: &ServerOwner) -> Result<(), ProblemDetails> {
    let is_own = own_user(client).map(ServerOwner::User).as_ref() == Some(owner);
    if client.admin || is_own {
        return Ok(());
    }
    let detail = "servers of other users and of teams are for admins";
    Err(ProblemDetails::new(ProblemKind::Forbidden, detail))
}

/// Refuses to show what belongs to another owner, except to users of the team that has it.
async fn check_see(
    directory: &ClientDirectory<'_>,
    client: &Principal,
    owner: &ServerOwner,
) -> Result<(), ProblemDetails> {
    if let (ServerOwner::Team(team), Some(user)) = (owner, own_user(client))
        && directory.user(&user).await?.team.as_ref() == Some(team)
    {
        return Ok(());
    }
    check_change(client, owner)
}

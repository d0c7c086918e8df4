//! The sign-ins of the requester at its own servers and those of its team, by OAuth. Each user signs in for itself, also
//! at the server of a team, and nothing shows a token.

use axum::Json;
use axum::extract::State;
use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, StatusCode, Uri};
use jackfield_domain::directory::{EntryName, ServerOwner};
use jackfield_gateway::{Gateway, is_this_machine};
use serde::Deserialize;

use super::directory::{author, directory};
use super::extract::{JsonBody, NamePath, OptionalJsonBody, Parameters, Requester};
use super::own_servers::user;
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::own_servers::{OwnServerView, SignInAnswer, SignInBegun, SignInStart};

/// Whose server it is; the requester's own without one.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TeamParameter {
    /// That of the requester's team, of this name.
    team: Option<String>,
}

/// Begins the sign-in of the requester at a server. The requester opens the address of the answer in a browser, which
/// comes back to the gateway's page, and that page ends the sign-in.
#[utoipa::path(
    post, path = "/own-servers/{name}/sign-in", tag = "users", operation_id = "begin_sign_in",
    params(("name" = String, Path), TeamParameter), request_body = Option<SignInStart>,
    responses((status = 200, description = "Where to sign in.", body = SignInBegun), Problems)
)]
pub(crate) async fn begin_sign_in(
    Requester(client): Requester,
    NamePath(name): NamePath,
    Parameters(of): Parameters<TeamParameter>,
    State(gateway): State<Gateway>,
    headers: HeaderMap,
    OptionalJsonBody(start): OptionalJsonBody<SignInStart>,
) -> Result<Json<SignInBegun>, ProblemDetails> {
    let user = user(&client)?;
    let owner = owner(&user, &of)?;
    let redirect = match start.redirect_uri {
        Some(redirect) => check_redirect(redirect)?,
        None => page(&gateway, &headers)?,
    };
    let (by, directory) = (author(&client), directory(&gateway)?);
    let begun = directory.begin_sign_in(&by, &user, (&owner, &name), &redirect);
    Ok(Json(begun.await?.into()))
}

/// Ends a sign-in of the requester with the address to which the browser came back. It is used once.
#[utoipa::path(
    post, path = "/sign-ins", tag = "users", operation_id = "finish_sign_in", request_body = SignInAnswer,
    responses((status = 200, description = "The server that it is at.", body = OwnServerView), Problems)
)]
pub(crate) async fn finish_sign_in(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<SignInAnswer>,
) -> Result<Json<OwnServerView>, ProblemDetails> {
    let user = user(&client)?;
    if value.redirect.len() > MAX_REDIRECT {
        let why = format!("an address has at most {MAX_REDIRECT} bytes");
        return Err(ProblemDetails::field("/redirect", why));
    }
    let (by, directory) = (author(&client), directory(&gateway)?);
    let finished = directory.finish_sign_in(&by, &user, &value.redirect);
    Ok(Json(
        OwnServerView::from(&finished.await?).with_sign_in(true),
    ))
}

/// Takes the sign-in of the requester at a server away, and deletes its tokens. They are revoked where the authorization
/// server does that.
#[utoipa::path(
    delete, path = "/own-servers/{name}/sign-in", tag = "users", operation_id = "end_sign_in",
    params(("name" = String, Path), TeamParameter),
    responses((status = 204, description = "It is gone."), Problems)
)]
pub(crate) async fn end_sign_in(
    Requester(client): Requester,
    NamePath(name): NamePath,
    Parameters(of): Parameters<TeamParameter>,
    State(gateway): State<Gateway>,
) -> Result<StatusCode, ProblemDetails> {
    let user = user(&client)?;
    let owner = owner(&user, &of)?;
    let (by, directory) = (author(&client), directory(&gateway)?);
    let ended = directory.end_sign_in(&by, &user, (&owner, &name));
    ended.await?;
    Ok(StatusCode::NO_CONTENT)
}

fn owner(user: &EntryName, of: &TeamParameter) -> Result<ServerOwner, ProblemDetails> {
    match &of.team {
        None => Ok(ServerOwner::User(user.clone())),
        Some(team) => match EntryName::parse(team) {
            Ok(team) => Ok(ServerOwner::Team(team)),
            Err(error) => Err(ProblemDetails::parameter("team", error.to_string())),
        },
    }
}

/// A redirect that a program of the requester waits at: on the requester's own machine (RFC 8252, section 7.3).
fn check_redirect(text: String) -> Result<String, ProblemDetails> {
    let uri = text.parse::<Uri>().ok();
    let is_loopback = uri.is_some_and(|uri| {
        let place = uri.authority().map(Authority::as_str);
        uri.scheme_str() == Some("http") && place.is_some_and(is_this_machine)
    });
    if is_loopback && text.len() <= MAX_REDIRECT && !text.contains('#') {
        return Ok(text);
    }
    let why =
        "this has to be an address of your own machine, such as `http://127.0.0.1:8765/callback`";
    Err(ProblemDetails::field("/redirect_uri", why))
}

/// The gateway's page, as the browser of the requester reaches it.
fn page(gateway: &Gateway, headers: &HeaderMap) -> Result<String, ProblemDetails> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = gateway.browser_origin(host).ok_or_else(|| {
        let detail = "this gateway does not know where browsers come back to: its administrator sets \
                      `serve.public_url`, or a program of yours waits at a `redirect_uri`";
        ProblemDetails::new(ProblemKind::Conflict, detail)
    })?;
    Ok(format!("{origin}/"))
}

/// The longest address of a redirect, in bytes.
const MAX_REDIRECT: usize = 16 << 10;

//! Logins of browsers: a page shows an API key once, or its person signs in elsewhere (`sign_in`), and it has a cookie from
//! then on that its scripts cannot read.
//!
//! A browser sends the cookie by itself, also when another page asks it to. So a request by the cookie has to come
//! from a page of this gateway.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{HOST, ORIGIN, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use jackfield_export::values;
use jackfield_gateway::{BrowserLogin, Gateway, LOGIN_LIFETIME, Principal};
use serde::Serialize;
use utoipa::ToSchema;

use super::directory::own_user;
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::directory::QuotaView;
use crate::auth;
use crate::auth::cookies::{self, Cookie};

/// How it stands with the login of a browser.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Login)]
pub(crate) struct LoginView {
    /// Whether requests need a key or a login.
    key_needed: bool,
    /// Whether this request had what is needed.
    signed_in: bool,
    /// The name of the token.
    name: Option<String>,
    /// The user, if the key or the login is one of a user.
    user: Option<String>,
    /// Whether it sees the sessions of all tokens.
    admin: bool,
    /// Whether it may neither list nor answer what waits for a person.
    no_approvals: bool,
    /// What the key, its user and its team may use, those that have limits.
    limits: Vec<LimitsView>,
    /// Whether the page needs its link, because no key is needed: `jackfield page` prints it.
    link_needed: bool,
    /// Whether the gateway is open, and nobody could administer it once it needs a key: the first key has to be an
    /// admin's.
    admin_missing: bool,
    /// How long the login lasts from now on, if the request had one.
    remaining_ms: Option<u64>,
    /// The name of the identity provider at which people can sign in, by `GET /login/oidc`, if there is one.
    oidc: Option<String>,
}

/// What a key, a user or a team may use.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Limits)]
pub(crate) struct LimitsView {
    /// Whose limits they are: `key`, `user` or `team`.
    of: String,
    /// The name, or the id of the key.
    name: String,
    quota: QuotaView,
}

/// The limits of a client.
fn limits(client: &Principal) -> Vec<LimitsView> {
    let quotas = client.quotas.iter().filter_map(|(meter, quota)| {
        let (of, name) = meter.split_once(':')?;
        Some(LimitsView {
            of: of.to_owned(),
            name: name.to_owned(),
            quota: (*quota).into(),
        })
    });
    quotas.collect()
}

/// Tells whether a browser is signed in. Needs no token.
#[utoipa::path(
    get, path = "/login", tag = "login", operation_id = "get_login",
    responses((status = 200, description = "How it stands.", body = LoginView), Problems)
)]
pub(crate) async fn get(
    State(gateway): State<Gateway>,
    parts: Parts,
) -> Result<Json<LoginView>, ProblemDetails> {
    let is_open = gateway.is_open().await?;
    let link_needed = is_open
        && cookies::is_browsers(&parts.headers)
        && !cookies::has_page_cookie(&gateway, &parts.headers);
    let client = match authenticate(&gateway, &parts).await {
        Ok(_) if link_needed => None,
        Ok(client) => Some(client),
        Err(problem) if problem.is_refusal() => None,
        Err(problem) => return Err(problem),
    };
    let by_cookie = auth::key(&parts.headers).is_none() && !is_open;
    let login = match client.is_some() && by_cookie {
        true => find(&gateway, &parts.headers).await?,
        false => None,
    };
    let remaining = login.map(|login| login.remaining);
    Ok(Json(LoginView {
        key_needed: !is_open,
        signed_in: client.is_some(),
        name: client.as_ref().map(|client| client.name.to_string()),
        user: client.as_deref().and_then(user),
        limits: client.as_deref().map(limits).unwrap_or_default(),
        admin: client.as_ref().is_some_and(|client| client.admin),
        no_approvals: client.is_some_and(|client| client.has_no_approvals),
        link_needed,
        admin_missing: is_open && lacks_admins(&gateway),
        remaining_ms: remaining.map(values::millis),
        oidc: provider(&gateway),
    }))
}

/// Signs a browser in: who shows a token here gets a cookie that stands for it, for twelve hours.
/// It is for the own page of the gateway, whose scripts cannot read it.
/// Where no token is needed, the token of the page's link is shown here.
#[utoipa::path(
    post, path = "/login", tag = "login", operation_id = "log_in", security(("token" = [])),
    responses((status = 200, description = "It is signed in.", body = LoginView), Problems)
)]
pub(crate) async fn post(
    State(gateway): State<Gateway>,
    Parts {
        extensions,
        headers,
        ..
    }: Parts,
) -> Result<Response, ProblemDetails> {
    // First: once this has said no, `authenticate` accepts no request without a key.
    let is_open = gateway.is_open().await?;
    let client = auth::authenticate(&gateway, &headers, &extensions).await?;
    let view = LoginView {
        key_needed: !is_open,
        signed_in: true,
        name: Some(client.name.to_string()),
        user: user(&client),
        admin: client.admin,
        no_approvals: client.has_no_approvals,
        limits: limits(&client),
        link_needed: false,
        admin_missing: is_open && lacks_admins(&gateway),
        remaining_ms: (!is_open).then(|| values::millis(LOGIN_LIFETIME)),
        oidc: provider(&gateway),
    };
    let token = auth::key(&headers);
    let cookie = if !is_open {
        Some(sign_in(&gateway, &client, &headers).await?)
    } else if gateway.accepts_page(token) {
        let (seconds, is_secure) = (PAGE_LIFETIME.as_secs(), is_secure(&gateway, &headers));
        let needed = gateway.config().page_token.as_ref().and(token);
        needed.map(|token| cookie(cookies::PAGE, token, seconds, is_secure))
    } else {
        let detail = "this is not the token of the page's link: `jackfield page` prints it";
        return Err(ProblemDetails::new(ProblemKind::Unauthenticated, detail));
    };
    let mut response = Json(view).into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Signs a browser in as this client; the header with its cookie.
pub(super) async fn sign_in(
    gateway: &Gateway,
    client: &Principal,
    headers: &HeaderMap,
) -> Result<HeaderValue, ProblemDetails> {
    let value = gateway.log_in(client).await?;
    let seconds = LOGIN_LIFETIME.as_secs();
    let is_secure = is_secure(gateway, headers);
    Ok(cookie(COOKIE_NAME, &value, seconds, is_secure))
}

/// Whether no person can sign in at a provider as an admin.
fn lacks_admins(gateway: &Gateway) -> bool {
    gateway
        .sign_in()
        .is_none_or(|config| config.admins.is_empty())
}

/// Signs a browser out: its cookie is worth nothing any more. The browser forgets it even if the gateway cannot.
#[utoipa::path(
    delete, path = "/login", tag = "login", operation_id = "log_out",
    responses((status = 204, description = "It is signed out."), Problems)
)]
pub(crate) async fn delete(
    State(gateway): State<Gateway>,
    parts: Parts,
) -> Result<Response, ProblemDetails> {
    check_source(&parts)?;
    let ended = match value(&gateway, &parts.headers) {
        Some(value) => gateway.log_out(value).await,
        None => Ok(()),
    };
    let mut response = match ended {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => ProblemDetails::from(error).into_response(),
    };
    let is_secure = is_secure(&gateway, &parts.headers);
    let cookie = cookie(COOKIE_NAME, "", 0, is_secure);
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// The client of a request: by its key, or by the cookie of a login.
///
/// # Errors
///
/// It has neither, or a page of another origin sent it with the cookie.
pub(crate) async fn authenticate(
    gateway: &Gateway,
    parts: &Parts,
) -> Result<Arc<Principal>, ProblemDetails> {
    let by_key = auth::key(&parts.headers).is_some() || gateway.is_open().await?;
    if !by_key && let Some(login) = find(gateway, &parts.headers).await? {
        check_source(parts)?;
        let client = gateway.client_of(login).await?;
        auth::is_known(&client, &parts.extensions);
        return Ok(client);
    }
    Ok(auth::authenticate(gateway, &parts.headers, &parts.extensions).await?)
}

/// Refuses a request that a page of another origin sent. Browsers say so in a header that no page can set.
pub(super) fn check_source(parts: &Parts) -> Result<(), ProblemDetails> {
    let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().ok());
    let is_own = match (header("sec-fetch-site"), header(ORIGIN.as_str())) {
        (Some(site), _) => {
            site == Some("same-origin") || (site == Some("none") && parts.method.is_safe())
        }
        (None, Some(origin)) => {
            let host = origin.and_then(|origin| Some(origin.split_once("://")?.1));
            host.is_some() && Some(host) == header(HOST.as_str())
        }
        (None, None) => parts.method.is_safe(),
    };
    if is_own {
        return Ok(());
    }
    let detail =
        "a login serves only the gateway's own page: send a token in the header `Authorization`";
    Err(ProblemDetails::new(ProblemKind::Forbidden, detail))
}

/// The login of a request.
async fn find(
    gateway: &Gateway,
    headers: &HeaderMap,
) -> Result<Option<BrowserLogin>, ProblemDetails> {
    match value(gateway, headers) {
        Some(value) => Ok(gateway.find_login(value).await?),
        None => Ok(None),
    }
}

/// The value of the cookie of a login.
fn value<'h>(gateway: &Gateway, headers: &'h HeaderMap) -> Option<&'h str> {
    cookies::value(headers, COOKIE_NAME, gateway.is_encrypted())
}

/// The header that sets a cookie of the page.
pub(super) fn cookie(name: &str, value: &str, seconds: u64, is_secure: bool) -> HeaderValue {
    let cookie = Cookie {
        is_secure,
        name,
        path: super::document::ROOT,
        same_site: "Strict",
        seconds,
        value,
    };
    cookie.header()
}

/// Whether the page that sent a request came over TLS.
fn is_secure(gateway: &Gateway, headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
    gateway.is_encrypted() || origin.is_some_and(|origin| origin.starts_with(b"https://"))
}

/// The name of the client's user, if it has one.
fn user(client: &Principal) -> Option<String> {
    own_user(client).map(|user| user.to_string())
}

/// What people call the identity provider, if there is one.
fn provider(gateway: &Gateway) -> Option<String> {
    gateway.sign_in().map(|config| config.label.to_string())
}

pub(crate) const COOKIE_NAME: &str = "jackfield_login";
/// How long a browser keeps the cookie of a page that came by its link.
const PAGE_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

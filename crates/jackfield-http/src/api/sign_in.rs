//! Sign-in of people at an identity provider: a browser is sent there, and comes back with an answer.
//!
//! These addresses are for the browser itself, not for scripts: both answer with another address. A failure is shown by
//! the page, to which the browser is sent.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, HOST, LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use jackfield_gateway::{Gateway, LOGIN_LIFETIME, SIGN_IN_LIFETIME, SignInFailure};

use super::login;
use super::problem::{ProblemDetails, ProblemKind, Problems};
use crate::auth::cookies::{self, Cookie};

/// Sends a browser to the identity provider, to sign in.
#[utoipa::path(
    get, path = "/login/oidc", tag = "login", operation_id = "begin_login",
    responses((status = 303, description = "The address of the provider, or of the page with what went wrong."), Problems)
)]
pub(crate) async fn begin(
    State(gateway): State<Gateway>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ProblemDetails> {
    check_configured(&gateway)?;
    let host = host(&headers, &uri);
    let started = gateway.begin_sign_in(host, &callback()).await;
    Ok(match started {
        Ok(started) => {
            let mut response = to(&started.url);
            let seconds = SIGN_IN_LIFETIME.as_secs();
            set_cookie(
                &mut response,
                &started.cookie,
                seconds,
                started.is_encrypted,
            );
            response
        }
        Err(failure) => failed(failure),
    })
}

/// Takes the answer of the identity provider, which a browser brings, and sends the browser to the page.
#[utoipa::path(
    get, path = "/login/oidc/callback", tag = "login", operation_id = "end_login",
    responses((status = 303, description = "The address of the page; the browser is signed in, or the page says what went wrong."), Problems)
)]
pub(crate) async fn end(
    State(gateway): State<Gateway>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ProblemDetails> {
    check_configured(&gateway)?;
    let cookie = cookies::value(&headers, COOKIE_NAME, gateway.is_encrypted());
    let answer = uri.query().unwrap_or_default();
    let place = (host(&headers, &uri), &*callback());
    let ended = gateway.end_sign_in(cookie, place, answer).await;
    let mut response = match &ended {
        Ok(_) => to("/"),
        Err(failure) => failed(*failure),
    };
    set_cookie(&mut response, "", 0, gateway.is_encrypted());
    if let Ok(ended) = ended {
        let seconds = LOGIN_LIFETIME.as_secs();
        let cookie = login::cookie(
            login::COOKIE_NAME,
            &ended.login,
            seconds,
            ended.is_encrypted,
        );
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The host to which a browser came. It stands in the address of a request, too, where a proxy asks so.
fn host<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.or_else(|| uri.authority().map(http::uri::Authority::as_str))
}

/// The address to which the provider sends a browser back, on this gateway.
fn callback() -> String {
    format!("{}/login/oidc/callback", super::document::ROOT)
}

fn check_configured(gateway: &Gateway) -> Result<(), ProblemDetails> {
    if gateway.sign_in().is_some() {
        return Ok(());
    }
    let detail = "this gateway has no identity provider: [serve.oidc] names one";
    Err(ProblemDetails::new(ProblemKind::NotFound, detail))
}

/// The page, which says in words what went wrong.
fn failed(failure: SignInFailure) -> Response {
    to(&format!("/#/sign-in/{}", failure.as_str()))
}

/// Sends the browser to another address, which learns nothing of this one.
fn to(address: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if let Ok(address) = HeaderValue::from_str(address) {
        headers.insert(LOCATION, address);
    }
    response
}

/// Sets the cookie of a sign-in that has begun. The browser sends it when it comes back from the provider, which is
/// another site.
fn set_cookie(response: &mut Response, value: &str, seconds: u64, is_secure: bool) {
    let cookie = Cookie {
        is_secure,
        name: COOKIE_NAME,
        path: &callback(),
        same_site: "Lax",
        seconds,
        value,
    };
    response.headers_mut().append(SET_COOKIE, cookie.header());
}

const COOKIE_NAME: &str = "jackfield_sign_in";

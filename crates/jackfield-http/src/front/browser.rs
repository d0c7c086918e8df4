//! Which requests of web pages are answered where no token is required, and by which cookie they are known.
//!
//! A page of any site could have a browser send requests to this address, also under a host name that the site controls
//! (DNS rebinding), and a page of another program on this machine could, too. So a page is answered only at a name of this
//! machine, from the gateway's own origin, with JSON, and with the cookie that the link of `jackfield page` brings.
//! Programs that are no browsers send neither `Origin` nor `Sec-Fetch-Site`, and need nothing of this.

use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, Method, Uri};
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_gateway::{Gateway, is_this_machine};

use crate::auth::cookies::{FETCH_SITE, has_page_cookie, is_browsers};
use crate::refusal::HttpRefusal;

/// The head of a request. Its body is not looked at.
pub(crate) struct Head<'r> {
    pub(crate) headers: &'r HeaderMap,
    pub(crate) method: &'r Method,
    pub(crate) uri: &'r Uri,
}

/// Refuses requests that name two hosts, and those of foreign web pages where no token is required.
pub(crate) async fn check(gateway: &Gateway, request: Head<'_>) -> Result<(), HttpRefusal> {
    let headers = request.headers;
    let host = host(&request)?;
    let is_foreign = host.is_some_and(|host| !is_this_machine(host));
    let kind = simple_type(headers);
    let is_browsers = is_browsers(headers);
    let is_text = kind == Some("text/plain");
    if !(is_foreign || is_browsers || is_text) || !gateway.is_open().await? {
        return Ok(());
    }
    if is_foreign {
        return Err(forbidden("the header `host` does not name this machine").into());
    }
    if let Some(kind) = kind.filter(|_| is_browsers || is_text) {
        let message =
            format!("a body of `{kind}` is not read: send `content-type: application/json`");
        return Err(ServeError::new(ServeErrorKind::UnsupportedEncoding, message).into());
    }
    let path = request.uri.path();
    let is_file = request.method.is_safe() && is_file(path);
    if is_file {
        return Ok(());
    }
    if is_browsers && !is_own(&request, host) {
        return Err(forbidden("the request is one of another web page").into());
    }
    if is_browsers && path != LOGIN && !has_page_cookie(gateway, headers) {
        return Err(ServeError::new(ServeErrorKind::Unauthenticated, NEEDS_LINK).into());
    }
    Ok(())
}

/// The only host that a request names, if it names one.
fn host<'r>(request: &Head<'r>) -> Result<Option<&'r str>, ServeError> {
    let mut hosts = request.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let named = first.map(|host| host.to_str().unwrap_or_default());
    let of_address = request.uri.authority().map(http::uri::Authority::as_str);
    let is_same = match (named, of_address) {
        (Some(named), Some(of_address)) => named.eq_ignore_ascii_case(of_address),
        (_, _) => true,
    };
    if second.is_some() || !is_same {
        let message = "the request names two hosts";
        return Err(ServeError::new(ServeErrorKind::Invalid, message));
    }
    Ok(of_address.or(named))
}

/// The type of a body that any page can send without asking.
fn simple_type(headers: &HeaderMap) -> Option<&'static str> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = value.split(';').next().unwrap_or_default().trim();
    let mut simple = SIMPLE.iter();
    simple
        .find(|simple| simple.eq_ignore_ascii_case(kind))
        .copied()
}

/// Whether a path is that of a file, which says nothing of this gateway.
fn is_file(path: &str) -> bool {
    path == "/" || path.starts_with("/ui/") || DOCUMENTS.contains(&path)
}

/// Whether the page of this host sent a request, or a person who typed its address.
fn is_own(request: &Head<'_>, host: Option<&str>) -> bool {
    let header = |name: &str| {
        let value = request.headers.get(name);
        value.map(|value| value.to_str().unwrap_or_default())
    };
    let is_own_site = match header(FETCH_SITE) {
        None | Some("same-origin") => true,
        Some("none") => request.method.is_safe(),
        Some(_) => false,
    };
    let mut origins = request.headers.get_all(ORIGIN).iter();
    let is_own_origin = origins.all(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        let of = origin
            .split_once("://")
            .filter(|(scheme, _)| ["http", "https"].contains(scheme));
        of.is_some_and(|(_, of)| Some(of) == host)
    });
    is_own_site && is_own_origin
}

fn forbidden(why: &str) -> ServeError {
    let message = format!(
        "{why}: without tokens, the gateway answers only programs on this machine and its own page, at `localhost`, \
         `127.0.0.1` and `[::1]`; add a token under [serve.tokens], or a key with `jackfield keys create`, for any other \
         name or page"
    );
    ServeError::new(ServeErrorKind::Forbidden, message)
}

/// What is the same for everybody.
const DOCUMENTS: [&str; 6] = [
    "/api/v1/docs",
    "/api/v1/docs/page.css",
    "/api/v1/docs/page.js",
    "/api/v1/openapi.json",
    "/healthz",
    "/readyz",
];
/// Where the page gets its cookie.
const LOGIN: &str = "/api/v1/login";
const NEEDS_LINK: &str = "a page needs the link that `jackfield serve` prints on a terminal, and `jackfield page` prints again";
/// The types of bodies that a browser sends to any site without asking it first.
const SIMPLE: [&str; 3] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
];

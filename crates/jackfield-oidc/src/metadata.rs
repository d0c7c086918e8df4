//! Where the provider has what (OpenID Connect Discovery 1.0, section 4, read 2026-11-27).

use jackfield_ports::identity_provider::IdentityError;
use jackfield_provider_kit::base_url::is_this_machine;
use serde_json::Value;
use thiserror::Error;
use url::Url;

use crate::fetch::{Fetched, ProviderHttp, shown};

/// What a sign-in needs of the provider's metadata.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) authorization_endpoint: Url,
    pub(crate) jwks_uri: Url,
    /// Whether its redirects name it (RFC 9207).
    pub(crate) sends_issuer: bool,
    /// Whether it takes the secret of a client in a form alone.
    pub(crate) secret_in_form: bool,
    pub(crate) token_endpoint: Url,
    pub(crate) userinfo_endpoint: Option<Url>,
}

/// The text is no address of an issuer.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error(
    "an issuer is an address such as `https://accounts.example.com`: encrypted unless it is on this machine, and without user, query and fragment"
)]
pub struct InvalidIssuer;

/// Checks the address of an issuer.
///
/// # Errors
///
/// [`InvalidIssuer`].
pub fn check_issuer(issuer: &str) -> Result<Url, InvalidIssuer> {
    let url = Url::parse(issuer).map_err(|_| InvalidIssuer)?;
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(&url));
    let has_more = url.query().is_some() || url.fragment().is_some() || has_user(&url);
    if !is_safe || has_more || url.host().is_none() {
        return Err(InvalidIssuer);
    }
    Ok(url)
}

pub(crate) async fn fetch(
    http: &ProviderHttp,
    issuer: &str,
    base: &Url,
) -> Result<Metadata, IdentityError> {
    let mut place = base.clone();
    let path = base.path().trim_end_matches('/');
    place.set_path(&format!("{path}/.well-known/openid-configuration"));
    let fetched = http.get(&place, None).await?;
    if !fetched.status.is_success() {
        let status = fetched.status;
        let why = format!("{place} answers {status}");
        return Err(IdentityError::Unavailable(why));
    }
    let found = fetched.text("issuer").unwrap_or_default();
    if found != issuer {
        let found = shown(found);
        let why = format!("{place} is about the issuer `{found}`, and not about `{issuer}`");
        return Err(IdentityError::Unavailable(why));
    }
    let needed = |name: &str| {
        let why = || IdentityError::Unavailable(format!("{place} names no usable `{name}`"));
        endpoint(&fetched, name, base).ok_or_else(why)
    };
    let methods = fetched
        .object
        .get("token_endpoint_auth_methods_supported")
        .and_then(Value::as_array);
    let takes = |method: &str| {
        methods.is_some_and(|methods| methods.iter().any(|known| known.as_str() == Some(method)))
    };
    let sends_issuer = fetched
        .object
        .get("authorization_response_iss_parameter_supported");
    Ok(Metadata {
        authorization_endpoint: needed("authorization_endpoint")?,
        jwks_uri: needed("jwks_uri")?,
        sends_issuer: sends_issuer.and_then(Value::as_bool).unwrap_or(false),
        // Without a list, a header is what every provider takes (section 3).
        secret_in_form: takes("client_secret_post") && !takes("client_secret_basic"),
        token_endpoint: needed("token_endpoint")?,
        userinfo_endpoint: endpoint(&fetched, "userinfo_endpoint", base),
    })
}

/// An address of the metadata, to which secrets may be sent.
fn endpoint(fetched: &Fetched, name: &str, issuer: &Url) -> Option<Url> {
    let url = Url::parse(fetched.text(name)?).ok()?;
    let is_plain = url.scheme() == "http" && issuer.scheme() == "http" && is_this_machine(&url);
    let is_safe = url.scheme() == "https" || is_plain;
    (is_safe && url.host().is_some() && !has_user(&url)).then_some(url)
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

//! The metadata of a protected resource and of its authorization server (RFC 9728, RFC 8414, OpenID Connect Discovery
//! 1.0; MCP 2026-07-28, "Authorization", read 2026-11-26).

use http::StatusCode;
use serde_json::Value;
use url::Url;

use super::challenge::Challenge;
use super::fetch::{AuthHttp, Fetched, TELL_OWNER, shown, text};
use super::stored::ClientAuthMethod;
use crate::error::ServerFault;

/// What a server says of itself as a protected resource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Resource {
    /// The issuers of its authorization servers; at least one.
    pub(super) issuers: Vec<String>,
    /// Its identifier, for the parameter `resource`.
    pub(super) resource: String,
    pub(super) scopes: Option<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Issuer {
    pub(super) auth_methods: Vec<ClientAuthMethod>,
    pub(super) authorization_endpoint: Url,
    pub(super) issuer: String,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) scopes: Vec<String>,
    /// Whether its redirects name it (RFC 9207).
    pub(super) sends_issuer: bool,
    /// Whether the id of a client may be the address of a document about it.
    pub(super) takes_documents: bool,
    pub(super) token_endpoint: Url,
}

/// Finds the metadata of the resource: where the challenge says, otherwise at the well-known places.
///
/// # Errors
///
/// There is none that can be used, or it is about another resource.
pub(super) async fn resource(
    http: &AuthHttp,
    server: &Url,
    challenge: Option<&Challenge>,
) -> Result<Resource, ServerFault> {
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let places = match named {
        Some(named) => vec![http.check("metadata", named)?],
        None => well_known(server, "oauth-protected-resource", false),
    };
    for place in &places {
        let fetched = http.get(place).await?;
        if let Some(document) = document(&fetched, place)? {
            return read_resource(&document, server);
        }
    }
    if named.is_some() {
        let reason = "its sign-in failed: the metadata that it names is not there";
        return Err(ServerFault::new(reason, TELL_OWNER));
    }
    // Servers of revision 2025-03-26 are their own authorization servers.
    Ok(Resource {
        issuers: vec![server.origin().ascii_serialization()],
        resource: canonical(server),
        scopes: None,
    })
}

/// The address of a server as the identifier of a resource: without query and fragment, and without a slash that stands
/// for nothing (MCP 2026-07-28, "Canonical Server URI", read 2026-11-26).
#[must_use]
pub fn canonical(server: &Url) -> String {
    let mut server = server.clone();
    server.set_query(None);
    server.set_fragment(None);
    let text = server.as_str();
    if server.path() == "/" {
        text.trim_end_matches('/').to_owned()
    } else {
        text.to_owned()
    }
}

/// Finds the metadata of an authorization server.
///
/// # Errors
///
/// There is none, or it does not have what a sign-in needs.
pub(super) async fn issuer(http: &AuthHttp, issuer: &str) -> Result<Issuer, ServerFault> {
    let base = http.check("authorization server", issuer)?;
    let mut places = well_known(&base, "oauth-authorization-server", true);
    places.extend(well_known(&base, "openid-configuration", true));
    if base.path() != "/" {
        let mut appended = base.clone();
        let path = base.path().trim_end_matches('/');
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        places.push(appended);
    }
    for place in &places {
        let fetched = http.get(place).await?;
        if let Some(document) = document(&fetched, place)? {
            return read_issuer(http, &document, issuer);
        }
    }
    let host = base.host_str().unwrap_or_default();
    Err(ServerFault::new(
        format!("its sign-in failed: {host} publishes no metadata of an authorization server"),
        TELL_OWNER,
    ))
}

/// The well-known places for an address: with its path, and then without it unless that would be another issuer.
#[must_use]
pub fn well_known(base: &Url, name: &str, only_with_path: bool) -> Vec<Url> {
    let path = base.path().trim_end_matches('/');
    let place = |path: &str| {
        let mut place = base.clone();
        place.set_query(None);
        place.set_fragment(None);
        place.set_path(&format!("/.well-known/{name}{path}"));
        place
    };
    let mut places = vec![place(path)];
    if !path.is_empty() && !only_with_path {
        places.push(place(""));
    }
    places
}

/// The document of an answer; `None` if there is none at that place.
fn document(fetched: &Fetched, place: &Url) -> Result<Option<Value>, ServerFault> {
    if fetched.status.is_success() {
        // Servers of pages answer every address with a page.
        return Ok(fetched.object());
    }
    if fetched.status.is_client_error() && fetched.status != StatusCode::TOO_MANY_REQUESTS {
        return Ok(None);
    }
    let (host, status) = (place.host_str().unwrap_or_default(), fetched.status);
    let reason = format!("its sign-in failed: {host} answers {status}");
    Err(ServerFault::new(reason, "try again later"))
}

fn read_resource(document: &Value, server: &Url) -> Result<Resource, ServerFault> {
    let resource = text(document, "resource");
    let resource = resource.ok_or_else(|| {
        let reason = "its sign-in failed: its metadata names no resource";
        ServerFault::new(reason, TELL_OWNER)
    })?;
    if !covers(&resource, server) {
        let other = shown(&resource);
        return Err(ServerFault::new(
            format!("its sign-in failed: its metadata is about another server, `{other}`"),
            "check its `url`; if that is right, tell the owner of the server",
        ));
    }
    let issuers: Vec<String> = texts(document, "authorization_servers").unwrap_or_default();
    if issuers.is_empty() {
        let reason = "its sign-in failed: its metadata names no authorization server";
        return Err(ServerFault::new(reason, TELL_OWNER));
    }
    let scopes = texts(document, "scopes_supported");
    let scopes = scopes.filter(|scopes| !scopes.is_empty());
    Ok(Resource {
        issuers,
        resource,
        scopes: scopes.map(|scopes| scopes.join(" ")),
    })
}

/// Whether this identifier is of the server, or of a part of its origin that the server is in.
#[must_use]
pub fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let (outer, inner) = (resource.path().trim_end_matches('/'), server.path());
    let rest = inner.strip_prefix(outer);
    resource.origin() == server.origin()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn read_issuer(http: &AuthHttp, document: &Value, issuer: &str) -> Result<Issuer, ServerFault> {
    // Exactly, without normalization (RFC 8414, section 3.3).
    if text(document, "issuer").as_deref() != Some(issuer) {
        return Err(ServerFault::new(
            "its sign-in failed: the metadata of its authorization server is that of another one",
            TELL_OWNER,
        ));
    }
    let endpoint = |name: &str| {
        text(document, name)
            .map(|url| http.check(name, &url))
            .transpose()
    };
    let required = |name: &str| {
        endpoint(name)?.ok_or_else(|| {
            let reason = format!("its sign-in failed: its authorization server names no `{name}`");
            ServerFault::new(reason, TELL_OWNER)
        })
    };
    let challenges = texts(document, "code_challenge_methods_supported").unwrap_or_default();
    if !challenges.iter().any(|method| method == "S256") {
        return Err(ServerFault::new(
            "its sign-in failed: its authorization server does not say that it checks PKCE with S256",
            TELL_OWNER,
        ));
    }
    let flag = |name: &str| document.get(name).and_then(Value::as_bool) == Some(true);
    let methods = texts(document, "token_endpoint_auth_methods_supported");
    let auth_methods = match methods {
        // The default (RFC 8414, section 2).
        None => vec![ClientAuthMethod::Basic],
        Some(names) => {
            let known = names
                .iter()
                .filter_map(|name| ClientAuthMethod::of_name(name));
            known.collect()
        }
    };
    Ok(Issuer {
        auth_methods,
        authorization_endpoint: required("authorization_endpoint")?,
        issuer: issuer.to_owned(),
        registration_endpoint: endpoint("registration_endpoint")?,
        revocation_endpoint: endpoint("revocation_endpoint")?,
        scopes: texts(document, "scopes_supported").unwrap_or_default(),
        sends_issuer: flag("authorization_response_iss_parameter_supported"),
        takes_documents: flag("client_id_metadata_document_supported"),
        token_endpoint: required("token_endpoint")?,
    })
}

fn texts(document: &Value, name: &str) -> Option<Vec<String>> {
    let items = document.get(name)?.as_array()?.iter();
    let items = items.filter_map(Value::as_str).take(MAX_ITEMS);
    Some(items.map(str::to_owned).collect())
}

/// The most items of a list that are read.
const MAX_ITEMS: usize = 200;

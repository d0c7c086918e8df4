//! Who we are to an authorization server: a configured client, the address of a document, or a registered client.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde_json::json;
use url::Url;

use super::AuthSettings;
use super::fetch::{AuthHttp, Fetched, text};
use super::metadata::Issuer;
use super::stored::{ClientAuthMethod, ClientOrigin, RegisteredClient};
use crate::error::ServerFault;
use jackfield_provider_kit::base_url::is_this_machine;

/// The client for this authorization server, in the order that the protocol asks for: configured, by document,
/// registered (MCP 2026-07-28, "Client Registration Approaches", read 2026-11-26). A registration at the same server
/// with the same redirect is used again, unless it was for a smaller scope.
///
/// The registration names the scope, as some servers allow a client only what it was registered with (the SDK for
/// Python, `mcp` 2.3.0). Others know only scopes of their own there, not those of the resources behind them
/// (`oidc-provider` 9.13.3): these are asked again without it.
///
/// # Errors
///
/// The authorization server knows none of these ways, or refuses the registration.
pub(super) async fn client(
    http: &AuthHttp,
    settings: &AuthSettings,
    issuer: &Issuer,
    known: Option<RegisteredClient>,
    redirect_uri: &str,
    scope: Option<&str>,
) -> Result<RegisteredClient, ServerFault> {
    let auth_method = |secret: Option<&str>| match secret {
        None => ClientAuthMethod::None,
        Some(_) => preferred(&issuer.auth_methods),
    };
    if let Some(id) = &settings.client_id {
        return Ok(RegisteredClient {
            auth_method: auth_method(settings.client_secret.as_deref()),
            id: id.clone(),
            origin: ClientOrigin::Configured,
            redirect_uri: redirect_uri.to_owned(),
            scope: None,
            secret: settings.client_secret.clone(),
        });
    }
    if let Some(document) = settings
        .client_metadata_url
        .as_ref()
        .filter(|_| issuer.takes_documents)
    {
        return Ok(RegisteredClient {
            auth_method: ClientAuthMethod::None,
            id: document.clone(),
            origin: ClientOrigin::Document,
            redirect_uri: redirect_uri.to_owned(),
            scope: None,
            secret: None,
        });
    }
    let known = known.filter(|known| {
        known.origin == ClientOrigin::Registered
            && known.redirect_uri == redirect_uri
            && known.may_ask_for(scope)
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let Some(endpoint) = &issuer.registration_endpoint else {
        return Err(ServerFault::new(
            "its authorization server registers no clients by itself",
            http.register_advice(),
        ));
    };
    let wanted = if issuer.auth_methods.contains(&ClientAuthMethod::None) {
        ClientAuthMethod::None
    } else {
        preferred(&issuer.auth_methods)
    };
    let is_native = Url::parse(redirect_uri).is_ok_and(|uri| is_this_machine(&uri));
    let mut metadata = json!({
        // OpenID Connect Dynamic Client Registration 1.0, section 2.
        "application_type": if is_native { "native" } else { "web" },
        "client_name": "Jackfield",
        "grant_types": ["authorization_code", "refresh_token"],
        "redirect_uris": [redirect_uri],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted.name(),
    });
    if let Some(scope) = scope {
        metadata["scope"] = scope.into();
    }
    let mut registered_scope = scope;
    let mut fetched = http.post_json(endpoint, &metadata).await?;
    if scope.is_some() && is_refused_metadata(&fetched) {
        registered_scope = None;
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.remove("scope");
        }
        fetched = http.post_json(endpoint, &metadata).await?;
    }
    let document = fetched.object().filter(|_| fetched.status.is_success());
    let id = document
        .as_ref()
        .and_then(|document| text(document, "client_id"));
    let (Some(document), Some(id)) = (document, id) else {
        let host = endpoint.host_str().unwrap_or_default();
        return Err(ServerFault::new(
            format!(
                "{host} does not register Jackfield as a client: {}",
                fetched.said()
            ),
            http.register_advice(),
        ));
    };
    let secret = text(&document, "client_secret");
    let named = text(&document, "token_endpoint_auth_method");
    let named = named.and_then(|name| ClientAuthMethod::of_name(&name));
    Ok(RegisteredClient {
        auth_method: match (&secret, named) {
            (None, _) => ClientAuthMethod::None,
            (Some(_), Some(named)) => named,
            (Some(_), None) => wanted,
        },
        id,
        origin: ClientOrigin::Registered,
        redirect_uri: redirect_uri.to_owned(),
        scope: registered_scope.map(str::to_owned),
        secret,
    })
}

/// Whether this answer says that something in the metadata of the client cannot be (RFC 7591, section 3.2.2).
fn is_refused_metadata(fetched: &Fetched) -> bool {
    let document = fetched
        .object()
        .filter(|_| fetched.status.is_client_error());
    let error = document.and_then(|document| text(&document, "error"));
    error.as_deref() == Some("invalid_client_metadata")
}

/// The method for a client with a secret.
fn preferred(methods: &[ClientAuthMethod]) -> ClientAuthMethod {
    let order = [
        ClientAuthMethod::Basic,
        ClientAuthMethod::Post,
        ClientAuthMethod::None,
    ];
    let found = order.into_iter().find(|method| methods.contains(method));
    found.unwrap_or(ClientAuthMethod::Basic)
}

/// Whether a registration with this scope covers another one; without a scope, it covers everything.
#[must_use]
pub fn covers_scope(registered: Option<&str>, wanted: Option<&str>) -> bool {
    registered.is_none_or(|registered| {
        let mut wanted = wanted.unwrap_or_default().split_ascii_whitespace();
        wanted.all(|one| {
            registered
                .split_ascii_whitespace()
                .any(|known| known == one)
        })
    })
}

impl RegisteredClient {
    /// Whether its registration covers this scope.
    fn may_ask_for(&self, scope: Option<&str>) -> bool {
        covers_scope(self.scope.as_deref(), scope)
    }

    /// The header and the fields by which a request to the token endpoint proves the client's identity.
    pub(super) fn proof(&self) -> (Option<HeaderValue>, Vec<(&str, &str)>) {
        let id = ("client_id", &*self.id);
        match (self.auth_method, &self.secret) {
            (ClientAuthMethod::Basic, Some(secret)) => {
                // Both parts are form-encoded first (RFC 6749, section 2.3.1).
                let part = |text: &str| {
                    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                let pair = format!("{}:{}", part(&self.id), part(secret));
                let header = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
                let header = header.ok().map(|mut header| {
                    header.set_sensitive(true);
                    header
                });
                (header, Vec::new())
            }
            (ClientAuthMethod::Post, Some(secret)) => (None, vec![id, ("client_secret", secret)]),
            (ClientAuthMethod::None, _) | (_, None) => (None, vec![id]),
        }
    }
}

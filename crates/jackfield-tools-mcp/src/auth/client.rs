//! Who we are to an authorization server: a configured client, the address of a document, or a registered client.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde_json::json;

use super::AuthSettings;
use super::fetch::{AuthHttp, text};
use super::metadata::Issuer;
use super::stored::{ClientAuthMethod, ClientOrigin, RegisteredClient};
use crate::error::ServerFault;

/// The client for this authorization server, in the order that the protocol asks for: configured, by document,
/// registered (MCP 2026-07-28, "Client Registration Approaches", read 2026-11-26). A registration at the same server
/// with the same redirect is used again.
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
            secret: None,
        });
    }
    let known = known.filter(|known| {
        known.origin == ClientOrigin::Registered && known.redirect_uri == redirect_uri
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let Some(endpoint) = &issuer.registration_endpoint else {
        return Err(ServerFault::new(
            "its authorization server registers no clients by itself",
            "register Jackfield there, and write the id of the client in `client_id` of the server's `oauth`",
        ));
    };
    let wanted = if issuer.auth_methods.contains(&ClientAuthMethod::None) {
        ClientAuthMethod::None
    } else {
        preferred(&issuer.auth_methods)
    };
    let mut metadata = json!({
        "application_type": "native",
        "client_name": "Jackfield",
        "grant_types": ["authorization_code", "refresh_token"],
        "redirect_uris": [redirect_uri],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted.name(),
    });
    if let Some(scope) = scope {
        metadata["scope"] = scope.into();
    }
    let fetched = http.post_json(endpoint, &metadata).await?;
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
            "register Jackfield there, and write the id of the client in `client_id` of the server's `oauth`",
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
        secret,
    })
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

impl RegisteredClient {
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

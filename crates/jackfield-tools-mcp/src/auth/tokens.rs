//! Requests to the token endpoint (RFC 6749, OAuth 2.1).

use url::Url;

use super::fetch::{AuthHttp, Fetched, text};
use super::stored::{RegisteredClient, SignIn, Tokens, now, union};
use crate::error::ServerFault;

/// The outcome of a renewal.
pub(super) enum Renewal {
    /// The authorization server refuses: a person has to sign in again.
    Refused(String),
    Renewed(Tokens),
}

/// Exchanges a code for tokens.
///
/// # Errors
///
/// The authorization server refuses, or gives no answer that can be used.
pub(super) async fn exchange(
    http: &AuthHttp,
    endpoint: &Url,
    client: &RegisteredClient,
    resource: &str,
    (code, verifier): (&str, &str),
) -> Result<Tokens, ServerFault> {
    let grant = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("code_verifier", verifier),
        ("redirect_uri", &client.redirect_uri),
        ("resource", resource),
    ];
    let fetched = request(http, endpoint, client, &grant, None).await?;
    match read(&fetched) {
        Ok(tokens) => Ok(tokens),
        Err(why) => {
            let host = endpoint.host_str().unwrap_or_default();
            let reason = format!("its sign-in failed: {host} gives no token: {why}");
            Err(ServerFault::new(reason, "sign in again"))
        }
    }
}

/// Renews the tokens of a sign-in.
///
/// # Errors
///
/// There is no answer, or one that says nothing of the sign-in: a later attempt may succeed.
pub(super) async fn renew(http: &AuthHttp, sign_in: &SignIn) -> Result<Renewal, ServerFault> {
    let tokens = sign_in.tokens.as_ref();
    let Some(refresh) = tokens.and_then(|tokens| tokens.refresh.as_deref()) else {
        return Ok(Renewal::Refused("it has ended".to_owned()));
    };
    let endpoint = http.check("token_endpoint", &sign_in.token_endpoint)?;
    let grant = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh),
        ("resource", &sign_in.resource),
    ];
    let fetched = request(http, &endpoint, &sign_in.client, &grant, tokens).await?;
    match read(&fetched) {
        Ok(mut renewed) => {
            // Without a new one, the old one stays (RFC 6749, section 6).
            renewed.refresh = renewed.refresh.or_else(|| Some(refresh.to_owned()));
            let granted = tokens.and_then(|tokens| tokens.scope.clone());
            renewed.scope = renewed.scope.or(granted);
            Ok(Renewal::Renewed(renewed))
        }
        Err(why) if fetched.is_refusal() => Ok(Renewal::Refused(why)),
        Err(why) => {
            let host = endpoint.host_str().unwrap_or_default();
            let reason = format!("its sign-in cannot be renewed: {host} answers {why}");
            Err(ServerFault::new(reason, "try again later"))
        }
    }
}

/// Revokes the tokens of a sign-in, as far as the authorization server does that (RFC 7009).
///
/// # Errors
///
/// There is no answer, or a refusal.
pub(super) async fn revoke(http: &AuthHttp, sign_in: &SignIn) -> Result<(), ServerFault> {
    let Some((endpoint, tokens)) = sign_in
        .revocation_endpoint
        .as_deref()
        .zip(sign_in.tokens.as_ref())
    else {
        return Ok(());
    };
    let endpoint = http.check("revocation_endpoint", endpoint)?;
    let (token, hint) = match &tokens.refresh {
        Some(refresh) => (refresh, "refresh_token"),
        None => (&tokens.access, "access_token"),
    };
    let grant = [("token", &**token), ("token_type_hint", hint)];
    let fetched = request(http, &endpoint, &sign_in.client, &grant, Some(tokens)).await?;
    if fetched.status.is_success() {
        return Ok(());
    }
    let host = endpoint.host_str().unwrap_or_default();
    let reason = format!("{host} does not revoke the tokens: {}", fetched.said());
    Err(ServerFault::new(reason, "revoke the access on its pages"))
}

/// Sends a request; `tokens` are those that the authorization server may repeat, beside the fields of the request.
async fn request(
    http: &AuthHttp,
    endpoint: &Url,
    client: &RegisteredClient,
    grant: &[(&str, &str)],
    tokens: Option<&Tokens>,
) -> Result<Fetched, ServerFault> {
    let (header, proof) = client.proof();
    let mut form = grant.to_vec();
    form.extend(proof);
    let secrets = form.iter().filter(|(name, _)| SECRETS.contains(name));
    let mut secrets: Vec<String> = secrets.map(|(_, value)| (*value).to_owned()).collect();
    secrets.extend(client.secret.clone());
    if let Some(tokens) = tokens {
        secrets.push(tokens.access.clone());
        secrets.extend(tokens.refresh.clone());
    }
    // A secret may be a part of another one.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let fetched = http.post_form(endpoint, &form, header).await?;
    Ok(Fetched { secrets, ..fetched })
}

/// The tokens of an answer, or why there are none.
fn read(fetched: &Fetched) -> Result<Tokens, String> {
    let document = fetched.object().filter(|_| fetched.status.is_success());
    let document = document.ok_or_else(|| fetched.said())?;
    let access = text(&document, "access_token").ok_or("it names no token")?;
    let kind = text(&document, "token_type");
    if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err("its token is not a bearer token".to_owned());
    }
    if !access.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
        return Err("its token has characters in it that no token has".to_owned());
    }
    let issued_at = now();
    let lifetime = document.get("expires_in");
    // Some servers write the number as a text.
    let lifetime = lifetime.and_then(|lifetime| {
        let text = lifetime.as_str().and_then(|text| text.parse().ok());
        lifetime.as_u64().or(text)
    });
    Ok(Tokens {
        access,
        expires_at: lifetime.map(|lifetime: u64| issued_at.saturating_add(lifetime)),
        issued_at,
        refresh: text(&document, "refresh_token"),
        scope: union(text(&document, "scope").as_deref(), None),
    })
}

/// The fields of requests that no message may repeat.
const SECRETS: &[&str] = &[
    "client_secret",
    "code",
    "code_verifier",
    "refresh_token",
    "token",
];

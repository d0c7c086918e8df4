//! The requests of a sign-in: to addresses that a server names, so through the guarded client.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jackfield_provider_kit::base_url::is_this_machine;
use jackfield_provider_kit::guarded::{
    Allowed, FetchError, FetchErrorKind, GuardedRequest, GuardedResponse, GuardedSettings,
    LazyGuardedClient,
};
use serde_json::Value;
use tokio::time::timeout;
use url::{Host, Url};

use crate::error::ServerFault;

/// Sends the requests of sign-ins at one server.
pub(super) struct AuthHttp {
    client: LazyGuardedClient,
    /// Whether the administrator has configured the server.
    is_configured: bool,
    /// The hosts that need no encryption.
    plain_hosts: Vec<String>,
}

/// An answer, with its whole body.
pub(super) struct Fetched {
    pub(super) body: Bytes,
    /// What the request had that no message may repeat.
    pub(super) secrets: Vec<String>,
    pub(super) status: StatusCode,
}

impl Fetched {
    /// The body as a JSON object.
    pub(super) fn object(&self) -> Option<Value> {
        let value: Value = serde_json::from_slice(&self.body).ok()?;
        value.is_object().then_some(value)
    }

    /// Whether the server refuses the request by an error of OAuth, so that the same request is always refused.
    pub(super) fn is_refusal(&self) -> bool {
        let error = self.object().and_then(|document| text(&document, "error"));
        self.status.is_client_error() && error.is_some()
    }

    /// What it says of a failure, for people: the error of OAuth, or the status. Without the secrets of the request.
    pub(super) fn said(&self) -> String {
        let document = self.object().unwrap_or_default();
        let error = text(&document, "error");
        let description = text(&document, "error_description");
        let words = match (error, description) {
            (Some(error), Some(description)) => format!("{error} ({description})"),
            (Some(error), None) => error,
            (None, _) => self.status.to_string(),
        };
        // Before the text is cut, which could leave a part of a secret.
        let words: String = words.chars().filter(|c| !c.is_control()).collect();
        shown(&redacted(words, &self.secrets))
    }
}

/// A text without these secrets.
fn redacted(text: String, secrets: &[String]) -> String {
    let secrets = secrets.iter().filter(|secret| !secret.is_empty());
    secrets.fold(text, |text, secret| text.replace(secret, "[redacted]"))
}

/// A text of a document, if it is there and not empty.
pub(super) fn text(document: &Value, name: &str) -> Option<String> {
    let text = document.get(name)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// The beginning of a text, for a message.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim().chars().filter(|c| !c.is_control());
    text.take(300).collect()
}

impl AuthHttp {
    /// A client that reaches public addresses and allowed ones. Of a configured server also those that belong to it: its
    /// host, and this machine if the server is on it.
    pub(super) fn new(server: &Url, mut settings: GuardedSettings, is_configured: bool) -> Self {
        settings.advised = false;
        settings.same_origin = true;
        let mut plain_hosts = Vec::new();
        if is_configured {
            let host = server.host_str().unwrap_or_default().to_owned();
            allow(&mut settings.allowed, &host);
            if is_this_machine(server) {
                for known in THIS_MACHINE {
                    allow(&mut settings.allowed, known);
                }
                plain_hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
            }
            if server.scheme() == "http" {
                plain_hosts.push(host);
            }
        }
        Self {
            client: LazyGuardedClient::new(settings),
            is_configured,
            plain_hosts,
        }
    }

    /// Whether an address needs no encryption.
    fn is_plain(&self, url: &Url) -> bool {
        if self.is_configured {
            let host = url.host_str().unwrap_or_default();
            return self.plain_hosts.iter().any(|plain| plain == host);
        }
        let allowed = &self.client.settings().allowed;
        match url.host() {
            Some(Host::Domain(name)) => allowed.has_name(name),
            Some(Host::Ipv4(address)) => allowed.has_address(address.into()),
            Some(Host::Ipv6(address)) => allowed.has_address(address.into()),
            None => false,
        }
    }

    /// What to do where the authorization server registers no client.
    pub(super) const fn register_advice(&self) -> &'static str {
        if self.is_configured {
            "register Jackfield there, and write the id of the client in `client_id` of the server's `oauth`"
        } else {
            "give it a token in a header"
        }
    }

    /// Checks that an address may be used for secrets.
    ///
    /// # Errors
    ///
    /// It is not encrypted, has a user in it, or is no address.
    pub(super) fn check(&self, what: &str, text: &str) -> Result<Url, ServerFault> {
        let fault = |why: &str| {
            let named = shown(text);
            let reason = format!("its sign-in names `{named}` as its {what}, {why}");
            ServerFault::new(reason, TELL_OWNER)
        };
        let url = Url::parse(text).map_err(|_| fault("which is no address"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fault("which has a user in it"));
        }
        match (url.scheme(), url.host_str()) {
            ("https", Some(_)) => Ok(url),
            ("http", Some(_)) if self.is_plain(&url) => Ok(url),
            ("http", Some(_)) => Err(fault("which is not encrypted")),
            _ => Err(fault("which is no address of the web")),
        }
    }

    pub(super) async fn get(&self, url: &Url) -> Result<Fetched, ServerFault> {
        self.send(Method::GET, url, HeaderMap::new(), Bytes::new())
            .await
    }

    pub(super) async fn post_json(&self, url: &Url, body: &Value) -> Result<Fetched, ServerFault> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(Method::POST, url, headers, body.to_string().into())
            .await
    }

    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        authorization: Option<HeaderValue>,
    ) -> Result<Fetched, ServerFault> {
        let mut headers = HeaderMap::new();
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form_type);
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, authorization);
        }
        // The serializer must not live across the request.
        let body = {
            let mut body = url::form_urlencoded::Serializer::new(String::new());
            body.extend_pairs(form).finish()
        };
        self.send(Method::POST, url, headers, body.into()).await
    }

    /// The head of the answer to any request.
    pub(super) async fn head(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<(StatusCode, HeaderMap), ServerFault> {
        in_time(url, async {
            let answer = self.answer(method, url, headers, body).await?;
            Ok((answer.status(), answer.headers().clone()))
        })
        .await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, ServerFault> {
        in_time(url, async {
            let answer = self.answer(method, url, headers, body).await?;
            let status = answer.status();
            let body = answer.read(MAX_BODY).await;
            let body = body.map_err(|error| self.fault(&error))?;
            if !body.whole {
                let host = url.host_str().unwrap_or_default();
                let reason =
                    format!("its sign-in failed: {host} answers with more than {MAX_BODY} bytes");
                return Err(ServerFault::new(reason, TELL_OWNER));
            }
            let body = body.bytes;
            Ok(Fetched {
                body,
                secrets: Vec::new(),
                status,
            })
        })
        .await
    }

    async fn answer(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<GuardedResponse, ServerFault> {
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("application/json"));
        let request = GuardedRequest {
            body,
            headers,
            method,
            url: url.clone(),
        };
        let client = self.client.get().await.map_err(|error| {
            let advice = "check `proxy` under [network], and this machine's TLS";
            ServerFault::new(error.to_string(), advice)
        })?;
        client
            .send(request)
            .await
            .map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &FetchError) -> ServerFault {
        let advice = match error.kind {
            FetchErrorKind::Refused if self.is_configured => ALLOW,
            FetchErrorKind::Unreachable => "check the network, and try again",
            FetchErrorKind::Broken
            | FetchErrorKind::Redirect
            | FetchErrorKind::Refused
            | FetchErrorKind::Silent
            | FetchErrorKind::Unsendable => TELL_OWNER,
        };
        ServerFault::new(format!("its sign-in failed: {}", error.message), advice)
    }
}

/// Bounds the time of an exchange with this address.
async fn in_time<T>(
    url: &Url,
    exchange: impl Future<Output = Result<T, ServerFault>>,
) -> Result<T, ServerFault> {
    timeout(TIME_LIMIT, exchange).await.unwrap_or_else(|_| {
        let (host, seconds) = (url.host_str().unwrap_or_default(), TIME_LIMIT.as_secs());
        let reason = format!("its sign-in failed: {host} did not answer within {seconds} s");
        Err(ServerFault::new(reason, "try again"))
    })
}

/// Allows a host. What cannot be written as an allowance is not private.
fn allow(allowed: &mut Allowed, host: &str) {
    let _invalid = allowed.allow(host.trim_matches(['[', ']'])).is_err();
}

/// What belongs to this machine.
const THIS_MACHINE: &[&str] = &["localhost", "127.0.0.0/8", "::1"];
/// Advice for what only the server's owner can correct.
pub(super) const TELL_OWNER: &str =
    "tell the owner of the server, or give it a key in its `headers`";
/// Advice for an address that is not public.
const ALLOW: &str = "if this address is right, add it to `allow_private` of the server's `oauth`";
/// The longest answer, in bytes.
const MAX_BODY: usize = 256 << 10;
/// The time limit of one request.
const TIME_LIMIT: Duration = Duration::from_secs(20);

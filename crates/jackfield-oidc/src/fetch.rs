//! Requests to the provider, through the guarded client: bounded in size and time, and never repeated.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jackfield_ports::identity_provider::IdentityError;
use jackfield_provider_kit::guarded::{GuardedRequest, GuardedSettings, LazyGuardedClient};
use serde_json::{Map, Value};
use tokio::time::timeout;
use url::Url;

/// Sends the requests of sign-ins at one provider.
pub(crate) struct ProviderHttp {
    client: LazyGuardedClient,
}

/// An answer, which is a JSON object.
pub(crate) struct Fetched {
    pub(crate) object: Map<String, Value>,
    pub(crate) status: StatusCode,
}

impl fmt::Debug for ProviderHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderHttp").finish_non_exhaustive()
    }
}

impl ProviderHttp {
    /// A client that reaches public addresses, and the host of the issuer wherever it is.
    pub(crate) fn new(issuer: &Url, mut settings: GuardedSettings) -> Self {
        settings.advised = false;
        settings.same_origin = true;
        if let Some(host) = issuer.host_str() {
            // What cannot be written as an allowance is not private.
            let _invalid = settings
                .allowed
                .allow(host.trim_matches(['[', ']']))
                .is_err();
        }
        Self {
            client: LazyGuardedClient::new(settings),
        }
    }

    pub(crate) async fn get(
        &self,
        url: &Url,
        authorization: Option<HeaderValue>,
    ) -> Result<Fetched, IdentityError> {
        self.send(Method::GET, url, authorization, None).await
    }

    pub(crate) async fn post(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        authorization: Option<HeaderValue>,
    ) -> Result<Fetched, IdentityError> {
        // The serializer must not live across the request.
        let body = {
            let mut body = url::form_urlencoded::Serializer::new(String::new());
            body.extend_pairs(form).finish()
        };
        let body = Some(body.into());
        self.send(Method::POST, url, authorization, body).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        authorization: Option<HeaderValue>,
        form: Option<Bytes>,
    ) -> Result<Fetched, IdentityError> {
        let host = url.host_str().unwrap_or_default();
        let unavailable = |why: &str| IdentityError::Unavailable(format!("{host} {why}"));
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, authorization);
        }
        if form.is_some() {
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert(CONTENT_TYPE, kind);
        }
        let request = GuardedRequest {
            body: form.unwrap_or_default(),
            headers,
            method,
            url: url.clone(),
        };
        let client = self.client.get().await;
        let client = client.map_err(|error| IdentityError::Unavailable(error.to_string()))?;
        let exchange = async {
            let answer = client.send(request).await?;
            let status = answer.status();
            Ok((status, answer.read(MAX_BODY).await?))
        };
        let answered = timeout(TIME_LIMIT, exchange).await;
        let answered = answered.map_err(|_| unavailable("does not answer in time"))?;
        let (status, body) =
            answered.map_err(|error: jackfield_provider_kit::guarded::FetchError| {
                IdentityError::Unavailable(error.message)
            })?;
        if !body.whole {
            return Err(unavailable("answers with too many bytes"));
        }
        match serde_json::from_slice(&body.bytes) {
            Ok(Value::Object(object)) => Ok(Fetched { object, status }),
            Ok(_) | Err(_) => Err(unavailable(&format!(
                "answers {status}, and no object of JSON"
            ))),
        }
    }
}

impl Fetched {
    /// A text of the object, if it is there and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        text(&self.object, name)
    }
}

/// A text of an object, if it is there and not empty.
pub(crate) fn text<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o str> {
    let text = object.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// The beginning of a foreign text, for a message.
pub(crate) fn shown(text: &str) -> String {
    let text = text.trim().chars().filter(|c| !c.is_control());
    text.take(200).collect()
}

/// The longest answer, in bytes.
const MAX_BODY: usize = 256 << 10;
/// The time limit of one request.
const TIME_LIMIT: Duration = Duration::from_secs(10);

//! The [`Upstream`] over HTTP that all providers share: an adapter gives addresses and headers, and nothing else.

mod body;
mod headers;
mod mask;

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use http::{HeaderMap, Method, Request};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::{RawReply, RawRequest, Upstream, endpoint_covers};

use self::body::HttpBody;
use crate::base_url::BaseUrl;
use crate::by_model::ByModel;
use crate::key_header::{KeyHeader, secret_of, takes_no_keys};
use crate::refused_fields::RefusedFields;
use crate::secret::Secret;
use crate::transport::{MAX_REPLY, Transport};

/// Sends requests to one server unchanged, except for its address and the headers in the contract of [`Upstream`].
/// Never retries; dropping a future cancels its request.
pub struct HttpUpstream {
    /// The paths, in the order of the settings' endpoints.
    paths: Vec<Cow<'static, str>>,
    settings: UpstreamSettings,
    transport: Transport,
}

/// The settings of an upstream.
#[derive(Clone)]
#[non_exhaustive]
pub struct UpstreamSettings {
    /// The base URL of the server.
    pub base_url: BaseUrl,
    /// Headers for requests without one of the same name, such as the API's version.
    pub defaults: HeaderMap,
    /// The served endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Headers of every request, in place of the client's: the key and the account.
    pub headers: HeaderMap,
    /// The key, which is removed from all messages. It is sent only as one of [`Self::headers`].
    pub key: Option<Secret>,
    /// How the server takes the key of a person in place of the configured one; `None` if it cannot.
    pub key_header: Option<KeyHeader>,
    /// Comma-separated lists that are added to the client's, without duplicates.
    pub lists: HeaderMap,
    /// The reason why a required key is missing, in a sentence; requests fail with it.
    pub missing_key: Option<String>,
    /// The fields that the server has refused, of those that callers add.
    pub refused_fields: RefusedFields,
    /// Whether the cost that replies state is what the server charges, in US dollars.
    pub states_cost: ByModel<bool>,
    /// The fields that the server does not take, by its quirks, of those that callers add.
    pub untaken_fields: ByModel<Vec<&'static str>>,
}

/// A served endpoint.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The path by which clients name it, such as `/v1/messages`; with `/*` at its end, all paths below.
    pub path: Cow<'static, str>,
    /// Its path below the base URL, with the same end.
    pub resource: Cow<'static, str>,
}

impl Endpoint {
    /// An endpoint with this path, and this path below the base URL; both begin with a slash.
    #[must_use]
    pub fn new(path: impl Into<Cow<'static, str>>, resource: impl Into<Cow<'static, str>>) -> Self {
        Self {
            path: path.into(),
            resource: resource.into(),
        }
    }

    /// The resource of a path that it covers.
    fn resource_of(&self, path: &str) -> Option<String> {
        if !endpoint_covers(&self.path, path) {
            return None;
        }
        match (self.path.strip_suffix('*'), self.resource.strip_suffix('*')) {
            (Some(folder), Some(resource)) => {
                Some(format!("{resource}{}", path.strip_prefix(folder)?))
            }
            (_, _) => Some(self.resource.to_string()),
        }
    }
}

impl UpstreamSettings {
    /// Settings without any headers and without a key.
    #[must_use]
    pub fn new(base_url: BaseUrl, endpoints: Vec<Endpoint>) -> Self {
        Self {
            base_url,
            defaults: HeaderMap::new(),
            endpoints,
            headers: HeaderMap::new(),
            key: None,
            key_header: None,
            lists: HeaderMap::new(),
            missing_key: None,
            refused_fields: RefusedFields::default(),
            states_cost: ByModel::always(false),
            untaken_fields: ByModel::always(Vec::new()),
        }
    }
}

impl fmt::Debug for UpstreamSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The headers contain the key.
        f.debug_struct("UpstreamSettings")
            .field("base_url", &self.base_url)
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}

impl HttpUpstream {
    /// Creates the upstream; sends nothing.
    #[must_use]
    pub fn new(settings: UpstreamSettings, transport: Transport) -> Self {
        let paths = settings.endpoints.iter();
        let paths = paths.map(|endpoint| endpoint.path.clone());
        Self {
            paths: paths.collect(),
            settings,
            transport,
        }
    }

    /// The request on the wire.
    fn prepare(&self, request: RawRequest) -> Result<Request<bytes::Bytes>, ModelFailure> {
        let mut endpoints = self.settings.endpoints.iter();
        let resource = endpoints.find_map(|endpoint| endpoint.resource_of(&request.path));
        let Some(resource) = resource else {
            // The path is the client's, and may contain anything.
            let message = "this provider does not serve the requested path";
            return Err(before_send(ModelFailureKind::Unsupported, message));
        };
        if REFUSED.contains(&request.method) {
            let message = format!("a {} request is not passed on", request.method);
            return Err(before_send(ModelFailureKind::Unsupported, message));
        }
        let own = match &request.credential {
            Some(key) => {
                let header = self.settings.key_header.as_ref();
                Some((secret_of(key), header.ok_or_else(takes_no_keys)?))
            }
            None => None,
        };
        if own.is_none()
            && let (None, Some(why)) = (&self.settings.key, &self.settings.missing_key)
        {
            return Err(before_send(ModelFailureKind::Unauthenticated, why));
        }
        let mut url = self.settings.base_url.join(&resource);
        if let Some(query) = &request.query {
            // The rest would be taken for a fragment, and lost.
            if query.contains('#') {
                return Err(unwritable());
            }
            url.push('?');
            url.push_str(query);
        }
        let sent = Request::builder().method(request.method).uri(url);
        let mut sent = sent.body(request.body).map_err(|_| unwritable())?;
        *sent.headers_mut() = headers::to_send(request.headers, &self.settings);
        if let Some((key, header)) = own {
            header.apply(sent.headers_mut(), &key)?;
        }
        Ok(sent)
    }
}

#[async_trait]
impl Upstream for HttpUpstream {
    fn endpoints(&self) -> &[Cow<'static, str>] {
        &self.paths
    }

    fn takes_field(&self, model: &str, field: &str) -> bool {
        let untaken = self.settings.untaken_fields.get(model);
        let refused = self.settings.refused_fields.of(model);
        !untaken.iter().chain(&refused).any(|known| *known == field)
    }

    fn states_cost(&self, model: &str) -> bool {
        self.settings.states_cost.get(model)
    }

    fn field_refused(&self, model: &str, field: &'static str) {
        self.settings.refused_fields.add(model, field);
    }

    async fn send(&self, request: RawRequest) -> Result<RawReply, ModelError> {
        let own = request.credential.as_ref().map(secret_of);
        let key = own.or_else(|| self.settings.key.clone());
        let request = self.prepare(request)?;
        let sent = self.transport.send(request).await;
        let incoming = sent.map_err(|error| redact(error, key.as_ref()))?;
        // A stream of events is as long as the model writes. It is never held whole, and each event takes its time.
        let is_stream = incoming.media_type().as_deref() == Some("text/event-stream");
        let limit = if is_stream { usize::MAX } else { MAX_REPLY };
        let length = incoming.header("content-length");
        let length: Option<usize> = length.and_then(|length| length.parse().ok());
        if length.is_some_and(|length| length > limit) {
            return Err(redact(incoming.too_long(), key.as_ref()));
        }
        Ok(RawReply {
            status: incoming.status(),
            headers: headers::to_return(incoming.headers(), key.as_ref()),
            body: Box::new(HttpBody::new(incoming, limit, key)),
        })
    }
}

impl fmt::Debug for HttpUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpUpstream")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The error without the key.
fn redact(mut error: ModelError, key: Option<&Secret>) -> ModelError {
    if let Some(key) = key {
        error.failure.message = key.redact(&error.failure.message);
    }
    error
}

fn before_send(kind: ModelFailureKind, message: impl Into<String>) -> ModelFailure {
    ModelFailure::new(kind, Phase::BeforeSend, message)
}

/// A query that no URL can contain. It is not repeated, as it may contain a secret.
fn unwritable() -> ModelFailure {
    let message = "the request cannot be written: its query is not valid in a URL";
    before_send(ModelFailureKind::InvalidRequest, message)
}

/// CONNECT names no resource, and a server repeats the headers of TRACE, the key among them.
const REFUSED: [Method; 2] = [Method::CONNECT, Method::TRACE];

//! Requests to endpoints that are only passed through, beside those for messages.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::request::ModelRef;
use jackfield_ports::upstream::endpoint_covers;

use super::language::Language;
use super::reply::ModelNames;
use super::request::{RequestBody, UpstreamBody};
use super::request_span::RequestSpan;
use super::{Passthrough, ReceivedRequest, multipart, other_models};
use crate::api_keys::Principal;
use crate::config::PassthroughUpstream;
use crate::failures;
use crate::gateway::Gateway;

impl Gateway {
    /// Whether a path is that of an endpoint which is only passed through, for any client.
    #[must_use]
    pub fn has_endpoint(&self, path: &str) -> bool {
        let config = self.config();
        let mut open = config.passthrough.endpoints.iter();
        open.any(|endpoint| endpoint_covers(endpoint, path))
            || config.api_keys.clients().any(|client| {
                let mut own = client.endpoints.iter();
                own.any(|endpoint| endpoint_covers(&endpoint.path, path))
            })
    }

    /// The request to an endpoint that is only passed through.
    ///
    /// A token can open an endpoint at one provider: then any method is passed through, with any body. At other
    /// endpoints the body names a model, as JSON or as a field of a form, and the model has the provider.
    ///
    /// # Errors
    ///
    /// The endpoint is not open to the client, the body names no model, or pass-through is disabled.
    pub fn passthrough_only(
        &self,
        client: &Principal,
        request: &ReceivedRequest,
    ) -> Result<Passthrough, ServeError> {
        let (mut span, traced) = RequestSpan::begin(self.engine(), request).unzip();
        let request = traced.as_ref().unwrap_or(request);
        let passthrough = self.endpoint_passthrough(client, request);
        let mut passthrough = passthrough.inspect_err(|error| {
            if let Some(span) = &mut span {
                span.failed(error);
            }
        })?;
        passthrough.span = span;
        Ok(passthrough)
    }

    fn endpoint_passthrough(
        &self,
        client: &Principal,
        request: &ReceivedRequest,
    ) -> Result<Passthrough, ServeError> {
        let named = NamedModel::read(request);
        let own = named.as_ref().map(|named| &*named.name);
        other_models::check_query(client, request.query.as_deref(), own)?;
        match (form_of(request), &named) {
            (Some(kind), _) => other_models::check_form(client, kind, &request.body)?,
            (
                None,
                Some(NamedModel {
                    form: NamedForm::Json(body),
                    ..
                }),
            ) => {
                other_models::check_body(client, body)?;
            }
            (None, _) => other_models::check_json(client, &request.body)?,
        }
        let mut own = client.endpoints.iter();
        if let Some(endpoint) = own.find(|own| endpoint_covers(&own.path, &request.path)) {
            let upstream = self.endpoint_upstream(client, request, &endpoint.provider)?;
            // A model that is none of this provider is not the gateway's affair here.
            let model = named.as_ref().map(|named| match self.model(&named.name) {
                Ok(model) if model.provider == endpoint.provider => model,
                Ok(_) | Err(_) => ModelRef {
                    model: named.name.as_ref().into(),
                    provider: Arc::clone(&endpoint.provider),
                },
            });
            let upstream = (&*endpoint.provider, upstream);
            return self.prepare_endpoint(client, request, named, model, upstream);
        }
        let mut open = self.config().passthrough.endpoints.iter();
        if !open.any(|endpoint| endpoint_covers(endpoint, &request.path)) {
            let message = format!("{} is not open to this client", request.path);
            return Err(ServeError::new(ServeErrorKind::NoSuchAddress, message));
        }
        if request.method != Method::POST {
            let message = format!("{} is not for {}", request.method, request.path);
            return Err(ServeError::new(ServeErrorKind::NoSuchAddress, message));
        }
        let named = named.ok_or_else(|| {
            let message = "the body has to name one `model`, as a JSON object or as a form (`multipart/form-data`)";
            ServeError::new(ServeErrorKind::Invalid, message).at("model")
        })?;
        let requested = self.requested_model(&named.name)?;
        self.check_model(client, Some(&named.name), &requested)?;
        let model = requested.model;
        let provider = Arc::clone(&model.provider);
        let upstream = self.endpoint_upstream(client, request, &provider)?;
        let upstream = (&*provider, upstream);
        self.prepare_endpoint(client, request, Some(named), Some(model), upstream)
    }

    /// The upstream of a provider that serves the path of this request.
    fn endpoint_upstream(
        &self,
        client: &Principal,
        request: &ReceivedRequest,
        provider: &str,
    ) -> Result<&PassthroughUpstream, ServeError> {
        let config = &self.config().passthrough;
        let upstream = config.upstreams.get(provider).filter(|upstream| {
            client.passthrough.unwrap_or(config.is_enabled)
                && upstream.is_enabled
                && upstream.upstream.serves(&request.path)
        });
        upstream.ok_or_else(|| {
            let path = &request.path;
            let message = format!("{path} is not passed through to the provider `{provider}`");
            ServeError::new(ServeErrorKind::NoSuchAddress, message)
        })
    }

    fn prepare_endpoint(
        &self,
        client: &Principal,
        request: &ReceivedRequest,
        named: Option<NamedModel<'_>>,
        model: Option<ModelRef>,
        upstream: (&str, &PassthroughUpstream),
    ) -> Result<Passthrough, ServeError> {
        let body = match (&named, &model) {
            (Some(named), Some(model)) => named.for_upstream(&request.body, &model.model),
            (_, _) => UpstreamBody {
                added_usage: None,
                body: request.body.clone(),
                end_user: None,
                is_stream: false,
                path: None,
                change: None,
                removes_usage: false,
                response: None,
            },
        };
        let language = Language::of_path(&request.path);
        let prepared = self.prepare(client, request, body, model, language, upstream);
        prepared.map_err(|error| failures::internal(&error))
    }
}

/// Whether a content type is that of a body of several parts, which is not JSON.
#[must_use]
pub fn is_multipart(content_type: &str) -> bool {
    let kind = content_type.trim_start().get(..MULTIPART.len());
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(MULTIPART))
}

/// The content type of a request whose body is a form.
fn form_of(request: &ReceivedRequest) -> Option<&str> {
    let content_type = request.headers.get(CONTENT_TYPE)?.to_str().ok();
    content_type.filter(|kind| is_multipart(kind))
}

/// The model that a body names.
struct NamedModel<'a> {
    form: NamedForm<'a>,
    name: Cow<'a, str>,
}

/// Where a model's name stands.
enum NamedForm<'a> {
    /// In a form, at this place.
    Field(Range<usize>),
    /// In a JSON object.
    Json(RequestBody<'a>),
}

impl<'a> NamedModel<'a> {
    /// The model of this request; `None` unless its body names one.
    fn read(request: &'a ReceivedRequest) -> Option<Self> {
        if let Some(kind) = form_of(request) {
            let range = multipart::field(kind, &request.body, "model")?;
            let name = std::str::from_utf8(request.body.get(range.clone())?).ok()?;
            let name = Cow::Borrowed(name);
            let form = NamedForm::Field(range);
            return Some(Self { form, name });
        }
        let body = RequestBody::of(request)?;
        let name = body.model.clone();
        let form = NamedForm::Json(body);
        Some(Self { form, name })
    }

    /// The body for the provider, which was read, with this name of the model.
    fn for_upstream(&self, body: &Bytes, model: &str) -> UpstreamBody {
        let range = match &self.form {
            NamedForm::Json(json) => return json.for_upstream(body, model, false),
            NamedForm::Field(range) => range,
        };
        let is_same = *self.name == *model;
        let (before, behind) = (body.get(..range.start), body.get(range.end..));
        let parts = [before, Some(model.as_bytes()), behind];
        UpstreamBody {
            added_usage: None,
            body: if is_same {
                body.clone()
            } else {
                parts
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .concat()
                    .into()
            },
            end_user: None,
            // What a form says about streams is not read. The longer time of silence applies.
            is_stream: false,
            path: None,
            change: (!is_same).then(|| ModelNames::new(&self.name, model)),
            removes_usage: false,
            response: None,
        }
    }
}

const MULTIPART: &str = "multipart/";

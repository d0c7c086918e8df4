//! Requests of a route that are passed through: one target after the other, until one answers.
//!
//! The next target is asked as long as the client has nothing of a reply: after its first piece, the reply is the
//! provider's.

use std::sync::Arc;

use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use jackfield_dialect_kit::serve::ServeError;
use jackfield_dialect_openai::error as openai;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::{Fault, Needs, OnExhausted, Route};
use jackfield_engine::{RouteCall, RouteRequest};
use jackfield_ports::credential::Credential;
use jackfield_ports::upstream::RawReply;

use super::added_usage;
use super::language::Language;
use super::reply::ReplyFilter;
use super::request::RequestBody;
use super::waiting::Waiting;
use super::{
    OwnKey, PATH, Passthrough, PassthroughBody, PassthroughReply, ReceivedRequest, TARGET,
    body_form, end_user,
};
use crate::api_keys::Principal;
use crate::config::PassthroughUpstream;
use crate::failures::{from_engine_error, from_turn_end};
use crate::gateway::Gateway;

/// A request of a route.
#[derive(Debug)]
pub(super) struct RoutedRequest {
    client: Principal,
    gateway: Gateway,
    language: Language,
    request: ReceivedRequest,
    route: RouteRequest,
}

/// The failure of a target, with its reply if it sent one.
struct Failed {
    failure: ModelFailure,
    reply: Option<Box<PassthroughReply>>,
}

impl Gateway {
    /// Whether the upstreams of all targets of a route serve a request, which `serves` says of an upstream and a model.
    pub(super) fn is_route_passed_through(
        &self,
        route: &Route,
        serves: &dyn Fn(&PassthroughUpstream, &ModelRef) -> bool,
    ) -> bool {
        let upstreams = &self.config().passthrough.upstreams;
        route.targets.iter().all(|target| {
            let upstream = upstreams.get(&target.model.provider);
            upstream.is_some_and(|upstream| serves(upstream, &target.model))
        })
    }

    /// The request as it goes to the targets of this route.
    pub(super) fn routed(
        &self,
        client: &Principal,
        request: &ReceivedRequest,
        body: &RequestBody<'_>,
        language: Language,
        route: &Arc<str>,
    ) -> Result<RoutedRequest, ServeError> {
        let options = &self.config().default_options;
        let needs = Needs {
            images: body.has_images(),
            tools: body.has_tools(),
            ..Needs::default()
        };
        let engine = self.engine();
        let is_sticky = engine.route(route).is_some_and(|route| route.sticky);
        let beginning = is_sticky.then(|| body.beginning(&client.principal, language));
        let beginning = beginning.flatten();
        let route = engine.route_request(
            route,
            needs,
            beginning.as_ref(),
            &options.prices,
            &options.windows,
        );
        Ok(RoutedRequest {
            client: client.clone(),
            gateway: self.clone(),
            language,
            request: request.clone(),
            route: route.map_err(|error| from_engine_error(&error))?,
        })
    }
}

impl RoutedRequest {
    /// Sends the request to one target after the other, and returns the first reply, or what the route says if there
    /// is none.
    pub(super) async fn send(mut self) -> Result<PassthroughReply, ServeError> {
        let mut last: Option<Failed> = None;
        loop {
            let after = last.as_ref().map(|last| &last.failure);
            let Some(call) = self.route.next(after) else {
                return self.exhausted(last);
            };
            let target = &call.target.model;
            let model = format!("{}/{}", target.provider, target.model);
            let (route, reason) = (&self.route.route().name, call.reason);
            tracing::info!(%route, target = model, ?reason, "a target of a route is asked");
            let own_key = OwnKey {
                engine: self.gateway.engine().clone(),
                principal: Arc::clone(&self.client.principal),
                provider: Arc::clone(&target.provider),
            };
            let found = own_key.find().await;
            // What comes of a person's own key says nothing about the target to others.
            let is_counted = matches!(found, Ok(None));
            let attempt = match found {
                Ok(credential) => self.attempt(&call, credential).await,
                Err(failure) => Err(failure.into()),
            };
            match attempt {
                Ok(mut reply) => {
                    if let Ok(name) = HeaderValue::from_str(&model) {
                        reply.headers.insert(TARGET, name);
                    }
                    reply.body.call = is_counted.then_some(call);
                    return Ok(reply);
                }
                Err(failed) => {
                    let (kind, error) = (failed.failure.kind, &failed.failure.message);
                    tracing::warn!(%route, target = model, ?kind, %error, "a target of a route failed");
                    if is_counted {
                        self.route.failed(call, &failed.failure);
                    }
                    last = Some(failed);
                }
            }
        }
    }

    /// One target, up to the first piece of its reply.
    async fn attempt(
        &self,
        call: &RouteCall,
        credential: Option<Credential>,
    ) -> Result<PassthroughReply, Failed> {
        let Some(prepared) = self.prepare(call)? else {
            let message = "the provider does not serve this endpoint";
            let kind = ModelFailureKind::Unsupported;
            return Err(ModelFailure::new(kind, Phase::BeforeSend, message).into());
        };
        let Passthrough {
            added_usage,
            mut draft,
            keeper,
            mut patience,
            mut request,
            mut rules,
            upstream,
            ..
        } = prepared;
        if let Some(draft) = &mut draft {
            draft.own_key(credential.is_some());
            draft.reserve(&request.body).await.map_err(Failed::from)?;
            draft.sending();
        }
        request.credential = credential;
        let first_byte = call.target.first_byte;
        patience.first_piece = first_byte.or(patience.first_piece);
        let waiting = Waiting::new(patience);
        let sending = added_usage::send(&*upstream, request, added_usage);
        let sent = waiting.bounded(sending).await;
        let sent = sent.and_then(|sent| sent.map_err(|error| error.failure));
        let (reply, is_without_usage) = sent.map_err(|failure| {
            if let Some(draft) = &mut draft {
                draft.failed(&failure);
            }
            Failed::from(failure)
        })?;
        rules.removes_usage &= !is_without_usage;
        if let Some(draft) = &mut draft {
            draft.status(reply.status, &reply.headers);
        }
        if reply.status.is_client_error() || reply.status.is_server_error() {
            let (failure, reply) = refused(self.language, reply, waiting).await?;
            return Err(Failed {
                failure,
                reply: Some(Box::new(reply)),
            });
        }
        let filter = ReplyFilter::new(body_form(&reply.headers), rules);
        let mut reply = PassthroughReply::new(reply, draft, filter, waiting, keeper);
        reply
            .body
            .prefetch(first_byte.is_some())
            .await
            .map_err(Failed::from)?;
        Ok(reply)
    }

    /// The request to this target; `None` if its provider does not serve the endpoint.
    fn prepare(&self, call: &RouteCall) -> Result<Option<Passthrough>, ModelFailure> {
        let model = call.target.model.clone();
        let upstreams = &self.gateway.config().passthrough.upstreams;
        let (Some(upstream), Some(body)) = (
            upstreams.get(&model.provider),
            RequestBody::of(&self.request),
        ) else {
            return Ok(None);
        };
        let asked = (&*upstream.upstream, &*model.model);
        let adds_usage = body.needs_usage(&self.request.path, self.language, asked);
        let mut raw = body.for_upstream(&self.request.body, &model.model, adds_usage);
        raw.end_user = end_user(&body, self.language);
        let prepared = self.gateway.prepare(
            &self.client,
            &self.request,
            raw,
            Some(model),
            self.language,
            (&call.target.model.provider, upstream),
        );
        let mut prepared = prepared.map_err(|error| {
            let kind = ModelFailureKind::ServerError;
            ModelFailure::new(kind, Phase::BeforeSend, error.to_string())
        })?;
        if let Some(draft) = &mut prepared.draft {
            draft.route(&self.route.route().name);
        }
        Ok(Some(prepared))
    }

    /// What the client gets when no target is left.
    fn exhausted(&self, last: Option<Failed>) -> Result<PassthroughReply, ServeError> {
        let route = self.route.route();
        let Some(Failed { failure, reply }) = last else {
            let kind = ModelFailureKind::Unsupported;
            let failure = ModelFailure::new(kind, Phase::BeforeSend, "the route has no target");
            return Err(from_turn_end(&TurnEnd::Failed(failure)));
        };
        let is_targets = matches!(Fault::of(failure.kind), Fault::Down(_) | Fault::Transient);
        let is_key = matches!(
            failure.kind,
            ModelFailureKind::Forbidden | ModelFailureKind::Unauthenticated
        );
        let error = from_turn_end(&TurnEnd::Failed(failure));
        if is_targets && route.on_exhausted == OnExhausted::Unavailable {
            return Err(self.gateway.route_error(Some(&route.name), error));
        }
        // A refusal of the gateway's own key is not the client's affair.
        match reply {
            Some(reply) if !is_key => Ok(*reply),
            Some(_) | None => Err(error),
        }
    }
}

/// A reply with an error status, of which the beginning is read, as its body says whose fault it is; the rest is passed
/// on as it comes. The provider may be silent for too long before.
pub(super) async fn refused(
    language: Language,
    mut reply: RawReply,
    mut waiting: Waiting,
) -> Result<(ModelFailure, PassthroughReply), ModelFailure> {
    let reading = added_usage::read_start(&mut *reply.body);
    let (body, is_ended) = waiting.bounded(reading).await?;
    waiting.heard(true);
    let (status, headers) = (reply.status, reply.headers);
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let failure = classify(language, status.as_u16(), header, &body);
    let mut headers = headers;
    headers.insert(PATH, HeaderValue::from_static("passthrough"));
    // The body may have broken off.
    headers.remove(CONTENT_LENGTH);
    let reply = PassthroughReply {
        body: PassthroughBody {
            batch: None,
            call: None,
            draft: None,
            failed: None,
            filter: None,
            first: (!body.is_empty()).then_some(body),
            is_ended,
            keeper: None,
            raw: reply.body,
            span: None,
            waiting,
        },
        headers,
        status,
    };
    Ok((failure, reply))
}

/// The failure of a reply whose stream begins with this error.
pub(super) fn error_event(language: Language, data: &str) -> ModelFailure {
    classify(language, 500, |_| None, data.as_bytes())
}

fn classify<'h>(
    language: Language,
    status: u16,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
) -> ModelFailure {
    let phase = Phase::BeforeFirstDelta;
    match language {
        Language::Claude => jackfield_dialect_claude::error::classify(status, header, body, phase),
        Language::Gemini => jackfield_dialect_gemini::error::classify(status, header, body, phase),
        Language::Chat | Language::Responses => openai::classify(status, header, body, phase),
    }
}

impl From<ModelFailure> for Failed {
    fn from(failure: ModelFailure) -> Self {
        Self {
            failure,
            reply: None,
        }
    }
}

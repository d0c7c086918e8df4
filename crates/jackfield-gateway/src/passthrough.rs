//! Pass-through: a request in the language of its provider goes there byte for byte, and so comes the reply.
//!
//! Only these bytes change: the model's name, both ways; the address of the results in Claude's batches; `stream_options`, where the usage of a chat stream is needed
//! and the provider takes it, and that usage, unless the client asked for it; and the headers that the contract of [`Upstream`] names. There is
//! no turn, so there is no journal and no answer that can be fetched later. What it used is a spending record.

mod added_usage;
mod batch;
mod batch_addresses;
mod beginning;
mod body;
mod decision;
mod endpoint;
mod headers;
mod json;
mod language;
mod multipart;
pub(crate) mod other_models;
mod output_and_tier;
mod own_key;
mod piece;
mod record;
mod reply;
mod request;
mod request_span;
mod routed;
mod tags;
mod upstream_response;
mod waiting;

use std::sync::Arc;
use std::{fmt, io};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderName, RANGE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::limits::patience::Patience;
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::Route;
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_engine::TurnOptions;
use jackfield_ports::upstream::{RawReply, RawRequest, Upstream};

pub use self::body::PassthroughBody;
pub use self::endpoint::is_multipart;

use self::added_usage::AddedUsage;
use self::batch::BatchRequest;
use self::decision::{PathInput, RequestPath};
use self::headers::{body_form, headers_for_upstream};
use self::language::Language;
use self::own_key::OwnKey;
use self::record::SpendingDraft;
use self::reply::{ReplyFilter, ReplyRules};
use self::request::{RequestBody, UpstreamBody};
use self::request_span::RequestSpan;
use self::routed::RoutedRequest;
use self::upstream_response::ResponseKeeper;
use self::waiting::Waiting;
use crate::api_keys::Principal;
use crate::config::PassthroughUpstream;
use crate::failures::{self, from_turn_end};
use crate::gateway::Gateway;
use crate::tools;
use crate::trace::trace_context;

/// A request as it arrived, with its body decompressed.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// The body.
    pub body: Bytes,
    /// The headers.
    pub headers: HeaderMap,
    /// The method.
    pub method: Method,
    /// The path, such as `/v1/messages`.
    pub path: String,
    /// The query without the question mark.
    pub query: Option<String>,
}

/// A request that is passed through.
pub struct Passthrough {
    /// The demand for usage in the request, if it is not the client's.
    added_usage: Option<AddedUsage>,
    /// What reads the reply if the request is about batches.
    batch: Option<Box<BatchRequest>>,
    /// The request as it goes to the targets of a route, if it names one; then the rest is of its first target.
    routed: Option<Box<RoutedRequest>>,
    /// `None` if the request names no model: then nothing says what it used.
    draft: Option<SpendingDraft>,
    keeper: Option<ResponseKeeper>,
    own_key: OwnKey,
    /// How long the provider is waited for.
    patience: Patience,
    request: RawRequest,
    rules: ReplyRules,
    span: Option<RequestSpan>,
    upstream: Arc<dyn Upstream>,
}

impl fmt::Debug for Passthrough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passthrough").finish_non_exhaustive()
    }
}

/// A reply that is passed through, whose body is still arriving. Dropping it closes the provider's connection.
#[derive(Debug)]
pub struct PassthroughReply {
    /// The body.
    pub body: PassthroughBody,
    /// The headers for the client.
    pub headers: HeaderMap,
    /// The status.
    pub status: StatusCode,
}

impl Gateway {
    /// The request as it is passed through; `None` if it becomes a turn, or is none in its path's language.
    ///
    /// # Errors
    ///
    /// A header of the request cannot be read, its key may not use the model, or it continues a response that another
    /// provider keeps.
    pub async fn passthrough(
        &self,
        client: &Principal,
        request: &ReceivedRequest,
    ) -> Result<Option<Passthrough>, ServeError> {
        let config = self.config();
        let header = |name: &str| {
            request
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let strict = header("x-jackfield-strict").is_some_and(|strict| strict.trim() != "false");
        let by_headers = PathInput {
            has_idempotency_key: request.headers.contains_key("idempotency-key"),
            has_session: request.headers.contains_key("x-session-id"),
            has_upstream: true,
            is_enabled: client.passthrough.unwrap_or(config.passthrough.is_enabled),
            is_strict: strict || config.default_options.strict.is_some(),
            ..PathInput::default()
        };
        // The body, which may be long, is read only if it matters.
        if decision::decide(by_headers) != RequestPath::Passthrough {
            return Ok(None);
        }
        let Some(body) = RequestBody::of(request) else {
            return Ok(None);
        };
        let Ok(requested) = self.requested_model(&body.model) else {
            return Ok(None);
        };
        self.check_model(client, Some(&body.model), &requested)?;
        other_models::check_body(client, &body)?;
        other_models::check_query(client, request.query.as_deref(), Some(&body.model))?;
        let is_assistant = requested.assistant.is_some();
        let language = Language::of_path(&request.path);
        let is_response = language == Language::Responses;
        let route = requested.route.as_ref();
        let mut route = route.and_then(|name| self.engine().route(name));
        let mut model = requested.model;
        let previous = if is_response {
            self.previous_upstream(client, &body).await?
        } else {
            None
        };
        if let Some(previous) = &previous {
            (model, route) = previous.continue_with(self, model, route)?;
        }
        let selected = tools::select(
            &client.tools,
            &config.offered_tools,
            header(tools::HEADER),
            body.has_tools(),
        )?;
        let upstream = config.passthrough.upstreams.get(&model.provider);
        let serves = |upstream: &PassthroughUpstream, model: &ModelRef| {
            let path = body.path_for(&request.path, &model.model);
            upstream.is_enabled && upstream.upstream.serves(&path)
        };
        let upstream = upstream.filter(|upstream| serves(upstream, &model));
        let is_mixed = |route: &Arc<Route>| !self.is_route_passed_through(route, &serves);
        let input = PathInput {
            has_configured_options: self
                .options_of(&model.provider)
                .is_some_and(|options| has_configured_options(&options)),
            is_mixed_route: route.as_ref().is_some_and(is_mixed),
            has_foreign_conversation: is_response
                && body.is_set("conversation")
                && !self.shares_conversations(client, &model.provider),
            has_previous_reply: is_response
                && body.is_set("previous_response_id")
                && previous.is_none(),
            has_server_tools: self.offers(client, &selected, &model.provider),
            has_upstream: upstream.is_some(),
            is_assistant,
            is_background: is_response
                && body.is_true("background")
                // A budget counts what the gateway sees.
                && (config.passthrough.keeps_responses || !client.budgets().is_empty()),
            keeps_response: is_response
                && config.passthrough.keeps_responses
                && !body.is_false("store"),
            ..by_headers
        };
        let path = decision::decide(input);
        tracing::debug!(?path, "the path of a request");
        let (RequestPath::Passthrough, Some(upstream)) = (path, upstream) else {
            return Ok(None);
        };
        let (mut span, traced) = RequestSpan::begin(self.engine(), request).unzip();
        let request = traced.as_ref().unwrap_or(request);
        if let Some(route) = route {
            let routed = self.routed(client, request, &body, language, &route.name);
            let routed = routed.inspect_err(|error| {
                if let Some(span) = &mut span {
                    span.failed(error);
                }
            })?;
            let prepared = self.prepare(
                client,
                request,
                body.for_upstream(&request.body, &model.model, false),
                None,
                language,
                (&model.provider, upstream),
            );
            let mut passthrough = prepared.map_err(|error| failures::internal(&error))?;
            passthrough.routed = Some(Box::new(routed));
            passthrough.span = span;
            return Ok(Some(passthrough));
        }
        let asked = (&*upstream.upstream, &*model.model);
        let adds_usage = body.needs_usage(&request.path, language, asked);
        let end_user = end_user(&body, language);
        let mut body = body.for_upstream(&request.body, &model.model, adds_usage);
        body.end_user = end_user;
        let provider = Arc::clone(&model.provider);
        let upstream = (&*provider, upstream);
        let prepared = self.prepare(client, request, body, Some(model), language, upstream);
        let mut passthrough = prepared.map_err(|error| failures::internal(&error))?;
        if let (Some(draft), Some(route)) = (&mut passthrough.draft, &requested.route) {
            draft.route(route);
        }
        passthrough.span = span;
        Ok(Some(passthrough))
    }

    fn prepare(
        &self,
        client: &Principal,
        request: &ReceivedRequest,
        body: UpstreamBody,
        model: Option<ModelRef>,
        language: Language,
        (provider, upstream): (&str, &PassthroughUpstream),
    ) -> io::Result<Passthrough> {
        let mut raw = RawRequest {
            credential: None,
            body: body.body,
            headers: headers_for_upstream(&request.headers),
            method: request.method.clone(),
            path: body.path.unwrap_or_else(|| request.path.clone()),
            query: request.query.clone(),
        };
        // A whole reply is silent until the model has written all of it.
        let whole_reply = self.config().limits.whole_reply;
        let patience = if body.is_stream {
            Patience {
                first_piece: None,
                is_whole: false,
                silence: self.config().default_options.limits.model_idle,
            }
        } else {
            Patience {
                first_piece: Some(whole_reply),
                is_whole: true,
                silence: whole_reply,
            }
        };
        let has_cost = model
            .as_ref()
            .is_some_and(|model| upstream.upstream.states_cost(&model.model));
        let draft = match model {
            Some(model) => {
                let principal = client.principal_for(body.end_user.as_deref());
                let mut draft =
                    SpendingDraft::new(self, principal, request, model, raw.body.len())?;
                draft.budgets = client.budgets();
                Some(draft)
            }
            None => None,
        };
        let keeper = self.response_keeper(&request.path, body.response);
        if let Some(context) = draft.as_ref().and_then(SpendingDraft::call_context) {
            request_span::set_context(&mut raw.headers, &context);
        }
        let batch = BatchRequest::of(self, client, request, &raw, provider)?;
        if batch.as_ref().is_some_and(BatchRequest::needs_all) {
            raw.headers.remove(RANGE);
        }
        let results_at = raw.path.starts_with(batch_addresses::CLAUDE);
        let results_at = results_at.then(|| self.config().public_url.clone().unwrap_or_default());
        Ok(Passthrough {
            added_usage: body.added_usage,
            batch: batch.map(Box::new),
            routed: None,
            draft,
            own_key: OwnKey {
                engine: self.engine().clone(),
                principal: Arc::clone(&client.principal),
                provider: provider.into(),
            },
            patience,
            request: raw,
            rules: ReplyRules {
                has_cost,
                language,
                reads_id: keeper.is_some(),
                rename: body.change,
                results_at,
                removes_usage: body.removes_usage,
            },
            keeper,
            span: None,
            upstream: Arc::clone(&upstream.upstream),
        })
    }
}

impl Passthrough {
    /// Sends the request, and returns the reply as soon as its head has arrived. Dropping the future cancels it.
    ///
    /// # Errors
    ///
    /// The provider cannot be reached, or refuses the gateway's own key, or a budget of the client is used up.
    pub async fn send(mut self) -> Result<PassthroughReply, ServeError> {
        let mut span = self.span.take();
        let mut sent = self.send_on().await;
        if let Some(span) = &mut span {
            match &sent {
                Ok(reply) => span.replied(reply.status),
                Err(error) => span.failed(error),
            }
        }
        if let Ok(reply) = &mut sent {
            reply.body.span = span;
        }
        sent
    }

    async fn send_on(mut self) -> Result<PassthroughReply, ServeError> {
        if let Some(routed) = self.routed.take() {
            return routed.send().await;
        }
        let credential = self.own_key.find().await;
        self.request.credential =
            credential.map_err(|failure| from_turn_end(&TurnEnd::Failed(failure)))?;
        let has_own_key = self.request.credential.is_some();
        if let Some(batch) = &mut self.batch {
            batch.begin(has_own_key).await?;
        }
        if let Some(draft) = &mut self.draft {
            draft.own_key(has_own_key);
            let reserved = draft.reserve(&self.request.body).await;
            reserved.map_err(|failure| from_turn_end(&TurnEnd::Failed(failure)))?;
            draft.sending();
        }
        let waiting = Waiting::new(self.patience);
        let sending = added_usage::send(&*self.upstream, self.request, self.added_usage);
        let sent = waiting.bounded(sending).await;
        let sent = sent.and_then(|sent| sent.map_err(|error| error.failure));
        let (reply, is_without_usage) = sent.map_err(|failure| {
            if let Some(draft) = &mut self.draft {
                draft.failed(&failure);
            }
            from_turn_end(&TurnEnd::Failed(failure))
        })?;
        self.rules.removes_usage &= !is_without_usage;
        let status = reply.status;
        if let Some(draft) = &mut self.draft {
            draft.status(status, &reply.headers);
        }
        // What the provider says of a person's own key is for that person.
        if let Some(failure) = key_failure(status).filter(|_| !has_own_key) {
            return Err(from_turn_end(&TurnEnd::Failed(failure)));
        }
        if self.rules.language == Language::Gemini
            && status == StatusCode::BAD_REQUEST
            && !has_own_key
        {
            // The vendor's status for a wrong key.
            let refused = routed::refused(Language::Gemini, reply, waiting).await;
            let (failure, reply) =
                refused.map_err(|failure| from_turn_end(&TurnEnd::Failed(failure)))?;
            if failure.kind == ModelFailureKind::Unauthenticated {
                return Err(from_turn_end(&TurnEnd::Failed(failure)));
            }
            return Ok(reply);
        }
        let filter = ReplyFilter::new(body_form(&reply.headers), self.rules);
        let (status, mut batch) = (reply.status, self.batch);
        let batch = batch.take_if(|batch| batch.reads(status, &reply.headers));
        let mut passed = PassthroughReply::new(reply, self.draft, filter, waiting, self.keeper);
        passed.body.batch = batch;
        Ok(passed)
    }
}

impl PassthroughReply {
    fn new(
        reply: RawReply,
        draft: Option<SpendingDraft>,
        filter: ReplyFilter,
        waiting: Waiting,
        keeper: Option<ResponseKeeper>,
    ) -> Self {
        let mut headers = reply.headers;
        if filter.may_change() {
            headers.remove(CONTENT_LENGTH);
        }
        headers.insert(PATH, HeaderValue::from_static("passthrough"));
        Self {
            body: PassthroughBody {
                batch: None,
                call: None,
                draft,
                failed: None,
                filter: Some(filter),
                first: None,
                is_ended: false,
                keeper: keeper.filter(|_| reply.status.is_success()),
                raw: reply.body,
                span: None,
                waiting,
            },
            headers,
            status: reply.status,
        }
    }
}

/// The end user that a body names, if the name is not too long to be recorded.
fn end_user(body: &RequestBody<'_>, language: Language) -> Option<Arc<str>> {
    let end_user = body.end_user(language);
    let end_user = end_user.filter(|user| user.len() <= MAX_END_USER);
    end_user.map(Into::into)
}

/// Whether a prompt, settings or a budget are configured. The default prompt is about server tools.
fn has_configured_options(options: &TurnOptions) -> bool {
    let mut parts = options.system.parts.iter();
    parts.any(|part| part.origin != PartOrigin::Default)
        || options.settings != Settings::default()
        || options.allowance.tokens.is_some()
        || options.allowance.cost.is_some()
}

/// The failure if the provider refuses the gateway's own key, which is not the client's.
fn key_failure(status: StatusCode) -> Option<ModelFailure> {
    let kind = match status {
        StatusCode::UNAUTHORIZED => ModelFailureKind::Unauthenticated,
        StatusCode::FORBIDDEN => ModelFailureKind::Forbidden,
        _ => return None,
    };
    let message = format!("the provider answered with status {}", status.as_u16());
    Some(ModelFailure::new(kind, Phase::BeforeFirstDelta, message))
}

/// The header that names the path of a request.
pub const PATH: HeaderName = HeaderName::from_static("x-jackfield-path");
/// The header that names the target of a route which answers.
const TARGET: HeaderName = HeaderName::from_static("x-jackfield-target");
/// The maximum length of a recorded end user, in bytes.
const MAX_END_USER: usize = 512;
const CHAT: &str = "/v1/chat/completions";

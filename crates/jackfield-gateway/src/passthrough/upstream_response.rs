//! Responses that a provider keeps, with `serve.responses = "upstream"`: whose they are, and the requests for them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::Route;
use jackfield_engine::{Engine, chain};
use jackfield_ports::journal::upstream_responses::UpstreamResponse;
use jackfield_ports::upstream::endpoint_covers;

use super::language::Language;
use super::record::SpendingDraft;
use super::reply::ModelNames;
use super::request::{AskedResponse, RequestBody, UpstreamBody};
use super::{Passthrough, ReceivedRequest, end_user};
use crate::api_keys::Principal;
use crate::failures::{self, from_engine_error};
use crate::gateway::Gateway;

/// Stores whose a response is, before its client learns its id.
#[derive(Debug)]
pub(super) struct ResponseKeeper {
    asked: AskedResponse,
    engine: Engine,
}

impl ResponseKeeper {
    /// Stores that the response of this id belongs to the principal of the request. Without that the reply is as good, but
    /// it is the last of its conversation.
    pub(super) async fn keep(self, id: &str, draft: &mut SpendingDraft) {
        let Some(responses) = self.engine.upstream_responses() else {
            return;
        };
        if id.len() > MAX_ID || !endpoint_covers(BELOW, &path_of(id, "")) {
            tracing::warn!("a response cannot be continued: its id has no place in an address");
            return;
        }
        let now = self.engine.now();
        let request = draft.begun();
        let AskedResponse {
            is_background,
            model,
        } = self.asked;
        let response = UpstreamResponse {
            expires: now.after(LIFETIME),
            is_background,
            model,
            place: UpstreamResponse::place_of(&request.principal, id),
            request,
        };
        match responses.store_upstream_response(&response, now).await {
            Ok(()) if is_background => draft.defer(),
            Ok(()) => {}
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(id, %error, "a response cannot be continued: the journal fails");
            }
        }
    }
}

impl Gateway {
    /// What stores whose the response to this request is; `None` if its provider is to keep none.
    pub(super) fn response_keeper(
        &self,
        path: &str,
        asked: Option<AskedResponse>,
    ) -> Option<ResponseKeeper> {
        let asked = asked.filter(|_| path == RESPONSES && self.keeps_upstream());
        asked.map(|asked| ResponseKeeper {
            asked,
            engine: self.engine().clone(),
        })
    }

    /// Whether the providers keep responses that are passed through.
    fn keeps_upstream(&self) -> bool {
        !self.config().passthrough.keeps_responses
    }

    /// The response with this id that a provider keeps for this principal, for any end user.
    pub(crate) async fn upstream_response(
        &self,
        principal: &str,
        id: &str,
    ) -> Result<Option<UpstreamResponse>, ServeError> {
        let responses = self.engine().upstream_responses();
        let Some(responses) = responses.filter(|_| self.keeps_upstream()) else {
            return Ok(None);
        };
        let place = UpstreamResponse::place_of(principal, id);
        let found = responses.find_upstream_response(&place).await;
        let found = found.map_err(|error| from_engine_error(&error.into()))?;
        let now = self.engine().now();
        Ok(found.filter(|response| response.expires > now))
    }

    /// The response that this request continues, with its id, if a provider keeps it for the client and its end user.
    pub(super) async fn previous_upstream(
        &self,
        client: &Principal,
        body: &RequestBody<'_>,
    ) -> Result<Option<PreviousResponse>, ServeError> {
        let Some(id) = body.text("previous_response_id") else {
            return Ok(None);
        };
        let found = self.upstream_response(&client.principal, &id).await?;
        let principal = client.principal_for(end_user(body, Language::Responses).as_deref());
        let found = found.filter(|response| response.request.principal == principal);
        Ok(found.map(|response| PreviousResponse {
            id: id.into_owned(),
            model: response.request.model,
        }))
    }

    /// The error of a turn that is to continue a response which a provider keeps: the turn has none of its history.
    pub(crate) async fn not_of_turns(&self, principal: &str, id: &str) -> Option<ServeError> {
        let found = self.upstream_response(principal, id).await.ok().flatten()?;
        if *found.request.principal != *principal {
            return None;
        }
        let provider = &found.request.model.provider;
        let message = format!(
            "the provider `{provider}` keeps the response `{id}`, and only a request that is passed through can continue it: this one becomes a turn"
        );
        let error = ServeError::new(ServeErrorKind::Invalid, message);
        Some(error.at("previous_response_id"))
    }

    /// A request for a response that its provider keeps, such as for its `/cancel`; `None` if the provider keeps none of
    /// this id for the client.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::NoSuchReply`] if the provider is not configured any more, and
    /// [`ServeErrorKind::Unavailable`] if the journal cannot be read.
    pub async fn passthrough_to_response(
        &self,
        client: &Principal,
        id: &str,
        action: &str,
        request: &ReceivedRequest,
    ) -> Result<Option<Passthrough>, ServeError> {
        let config = &self.config().passthrough;
        if !client.passthrough.unwrap_or(config.is_enabled) {
            return Ok(None);
        }
        let Some(response) = self.upstream_response(&client.principal, id).await? else {
            return Ok(None);
        };
        let ModelRef { model, provider } = &response.request.model;
        let path = path_of(id, action);
        let upstream = config.upstreams.get(provider);
        let upstream =
            upstream.filter(|upstream| upstream.is_enabled && upstream.upstream.serves(&path));
        let upstream = upstream.ok_or_else(|| gone(id, provider))?;
        let query = request.query.as_deref().unwrap_or_default();
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        let body = UpstreamBody {
            added_usage: None,
            body: Bytes::new(),
            end_user: None,
            is_stream: pairs.any(|(key, value)| key == "stream" && value == "true"),
            path: Some(path),
            change: (response.model != *model).then(|| ModelNames::new(&response.model, model)),
            removes_usage: false,
            response: None,
        };
        let upstream = (&**provider, upstream);
        let prepared = self.prepare(client, request, body, None, Language::Responses, upstream);
        let mut passthrough = prepared.map_err(|error| failures::internal(&error))?;
        if response.is_background {
            passthrough.draft = Some(SpendingDraft::deferred(self, response.request));
        }
        Ok(Some(passthrough))
    }

    /// Whether a client may use the conversations that a provider keeps, which belong to its account: a gateway without
    /// keys has one client, and elsewhere its token opens their endpoint.
    pub(super) fn shares_conversations(&self, client: &Principal, provider: &str) -> bool {
        let is_open = client.lookup.is_none() && self.config().api_keys.is_open();
        let mut own = client.endpoints.iter();
        is_open
            || own.any(|open| *open.provider == *provider && open.path.starts_with(CONVERSATIONS))
    }
}

/// A response of a provider that a request continues.
pub(super) struct PreviousResponse {
    id: String,
    /// The model that wrote it.
    model: ModelRef,
}

impl PreviousResponse {
    /// The model that continues it, and the route that may choose another one: what the request names, or of a route the
    /// target at the provider that keeps the response.
    pub(super) fn continue_with(
        &self,
        gateway: &Gateway,
        model: ModelRef,
        route: Option<Arc<Route>>,
    ) -> Result<(ModelRef, Option<Arc<Route>>), ServeError> {
        let Self { id, model: own } = self;
        let provider = &own.provider;
        if !gateway
            .config()
            .passthrough
            .upstreams
            .contains_key(provider)
        {
            return Err(gone(id, provider).at("previous_response_id"));
        }
        let is_there = |model: &ModelRef| model.provider == *provider;
        let Some(route) = route else {
            if is_there(&model) {
                return Ok((model, None));
            }
            return Err(elsewhere(id, provider, &model.provider));
        };
        let mut targets = route.targets.iter().map(|target| &target.model);
        if targets.clone().all(is_there) {
            return Ok((model, Some(route)));
        }
        let same = targets.clone().find(|target| *target == own);
        match same.or_else(|| targets.find(|target| is_there(target))) {
            Some(target) => Ok((target.clone(), None)),
            None => Err(elsewhere(id, provider, &route.name)),
        }
    }
}

fn path_of(id: &str, action: &str) -> String {
    format!("{RESPONSES}/{id}{action}")
}

/// The error for a response whose provider is not there any more.
fn gone(id: &str, provider: &str) -> ServeError {
    let message = format!(
        "the provider `{provider}` keeps the response `{id}`, and nothing is passed through to it any more"
    );
    ServeError::new(ServeErrorKind::NoSuchReply, message)
}

/// The error for a response and a model at different providers.
fn elsewhere(id: &str, provider: &str, asked: &str) -> ServeError {
    let message = format!(
        "the provider `{provider}` keeps the response `{id}`, and `{asked}` cannot continue it: name a model of `{provider}`"
    );
    ServeError::new(ServeErrorKind::Invalid, message).at("previous_response_id")
}

const RESPONSES: &str = "/v1/responses";
const BELOW: &str = "/v1/responses/*";
const CONVERSATIONS: &str = "/v1/conversations";
/// The maximum length of the id of a response, in bytes.
const MAX_ID: usize = 512;
/// For how long it is known whose a response is: twice the 30 days for which vendors keep it (OpenAI, Azure; 2026-11).
pub(super) const LIFETIME: Duration = Duration::from_secs(60 * 24 * 60 * 60);

//! One message and its answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use jackfield_domain::failure::{Phase, RetryAdvice};
use jackfield_ports::call_context::LeasePassed;
use jackfield_ports::chat_model::ModelError;
use jackfield_provider_kit::transport::{Incoming, Transport};
use rmcp::model::{ErrorData, ProtocolVersion, RequestId};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;
use url::Url;

use super::HttpSettings;
use super::address::Address;
use super::failures;
use super::sent::{SentMessage, header_value};
use crate::auth::challenge::Challenge;
use crate::auth::{Authorization, Bearer, Remedy};
use crate::era::Era;
use crate::failure::{LinkFailure, LinkFailureKind};
use crate::link::LinkEvent;
use crate::mark::{RequestMark, WriteClaim};
use crate::message::{ReadMessage, ServerMessage, error_data};

/// An endpoint, and the queue for all that comes from it.
pub(super) struct Exchange {
    pub(super) address: Address,
    pub(super) events: mpsc::Sender<LinkEvent>,
    pub(super) session: HttpSession,
    pub(super) settings: HttpSettings,
    pub(super) transport: Transport,
}

/// What the handshake has settled.
#[derive(Default)]
pub(super) struct HttpSession(Mutex<SessionState>);

#[derive(Default)]
struct SessionState {
    era: Option<Era>,
    /// The id of the session, which a server of the older era may give.
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

impl HttpSession {
    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn era(&self) -> Option<Era> {
        self.lock().era
    }

    /// Records the outcome of the handshake. A session that the other era's answer began does not count.
    pub(super) fn settle(&self, era: Era, version: &str) {
        let mut state = self.lock();
        state.era = Some(era);
        state.version = HeaderValue::from_str(version).ok();
        if era == Era::Stateless {
            state.id = None;
        }
    }

    /// The id of the session, if there is one and it is text.
    pub(super) fn id(&self) -> Option<String> {
        let state = self.lock();
        state.id.as_ref()?.to_str().ok().map(str::to_owned)
    }

    pub(super) fn is_open(&self) -> bool {
        self.lock().id.is_some()
    }
}

impl Exchange {
    /// Sends a request, and queues its answer or its failure.
    pub(super) async fn ask(self: Arc<Self>, sent: &SentMessage, mark: Option<RequestMark>) {
        let Some(id) = &sent.request_id else {
            return;
        };
        let answered = match mark.as_ref().map_or(WriteClaim::Begun, RequestMark::begin) {
            WriteClaim::Begun => self.answer(sent, id).await,
            WriteClaim::Passed => Err(failures::passed(LeasePassed)),
            // Its requester is gone.
            WriteClaim::Withdrawn => return,
        };
        if let Err(failure) = answered {
            let failure = Box::new(self.told(failure));
            let id = id.clone();
            let _gone = self.events.send(LinkEvent::Failed { id, failure }).await;
        }
    }

    /// Sends a message that gets no answer.
    pub(super) async fn tell(&self, sent: &SentMessage) {
        let why = match self.post(sent).await {
            // Any status of success will do: some servers answer 200 instead of 202.
            Ok(incoming) if incoming.status().is_success() => return,
            Ok(incoming) => format!("it was answered {}", incoming.status()),
            Err(failure) => self.redacted(&failure.reason),
        };
        let method = match &*sent.method {
            "" => "a reply",
            method => method,
        };
        self.note(&format!("[not taken] {method}: {why}")).await;
    }

    /// Ends the session at the server, which need not agree.
    pub(super) async fn end_session(&self) {
        if !self.session.is_open() {
            return;
        }
        let Ok(mut request) = self.request(Method::DELETE, HeaderMap::new(), Bytes::new()) else {
            return;
        };
        // Without a token the server refuses, and forgets the session by itself. No token is renewed for this.
        let authorization = self.settings.authorization.as_ref();
        let bearer = authorization.and_then(|authorization| authorization.known_bearer());
        sign(&mut request, bearer.as_ref());
        let _late = timeout(ENDING, self.transport.send(request)).await;
        self.session.lock().id = None;
    }

    async fn answer(&self, sent: &SentMessage, id: &RequestId) -> Result<(), LinkFailure> {
        let incoming = self.post(sent).await?;
        let status = incoming.status();
        if !status.is_success() {
            return self.refusal(sent, id, incoming).await;
        }
        if sent.method == "initialize" {
            self.session.lock().id = incoming.headers().get(SESSION).cloned();
        }
        let host = self.address.host();
        match incoming.media_type().as_deref() {
            Some("application/json") => {
                let incoming = incoming
                    .decompress()
                    .await
                    .map_err(|error| failed(&error))?;
                let body = incoming.into_body().await.map_err(|error| failed(&error))?;
                if self.deliver(body.to_vec(), Some(id)).await {
                    return Ok(());
                }
                let why = "its JSON is no message, or answers another request";
                Err(failures::no_answer(&host, why))
            }
            Some("text/event-stream") => self.read_stream(incoming, id).await,
            _ if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT => {
                let why = format!("it says {status}");
                Err(failures::no_answer(&host, &why))
            }
            other => Err(failures::media_type(&host, other)),
        }
    }

    /// Sends a message, and returns the head of the answer. Redirects within the origin are followed if they keep
    /// the method.
    async fn post(&self, sent: &SentMessage) -> Result<Incoming, LinkFailure> {
        let mut headers = self.message_headers(sent);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let mut url = self.address.url.clone();
        let mut bearer = self.bearer().await?;
        let mut is_renewed = false;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut request = self.request(Method::POST, headers.clone(), sent.body.clone())?;
            *request.uri_mut() = uri(&url)?;
            sign(&mut request, bearer.as_ref());
            let incoming = match self.transport.send_call(request, &sent.call).await {
                Ok(incoming) => incoming,
                Err(error)
                    if attempts == 1
                        && sent.is_repeatable()
                        && error.failure.advice == RetryAdvice::AtOnce =>
                {
                    continue;
                }
                Err(error)
                    if error.failure.phase == Phase::BeforeSend && sent.call.begin().is_err() =>
                {
                    return Err(failures::passed(LeasePassed));
                }
                Err(error) => return Err(failed(&error)),
            };
            if let Some(authorization) = &self.settings.authorization
                && let Some(refused) = Refused::of(&incoming)
            {
                // Who wants a token says so in a header; without it, the words may be about the session.
                if Challenge::of(incoming.headers()).is_none() {
                    self.read_refusal(sent, incoming).await?;
                }
                // Refused before it was acted on: this request is sent again, and no other one.
                bearer = self
                    .remedied(authorization, refused, bearer.as_ref(), is_renewed)
                    .await?;
                is_renewed = true;
                continue;
            }
            if !incoming.status().is_redirection() {
                return Ok(incoming);
            }
            let host = self.address.host();
            let to = incoming.header(LOCATION.as_str());
            let target = to.and_then(|to| url.join(to).ok());
            let keeps_method = matches!(incoming.status().as_u16(), 307 | 308);
            match target {
                Some(target)
                    if keeps_method && target.origin() == url.origin() && attempts < MAX_HOPS =>
                {
                    url = target;
                }
                target => {
                    let shown = target.map(|target| {
                        let origin = target.origin().ascii_serialization();
                        failures::cut(&format!("{origin}{}", target.path()))
                    });
                    return Err(failures::redirect(&host, shown.as_deref()));
                }
            }
        }
    }

    /// The token for a request, if the store has a sign-in at the server.
    pub(super) async fn bearer(&self) -> Result<Option<Bearer>, LinkFailure> {
        match &self.settings.authorization {
            Some(authorization) => authorization.bearer().await.map_err(failures::sign_in),
            None => Ok(None),
        }
    }

    /// The token to send a refused request with, once.
    async fn remedied(
        &self,
        authorization: &Arc<Authorization>,
        refused: Refused,
        used: Option<&Bearer>,
        is_renewed: bool,
    ) -> Result<Option<Bearer>, LinkFailure> {
        let host = self.address.host();
        match refused {
            Refused::Scope(challenge) => {
                let fault = authorization.uncovered(&challenge, &host).await;
                Err(failures::sign_in(fault))
            }
            Refused::Token if is_renewed => Err(failures::sign_in(authorization.unaccepted(&host))),
            Refused::Token => match authorization.refused(used, &host).await {
                Remedy::Again(bearer) => Ok(Some(bearer)),
                Remedy::Person(fault) | Remedy::Wait(fault) => Err(failures::sign_in(fault)),
            },
        }
    }

    /// The error of the protocol and the JSON in an answer without success, unless that says that the server has forgotten
    /// the session.
    async fn read_refusal(
        &self,
        sent: &SentMessage,
        incoming: Incoming,
    ) -> Result<(Option<ErrorData>, String), LinkFailure> {
        let (status, media_type) = (incoming.status(), incoming.media_type());
        let is_json = media_type.as_deref() == Some("application/json");
        let is_page = media_type.as_deref() == Some("text/html");
        let body = incoming.into_error_body().await;
        let error = is_json.then(|| rpc_error(&body)).flatten();
        let text = String::from_utf8_lossy(&body).into_owned();
        if self.session.is_open() && sent.method != "initialize" {
            let words = match &error {
                Some(error) => error.message.to_lowercase(),
                None if is_page => String::new(),
                None => text.to_lowercase(),
            };
            if failures::forgets_session(status, error.as_ref(), &words) {
                return Err(failures::session_lost(&self.address.host()));
            }
        }
        Ok((error, if is_json { text } else { String::new() }))
    }

    /// An answer without success: an error of the protocol, or a failure.
    async fn refusal(
        &self,
        sent: &SentMessage,
        id: &RequestId,
        incoming: Incoming,
    ) -> Result<(), LinkFailure> {
        let (host, status) = (self.address.host(), incoming.status());
        let (error, json) = self.read_refusal(sent, incoming).await?;
        let is_about_access = matches!(status.as_u16(), 401 | 403);
        match error {
            Some(error) if !is_about_access => {
                let id = Some(id.clone());
                let message = ServerMessage::Error { error, id };
                self.queue(ReadMessage {
                    message,
                    repaired: false,
                })
                .await;
                Ok(())
            }
            error => {
                let is_old = sent.method == "initialize"
                    && matches!(status.as_u16(), 400 | 404 | 405)
                    && self.is_old_transport().await;
                if is_old {
                    return Err(failures::old_transport(&host));
                }
                // Pages say little.
                let words = error.map_or(json, |error| error.message.into());
                // Redacted before it is cut, which could leave a part of a secret.
                let words = failures::cut(&self.redacted(&words));
                Err(failures::status(&host, status, &words))
            }
        }
    }

    /// A request to the endpoint with the headers of its configuration and of the session.
    pub(super) fn request(
        &self,
        method: Method,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Request<Bytes>, LinkFailure> {
        headers.extend(
            self.address
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        {
            let state = self.session.lock();
            if let Some(id) = &state.id {
                headers.insert(SESSION, id.clone());
            }
            if let Some(version) = &state.version {
                headers.insert(VERSION, version.clone());
            }
        }
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri(&self.address.url)?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// The headers that repeat parts of a message, which the newer era requires.
    fn message_headers(&self, sent: &SentMessage) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let era = self.session.era();
        let is_probe = sent.method == "server/discover" && era.is_none();
        if era != Some(Era::Stateless) && !is_probe {
            return headers;
        }
        if is_probe {
            let version = ProtocolVersion::V_2026_07_28;
            if let Ok(version) = HeaderValue::from_str(version.as_str()) {
                headers.insert(VERSION, version);
            }
        }
        if let Some(method) = header_value(&sent.method) {
            headers.insert("mcp-method", method);
        }
        if let Some(name) = sent.name.as_deref().and_then(header_value) {
            headers.insert("mcp-name", name);
        }
        for (name, value) in &sent.mirrored.0 {
            let name = HeaderName::try_from(format!("mcp-param-{name}"));
            if let (Ok(name), Some(value)) = (name, header_value(value)) {
                headers.insert(name, value);
            }
        }
        headers
    }

    pub(super) async fn queue(&self, message: ReadMessage) {
        let _gone = self.events.send(LinkEvent::Message(message)).await;
    }

    pub(super) async fn note(&self, text: &str) {
        let line = text.as_bytes().to_vec();
        let _gone = self.events.send(LinkEvent::Note(line)).await;
    }

    /// A text without secrets that the server repeats.
    fn redacted(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.settings.secrets {
            text = text.replace(secret, "[redacted]");
        }
        match &self.settings.authorization {
            Some(authorization) => authorization.without_secrets(&text),
            None => text,
        }
    }

    /// The failure as callers may see it: without secrets that the server repeats.
    fn told(&self, mut failure: LinkFailure) -> LinkFailure {
        failure.reason = self.redacted(&failure.reason);
        if self.settings.expose_faults {
            return failure;
        }
        let server = &self.settings.id;
        tracing::warn!(%server, "a request to an MCP server has failed: {failure}");
        LinkFailure {
            advice: "the log says why".to_owned(),
            reason: "its endpoint gave no usable answer".to_owned(),
            ..failure
        }
    }
}

/// Why a server with a sign-in refuses a request.
enum Refused {
    /// The token does not cover the request.
    Scope(Challenge),
    /// There is no token, or not a good one.
    Token,
}

impl Refused {
    fn of(incoming: &Incoming) -> Option<Self> {
        match incoming.status() {
            StatusCode::UNAUTHORIZED => Some(Self::Token),
            StatusCode::FORBIDDEN => {
                let challenge = Challenge::of(incoming.headers());
                let challenge = challenge.filter(Challenge::is_insufficient_scope);
                challenge.map(Self::Scope)
            }
            _ => None,
        }
    }
}

/// Adds the token to a request.
pub(super) fn sign(request: &mut Request<Bytes>, bearer: Option<&Bearer>) {
    if let Some(header) = bearer.and_then(Bearer::header) {
        request.headers_mut().insert(AUTHORIZATION, header);
    }
}

/// The failure of the transport.
pub(super) fn failed(error: &ModelError) -> LinkFailure {
    failures::transport(&error.failure)
}

fn uri(url: &Url) -> Result<http::Uri, LinkFailure> {
    let uri = url.as_str().parse();
    uri.map_err(|_| {
        LinkFailure::unknown(
            LinkFailureKind::Protocol,
            "its `url` cannot be used in a request",
            "correct its `url`",
        )
    })
}

/// The error in a body, if it is a message of the protocol. Its id does not matter: one body belongs to one request.
fn rpc_error(body: &[u8]) -> Option<ErrorData> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = body.get("error").filter(|error| error.is_object())?;
    error.get("code").filter(|code| code.is_number())?;
    Some(error_data(&error.to_string()))
}

/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";
/// The header with the revision of the protocol.
const VERSION: &str = "mcp-protocol-version";
/// The time limit for the end of a session.
const ENDING: Duration = Duration::from_millis(400);
/// The most addresses that one message is sent to, one after another.
const MAX_HOPS: u32 = 3;

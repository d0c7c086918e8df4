//! The transport of `rmcp` over a link.

use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, ClientJsonRpcMessage, ClientNotification, CustomResult,
    GetExtensions as _, GetMeta as _, JsonRpcMessage, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc, watch};

use crate::abandoned::AbandonedRequests;
use crate::announcement::ContextAnnouncement;
use crate::answer::{RequestError, carried_failure, carried_unreadable};
use crate::link::{Link, LinkEvent, Outgoing};
use crate::log::Log;
use crate::mark::{RequestMark, RequestsInFlight};
use crate::message::{ReadMessage, ServerMessage};
use crate::mirrored::MirroredArguments;
use crate::questions::{AllowedQuestions, Refusal};

/// A link as a transport of `rmcp`.
///
/// Requests carry their [`RequestMark`] in the extensions, which are never sent. Responses are passed on unparsed.
/// Notifications (progress, list changes, log messages) are handled right here, in order: `rmcp` would start a task
/// for each of them.
pub(crate) struct LinkTransport {
    pub(crate) abandoned: Arc<AbandonedRequests>,
    /// What the server may ask.
    pub(crate) allowed: AllowedQuestions,
    pub(crate) in_flight: Arc<RequestsInFlight>,
    pub(crate) link: Box<dyn Link>,
    pub(crate) notices: ServerNotices,
    /// Replies to questions of the server.
    pub(crate) replies: mpsc::Receiver<Outgoing>,
}

/// The receivers of a server's notifications.
pub(crate) struct ServerNotices {
    /// The number of changes of the list of tools.
    pub(crate) changes: watch::Sender<u64>,
    /// What is announced of resources and prompts.
    pub(crate) context: broadcast::Sender<ContextAnnouncement>,
    /// Whether the link has ended.
    pub(crate) ended: watch::Sender<bool>,
    /// Whether the server has forgotten the session. The link ends with the last request in flight.
    pub(crate) session_lost: watch::Sender<bool>,
    /// Whether the server announces list changes at present.
    pub(crate) subscribed: watch::Sender<bool>,
    pub(crate) log: Arc<Log>,
}

impl Transport<RoleClient> for LinkTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (mut mark, mut mirrored) = (None, MirroredArguments::default());
        match &message {
            JsonRpcMessage::Request(request) => {
                mark = request.request.extensions().get::<RequestMark>().cloned();
                let headers = request.request.extensions().get::<MirroredArguments>();
                mirrored = headers.cloned().unwrap_or_default();
                let token = request.request.get_meta().get_progress_token();
                if let (Some(mark), Some(token)) = (&mark, token) {
                    let id = request.id.clone();
                    self.in_flight.begin(id, token, mark.clone());
                }
            }
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_flight.end(id);
                }
            }
            JsonRpcMessage::Error(_) | JsonRpcMessage::Response(_) => {}
        }
        let written = serde_json::to_vec(&message)
            .map_err(io::Error::from)
            .map(|bytes| {
                let call = mark.as_ref().map(|mark| mark.call().clone());
                self.link.send(Outgoing {
                    bytes,
                    call: call.unwrap_or_default(),
                    mark,
                    mirrored,
                })
            });
        async move { written?.await }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let event = tokio::select! {
                event = self.link.receive() => event,
                Some(reply) = self.replies.recv() => {
                    drop(self.link.send(reply));
                    continue;
                }
            };
            if event.as_ref().is_some_and(LinkEvent::is_loss_of_session) {
                // Before its requester learns it, so that a new session is begun then.
                self.notices.session_lost.send_replace(true);
            }
            let ReadMessage { repaired, message } = match event {
                None => {
                    self.notices.ended.send_replace(true);
                    return None;
                }
                Some(LinkEvent::Failed { id, failure }) => {
                    self.in_flight.end(&id);
                    if self.abandoned.take(&id).is_some() {
                        continue;
                    }
                    let result = CustomResult::new(carried_failure(&failure));
                    let result = ServerResult::CustomResult(result);
                    return Some(JsonRpcMessage::response(result, id));
                }
                Some(LinkEvent::Message(message)) => message,
                Some(LinkEvent::Note(line)) => {
                    self.notices.log.push(&line);
                    continue;
                }
                Some(LinkEvent::SessionLost) => continue,
            };
            if repaired {
                self.notices.log.push(REPAIRED);
            }
            match message {
                ServerMessage::Answer { answer, id } => {
                    self.in_flight.end(&id);
                    if let Some(afterlife) = self.abandoned.take(&id) {
                        afterlife.handle(Ok(answer));
                        continue;
                    }
                    let result = ServerResult::CustomResult(CustomResult::new(answer.into()));
                    return Some(JsonRpcMessage::response(result, id));
                }
                ServerMessage::Error { error, id } => {
                    if let Some(id) = &id {
                        self.in_flight.end(id);
                        if let Some(afterlife) = self.abandoned.take(id) {
                            afterlife.handle(Err(RequestError::Refused(Box::new(error))));
                            continue;
                        }
                    }
                    return Some(JsonRpcMessage::error(error, id));
                }
                ServerMessage::Log(log) => {
                    self.notices.log_message(&log.params);
                    if let Some(message) = self.notices.log.message(&log.params) {
                        self.in_flight.forward_log(log.during.as_ref(), message);
                    }
                }
                ServerMessage::Noise(line) => self.notices.log_noise(&line),
                ServerMessage::Notification { method, params } => match method.as_str() {
                    // The server cancels a request of its own, or ends the subscription.
                    "notifications/cancelled" => {
                        if let Ok(params) = serde_json::from_value(params) {
                            let note = CancelledNotification::new(params);
                            return Some(JsonRpcMessage::notification(note.into()));
                        }
                    }
                    "notifications/progress" => self.in_flight.forward_progress(&params),
                    "notifications/subscriptions/acknowledged" => {
                        let accepted = params.pointer("/notifications/toolsListChanged");
                        if accepted == Some(&Value::Bool(true)) {
                            self.notices.subscribed.send_replace(true);
                        }
                        self.notices.announce_context(&method, params);
                    }
                    "notifications/tools/list_changed" => {
                        self.notices.changes.send_modify(|times| *times += 1);
                    }
                    _ => self.notices.announce_context(&method, params),
                },
                ServerMessage::Question(question) => {
                    let forwarded = match self.allowed.has(question.method) {
                        true => self.in_flight.forward_question(question),
                        false => Err(question),
                    };
                    if let Err(question) = forwarded {
                        let refused = question.refuse(&Refusal::invalid(NOT_ASKED));
                        drop(self.link.send(Outgoing::new(refused)));
                    }
                }
                ServerMessage::Request(request) => return Some(*request),
                ServerMessage::Unreadable {
                    id,
                    line,
                    reason: why,
                } => {
                    self.notices.log_noise(&line);
                    self.in_flight.end(&id);
                    if let Some(afterlife) = self.abandoned.take(&id) {
                        afterlife.handle(Err(RequestError::Unreadable(why)));
                        continue;
                    }
                    let result = CustomResult::new(carried_unreadable(why));
                    let result = ServerResult::CustomResult(result);
                    return Some(JsonRpcMessage::response(result, id));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.link.close().await;
        Ok(())
    }
}

impl Drop for LinkTransport {
    fn drop(&mut self) {
        self.notices.ended.send_replace(true);
    }
}

impl ServerNotices {
    fn announce_context(&self, method: &str, params: Value) {
        if let Some(announcement) = ContextAnnouncement::read(method, params) {
            // Without a watch, there is no receiver.
            let _unwatched = self.context.send(announcement);
        }
    }

    pub(crate) fn log_noise(&self, line: &[u8]) {
        let mut text = b"[not the protocol, on standard output] ".to_vec();
        text.extend_from_slice(line.trim_ascii_end());
        self.log.push(&text);
    }

    pub(crate) fn log_message(&self, params: &Value) {
        let level = params.get("level").and_then(Value::as_str).unwrap_or("log");
        let data = match params.get("data") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        self.log.push(format!("[{level}] {data}").as_bytes());
    }
}

/// Why a question is refused that belongs to no call, or that the server must not ask.
const NOT_ASKED: &str = "this client does not take such a request now";
/// The prefix in the log of a line whose JSON was repaired.
const REPAIRED: &[u8] = b"[not JSON, on standard output: what JSON does not have was replaced]";

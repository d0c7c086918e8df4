//! One request in flight: its answer, its progress, and its cancellation when it is dropped.

use std::sync::Arc;

use jackfield_ports::call_context::CallContext;
use jackfield_ports::server_log::ServerLogMessage;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest,
    GetExtensions as _, RequestId, RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use rmcp::{Peer, RoleClient};
use tokio::sync::oneshot;

use crate::abandoned::{AbandonedRequests, LateReply};
use crate::answer::{RequestError, RpcAnswer, into_answer};
use crate::mark::{RequestMark, RequestNews, RequestProgress};
use crate::message::ServerQuestion;
use crate::observed::{ObservedRequest, ObservedServer};

/// A request in flight. Dropping it cancels it at the server, if it was sent.
pub(crate) struct PendingRequest {
    abandoned: Arc<AbandonedRequests>,
    late_reply: Option<LateReply>,
    answer: CarriedAnswer,
    /// What cancellation needs; `None` once the request has ended.
    open: Option<(Peer<RoleClient>, RequestId)>,
    mark: RequestMark,
    news: RequestNews,
    /// What observers get when this is dropped.
    pub(crate) observed: Option<ObservedRequest>,
}

/// The answer as `rmcp` passes it on.
type CarriedAnswer = oneshot::Receiver<Result<ServerResult, ServiceError>>;

pub(crate) enum RequestEvent {
    Answer(Result<RpcAnswer, RequestError>),
    Log(ServerLogMessage),
    Progress(RequestProgress),
    /// The server asks a person, and waits.
    Question(ServerQuestion),
}

impl PendingRequest {
    pub(crate) async fn send(
        peer: &Peer<RoleClient>,
        abandoned: &Arc<AbandonedRequests>,
        mut request: ClientRequest,
        meta: Option<RequestMetaObject>,
        late_reply: Option<LateReply>,
        call: CallContext,
        server: &ObservedServer,
    ) -> Result<Self, RequestError> {
        let mut observed = server.begin_request(&request);
        let (mark, news) = RequestMark::new(call);
        request.extensions_mut().insert(mark.clone());
        let mut options = PeerRequestOptions::no_options();
        options.meta = meta;
        let sent = peer.send_request_with_option(request, options).await;
        let sent = sent.map_err(|_| RequestError::Closed);
        if let Some(observed) = &mut observed {
            match &sent {
                Ok(handle) => observed.sent(&handle.id),
                Err(_) => observed.end(&sent),
            }
        }
        let handle = sent?;
        Ok(Self {
            abandoned: Arc::clone(abandoned),
            late_reply,
            answer: handle.rx,
            mark,
            open: Some((handle.peer, handle.id)),
            news,
            observed,
        })
    }

    /// The id of the request, while it is open.
    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.open.as_ref().map(|(_, id)| id)
    }

    /// Waits for the next event, the last of which is the answer. Cancel safe until then.
    pub(crate) async fn next_event(&mut self) -> RequestEvent {
        let answer = tokio::select! {
            // Progress first, as it must be reported before the answer that followed it.
            biased;
            Some(progress) = self.news.progress.recv() => return RequestEvent::Progress(progress),
            Some(message) = self.news.logs.recv() => return RequestEvent::Log(message),
            Some(question) = self.news.questions.recv() => return RequestEvent::Question(question),
            answer = &mut self.answer => answer,
        };
        RequestEvent::Answer(self.finish(answer))
    }

    /// Takes no log messages from here on.
    pub(crate) fn ignore_logs(&mut self) {
        self.news.logs.close();
    }

    /// Waits for the answer, and takes no questions. Cancel safe until it has arrived.
    pub(crate) async fn answer(&mut self) -> Result<RpcAnswer, RequestError> {
        self.ignore_logs();
        self.news.questions.close();
        let answer = (&mut self.answer).await;
        self.finish(answer)
    }

    fn finish(
        &mut self,
        answer: Result<Result<ServerResult, ServiceError>, oneshot::error::RecvError>,
    ) -> Result<RpcAnswer, RequestError> {
        self.open = None;
        let answer = into_answer(answer.unwrap_or(Err(ServiceError::TransportClosed)));
        if let Some(observed) = &mut self.observed {
            observed.end(&answer);
        }
        answer
    }

    /// Whether the request is not sent, because its call may not begin any more.
    pub(crate) fn has_passed(&self) -> bool {
        self.mark.has_passed()
    }

    /// Withdraws the request if no byte of it was written; `true` proves that none will be.
    pub(crate) fn withdraw(&self) -> bool {
        self.mark.withdraw()
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let Some((peer, id)) = self.open.take() else {
            return;
        };
        // A request that is still in the queue is not sent, so the server needs no cancellation.
        if self.mark.withdraw() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let abandoned = Arc::clone(&self.abandoned);
        if let Some(afterlife) = self.late_reply.take() {
            abandoned.add(id.clone(), afterlife);
        }
        // The receiver is moved to the task, so another one takes its place.
        let answer = std::mem::replace(&mut self.answer, oneshot::channel().1);
        let cancellations = abandoned.cancellations().clone();
        let cancellation = async move {
            let params =
                CancelledNotificationParam::new(Some(id.clone()), Some(CANCEL_REASON.to_owned()));
            let note = ClientNotification::from(CancelledNotification::new(params));
            let _gone = peer.send_notification(note).await;
            // The answer may have been on its way already. Otherwise this ends at once: `rmcp` ends a request when
            // its cancellation is sent.
            if let Ok(answer @ (Ok(_) | Err(ServiceError::McpError(_)))) = answer.await
                && let Some(afterlife) = abandoned.take(&id)
            {
                afterlife.handle(into_answer(answer));
            }
        };
        cancellations.spawn_on(cancellation, &runtime);
    }
}

/// The reason sent with a cancellation.
const CANCEL_REASON: &str = "its result is no longer needed";

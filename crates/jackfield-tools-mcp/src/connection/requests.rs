//! Requests of our own, and replies to those of the server.

use std::time::Duration;

use jackfield_ports::call_context::CallContext;
use rmcp::model::{ClientRequest, RequestMetaObject};
use tokio::time::timeout;

use super::ServerConnection;
use crate::abandoned::LateReply;
use crate::answer::{RequestError, RpcAnswer};
use crate::link::Outgoing;
use crate::request::PendingRequest;

impl ServerConnection {
    pub(crate) async fn send(
        &self,
        request: ClientRequest,
        meta: Option<RequestMetaObject>,
        late_reply: Option<LateReply>,
        call: CallContext,
    ) -> Result<PendingRequest, RequestError> {
        let (peer, abandoned) = (&self.peer, &self.abandoned);
        let observed = &self.observed;
        PendingRequest::send(peer, abandoned, request, meta, late_reply, call, observed).await
    }

    /// Replies to a question of the server in this call; `false` if the connection is gone.
    pub(crate) async fn reply(&self, reply: Vec<u8>, call: &CallContext) -> bool {
        let reply = Outgoing::of_call(reply, call.clone());
        self.replies.send(reply).await.is_ok()
    }

    /// Sends a request and waits for its answer for at most this long.
    pub(crate) async fn request(
        &self,
        request: impl Into<ClientRequest>,
        limit: Duration,
    ) -> Result<RpcAnswer, RequestError> {
        let call = CallContext::default();
        self.request_in(request.into(), None, limit, call).await
    }

    /// As [`request`](Self::request), with this metadata, and for one that makes this call go on.
    pub(crate) async fn request_in(
        &self,
        request: ClientRequest,
        meta: Option<RequestMetaObject>,
        limit: Duration,
        call: CallContext,
    ) -> Result<RpcAnswer, RequestError> {
        let mut request = self.send(request, meta, None, call).await?;
        if let Ok(answer) = timeout(limit, request.answer()).await {
            return answer;
        }
        let late = Err(RequestError::Late);
        if let Some(observed) = &mut request.observed {
            observed.end(&late);
        }
        late
    }
}

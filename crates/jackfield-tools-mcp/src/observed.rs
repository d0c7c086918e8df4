//! Reports requests to a server, and sessions with it, to observers.

use std::sync::Arc;
use std::time::Duration;

use jackfield_ports::mcp_observer::{McpObservers, McpRequest, McpSession, McpSide, McpTransport};
use rmcp::model::{ClientRequest, RequestId};
use tokio::time::Instant;
use url::Url;

use crate::answer::RequestError;
use crate::config::ServerConfig;
use crate::era::Era;
use crate::failure::LinkFailureKind;

/// A server whose requests are observed.
pub(crate) struct ObservedServer {
    observers: McpObservers,
    /// What all requests to the server have in common; `None` without an observer.
    request: Option<McpRequest>,
}

/// A request that is observed. Its observers learn of it when this is dropped.
pub(crate) struct ObservedRequest {
    began: Instant,
    is_ended: bool,
    observers: McpObservers,
    request: McpRequest,
}

impl ObservedServer {
    /// A server before the handshake.
    pub(crate) fn new(observers: &McpObservers, config: &ServerConfig) -> Self {
        let request = (!observers.is_empty()).then(|| {
            let url = config.http.as_ref().map(|endpoint| &endpoint.url);
            let transport = match url {
                Some(_) => McpTransport::Tcp,
                None => McpTransport::Pipe,
            };
            let url = url.and_then(|url| Url::parse(url.trim()).ok());
            let address = url.and_then(|url| {
                let host = url.host_str()?.into();
                Some((host, url.port_or_known_default()))
            });
            McpRequest {
                address,
                server: Some(config.id.as_str().into()),
                ..McpRequest::new(McpSide::Client, transport, "")
            }
        });
        Self {
            observers: observers.clone(),
            request,
        }
    }

    /// The handshake has settled the revision of the protocol and the session.
    pub(crate) fn settle(&mut self, revision: &str, session: Option<String>) {
        if let Some(request) = &mut self.request {
            request.revision = Some(revision.into());
            request.session = session.map(Into::into);
        }
    }

    /// A request of this method that begins now.
    pub(crate) fn begin(&self, method: &str) -> Option<ObservedRequest> {
        let common = self.request.clone()?;
        Some(ObservedRequest {
            began: Instant::now(),
            is_ended: false,
            observers: self.observers.clone(),
            request: McpRequest {
                method: method.into(),
                ..common
            },
        })
    }

    /// This request, which begins now.
    pub(crate) fn begin_request(&self, request: &ClientRequest) -> Option<ObservedRequest> {
        let mut begun = self.begin(request.method())?;
        if let ClientRequest::CallToolRequest(call) = request {
            begun.request.tool = Some((*call.params.name).into());
        } else if let ClientRequest::GetPromptRequest(get) = request {
            begun.request.prompt = Some((*get.params.name).into());
        }
        Some(begun)
    }

    /// A session has ended, because of this or because its end was asked for.
    pub(crate) fn session_ended(&self, took: Duration, error: Option<&str>) {
        let Some(McpRequest {
            revision: Some(revision),
            server,
            session,
            side,
            transport,
            ..
        }) = &self.request
        else {
            return;
        };
        // Over HTTP there are servers without sessions.
        if *transport == McpTransport::Pipe || session.is_some() {
            self.observers.session_ended(&McpSession {
                error: error.map(Into::into),
                revision: Arc::clone(revision),
                server: server.clone(),
                side: *side,
                took,
                transport: *transport,
            });
        }
    }
}

impl ObservedRequest {
    /// What is known of it by now.
    pub(crate) const fn request(&self) -> &McpRequest {
        &self.request
    }

    /// The handshake is complete: this was its request.
    pub(crate) fn settle(mut self, era: Era, server: &ObservedServer) {
        self.stop();
        if era == Era::Stateless {
            self.request.method = DISCOVER.into();
        }
        if let Some(settled) = &server.request {
            self.request.revision.clone_from(&settled.revision);
            self.request.session.clone_from(&settled.session);
        }
    }

    /// It was sent under this id.
    pub(crate) fn sent(&mut self, id: &RequestId) {
        self.request.id = Some(id.to_string().into());
    }

    /// It has ended with an answer, or without one.
    pub(crate) fn end<T>(&mut self, answer: &Result<T, RequestError>) {
        self.stop();
        let error = match answer {
            Ok(_) => return,
            Err(RequestError::Refused(error)) => return self.request.refuse(error.code.0),
            Err(RequestError::Closed) => "closed",
            Err(RequestError::Failed(failure)) => match failure.kind {
                LinkFailureKind::Protocol => "protocol_violation",
                LinkFailureKind::Timeout => "timeout",
                LinkFailureKind::Unavailable => "unavailable",
            },
            Err(RequestError::Late) => "timeout",
            Err(RequestError::Unreadable(_)) => "unreadable",
        };
        self.request.error = Some(error.into());
    }

    /// It has failed for this reason, unless there is another one already.
    pub(crate) fn fail(&mut self, error: &str) {
        self.stop();
        self.request.error.get_or_insert_with(|| error.into());
    }

    fn stop(&mut self) {
        if !self.is_ended {
            self.is_ended = true;
            self.request.took = self.began.elapsed();
        }
    }
}

impl Drop for ObservedRequest {
    fn drop(&mut self) {
        if !self.is_ended {
            self.fail("cancelled");
        }
        self.observers.request_ended(&self.request);
    }
}

/// The method of the handshake with a server of the newer era.
const DISCOVER: &str = "server/discover";

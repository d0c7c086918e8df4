//! The sessions of clients of the older revisions, bounded in number and time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_engine::{McpObservers, McpSession, McpSide, McpTransport};
use rmcp::model::{ClientJsonRpcMessage, InitializeRequestParams, JsonRpcMessage, RequestId};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::changes::SubscribedResources;
use crate::life::ConnectionLife;
use crate::log_level::ChosenLogLevel;

/// The sessions, by their ids.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Arc<ClientSession>>>);

#[derive(Debug)]
pub(super) struct ClientSession {
    began: Instant,
    client: String,
    pub(super) life: ConnectionLife,
    pub(super) log_level: Arc<ChosenLogLevel>,
    observers: McpObservers,
    open: Mutex<OpenRequests>,
    /// The client's own words at the beginning, with the negotiated revision.
    pub(super) peer: InitializeRequestParams,
    pub(super) subscribed: Arc<SubscribedResources>,
    /// One permit for each concurrent call.
    pub(super) turns: Arc<Semaphore>,
}

#[derive(Debug)]
struct OpenRequests {
    /// The questions of its calls, by the ids that the client was given.
    asked: HashMap<RequestId, AskedRequest>,
    by_id: HashMap<RequestId, ConnectionLife>,
    last_used: Instant,
    /// How many questions its calls have asked.
    questions: u64,
    /// How many streams of changes are open.
    streams: usize,
}

/// A question of a call: its id there, and where the response goes.
#[derive(Debug)]
struct AskedRequest {
    during: RequestId,
    id: RequestId,
    responses: mpsc::Sender<ClientJsonRpcMessage>,
}

/// A request's place in its session.
#[derive(Debug)]
pub(super) struct OpenRequest {
    id: RequestId,
    session: Arc<ClientSession>,
}

/// The place of a stream of changes in its session.
#[derive(Debug)]
pub(super) struct OpenStream(Arc<ClientSession>);

impl Sessions {
    /// Begins a session with this number of concurrent calls; gives its id. At the limit of a client, one of its sessions
    /// ends: the one that was unused for longest, and one that is in use only if all are.
    ///
    /// # Errors
    ///
    /// The operating system has no random numbers.
    pub(super) fn begin(
        &self,
        client: &str,
        peer: InitializeRequestParams,
        most_calls: usize,
        observers: McpObservers,
    ) -> Result<String, getrandom::Error> {
        let mut random = [0; 32];
        getrandom::fill(&mut random)?;
        let id = Digest::from_bytes(random).to_hex();
        let session = Arc::new(ClientSession {
            began: Instant::now(),
            client: client.to_owned(),
            life: ConnectionLife::new(),
            log_level: Arc::default(),
            observers,
            open: Mutex::new(OpenRequests {
                asked: HashMap::new(),
                by_id: HashMap::new(),
                last_used: Instant::now(),
                questions: 0,
                streams: 0,
            }),
            peer,
            subscribed: Arc::default(),
            turns: Arc::new(Semaphore::new(most_calls)),
        });
        let mut sessions = self.lock();
        // An expired session has nothing to end.
        sessions.retain(|_, session| !session.is_expired());
        let own = sessions
            .iter()
            .filter(|(_, session)| session.client == client);
        let own: Vec<(&String, (bool, Instant))> = own
            .map(|(id, session)| {
                let open = session.lock();
                (id, (open.is_busy(), open.last_used))
            })
            .collect();
        if own.len() >= MOST_SESSIONS {
            let oldest = own.iter().min_by_key(|(_, order)| *order);
            if let Some(oldest) = oldest.map(|(id, _)| (*id).clone())
                && let Some(ended) = sessions.remove(&oldest)
            {
                ended.end();
            }
        }
        sessions.insert(id.clone(), session);
        Ok(id)
    }

    pub(super) fn find(&self, client: &str, id: &str) -> Option<Arc<ClientSession>> {
        let sessions = self.lock();
        let session = sessions.get(id).filter(|session| session.client == client);
        let session = session.filter(|session| !session.is_expired())?;
        session.lock().last_used = Instant::now();
        Some(Arc::clone(session))
    }

    /// Ends a client's session; `false` if there is none.
    pub(super) fn end(&self, client: &str, id: &str) -> bool {
        let mut sessions = self.lock();
        let own = sessions.get(id).filter(|session| session.client == client);
        let is_own = own.is_some();
        if let Some(ended) = is_own.then(|| sessions.remove(id)).flatten() {
            ended.end();
        }
        is_own
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<ClientSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSession {
    /// Adds a request to a session.
    ///
    /// # Errors
    ///
    /// The id is that of another open request, or there are too many.
    pub(super) fn open(
        session: &Arc<Self>,
        id: &RequestId,
        life: &ConnectionLife,
    ) -> Result<OpenRequest, String> {
        let mut open = session.lock();
        if open.by_id.contains_key(id) {
            return Err(format!("a request of the id `{id}` is under way"));
        }
        if open.by_id.len() >= MOST_REQUESTS {
            return Err("too many requests are under way; wait for one".to_owned());
        }
        open.by_id.insert(id.clone(), life.clone());
        drop(open);
        Ok(OpenRequest {
            id: id.clone(),
            session: Arc::clone(session),
        })
    }

    /// Adds a stream of changes to a session.
    pub(super) fn listen(session: &Arc<Self>) -> OpenStream {
        session.lock().streams += 1;
        OpenStream(Arc::clone(session))
    }

    /// Cancels an open request, if there is such a one.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(life) = self.lock().by_id.get(id) {
            life.close();
        }
    }

    /// Passes the client's response on to the call that asked; one to no open question is ignored.
    pub(super) async fn answered(&self, id: &RequestId, mut response: ClientJsonRpcMessage) {
        let Some(asked) = self.lock().asked.remove(id) else {
            return;
        };
        match &mut response {
            JsonRpcMessage::Response(response) => response.id = asked.id,
            JsonRpcMessage::Error(error) => error.id = Some(asked.id),
            JsonRpcMessage::Notification(_) | JsonRpcMessage::Request(_) => return,
        }
        // The call may have ended meanwhile.
        let _ended = asked.responses.send(response).await;
    }

    /// Ends its streams and requests.
    fn end(&self) {
        self.life.close();
        for life in self.lock().by_id.values() {
            life.close();
        }
    }

    fn is_expired(&self) -> bool {
        let open = self.lock();
        !open.is_busy() && open.last_used.elapsed() > IDLE
    }

    fn lock(&self) -> MutexGuard<'_, OpenRequests> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session is over, and nothing uses it any more.
impl Drop for ClientSession {
    fn drop(&mut self) {
        if self.observers.is_empty() {
            return;
        }
        let took = self.lock().last_used.duration_since(self.began);
        self.observers.session_ended(&McpSession {
            error: None,
            revision: self.peer.protocol_version.as_str().into(),
            server: None,
            side: McpSide::Server,
            took,
            transport: McpTransport::Tcp,
        });
    }
}

impl OpenRequests {
    /// Whether a request or a stream of changes is open.
    fn is_busy(&self) -> bool {
        !self.by_id.is_empty() || self.streams > 0
    }
}

impl OpenRequest {
    /// Opens a question of the request, and gives the id for the client: those of requests are counted for each request
    /// alone.
    pub(super) fn ask(
        &self,
        id: &RequestId,
        responses: &mpsc::Sender<ClientJsonRpcMessage>,
    ) -> RequestId {
        let mut open = self.session.lock();
        open.questions += 1;
        let theirs = RequestId::String(format!("question-{}", open.questions).into());
        let asked = AskedRequest {
            during: self.id.clone(),
            id: id.clone(),
            responses: responses.clone(),
        };
        open.asked.insert(theirs.clone(), asked);
        theirs
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut open = self.session.lock();
        open.asked.retain(|_, asked| asked.during != self.id);
        open.by_id.remove(&self.id);
        open.last_used = Instant::now();
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.0.lock();
        open.streams -= 1;
        open.last_used = Instant::now();
    }
}

/// How long a session is kept without a request.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// The maximum number of open requests of a session.
const MOST_REQUESTS: usize = 1024;
/// The maximum number of sessions of one client.
const MOST_SESSIONS: usize = 128;

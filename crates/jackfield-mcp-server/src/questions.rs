//! Questions of tools, passed on to the client (MCP, "Elicitation", revisions 2025-06-18 to 2026-07-28, read 2026-11-26).
//!
//! In the older era the question is a request on the stream of the call. In the newer one it is the result of the call,
//! which is kept here until the client sends it again with the answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::wait::{ElicitationAnswer, Question};
use jackfield_engine::{DirectOutcome, QuestionHandler};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientResult, ElicitResult, ElicitationAction,
    InputRequest, InputRequests, InputRequiredResult, ServerRequest,
};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// What a client can be asked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct AskableClient {
    form: bool,
    url: bool,
}

impl AskableClient {
    pub(crate) fn of(capabilities: Option<ClientCapabilities>) -> Self {
        match capabilities.and_then(|capabilities| capabilities.elicitation) {
            None => Self::default(),
            // Before there were modes, the capability was empty, and stood for forms.
            Some(elicitation) => Self {
                form: elicitation.form.is_some() || elicitation.url.is_none(),
                url: elicitation.url.is_some(),
            },
        }
    }

    pub(crate) const fn is_none(self) -> bool {
        !self.form && !self.url
    }

    /// The request with this question; `None` if the client cannot be asked it.
    fn request(self, question: &Question) -> Option<Value> {
        let message = &*question.message;
        let params = match (&question.schema, &question.url) {
            _ if question.sampling.is_some() => return None,
            (_, Some(url)) if self.url => json!({
                "elicitationId": Digest::of(url.as_bytes()).to_hex(),
                "message": message,
                "mode": "url",
                "url": **url,
            }),
            (Some(schema), None) if self.form => {
                json!({ "message": message, "requestedSchema": **schema })
            }
            _ => return None,
        };
        Some(json!({ "method": "elicitation/create", "params": params }))
    }
}

/// The answer in a client's response; anything else than an answer dismisses the question.
fn answer(response: Value) -> ElicitationAnswer {
    match serde_json::from_value::<ElicitResult>(response) {
        Ok(result) => match result.action {
            ElicitationAction::Accept => {
                let content = result.content.unwrap_or_else(|| json!({}));
                ElicitationAnswer::Accepted(Arc::new(content))
            }
            ElicitationAction::Decline => ElicitationAnswer::Declined,
            _ => ElicitationAnswer::Dismissed,
        },
        Err(_) => ElicitationAnswer::Dismissed,
    }
}

/// Asks the client of the older era by a request, and waits for its response.
pub(crate) struct PeerQuestions {
    pub(crate) client: AskableClient,
    pub(crate) peer: Peer<RoleServer>,
}

#[async_trait]
impl QuestionHandler for PeerQuestions {
    async fn answer(&mut self, question: &Question) -> ElicitationAnswer {
        let request = self.client.request(question);
        let request = request.and_then(|request| serde_json::from_value(request).ok());
        let Some(request) = request else {
            return ElicitationAnswer::Declined;
        };
        match self
            .peer
            .send_request(ServerRequest::ElicitRequest(request))
            .await
        {
            Ok(ClientResult::ElicitResult(result)) => {
                answer(serde_json::to_value(result).unwrap_or_default())
            }
            Ok(_) | Err(_) => ElicitationAnswer::Dismissed,
        }
    }
}

/// Passes questions to the request that waits for the call.
struct QueuedQuestions {
    client: AskableClient,
    questions: mpsc::Sender<AskedQuestion>,
}

/// A question, as a request, and the place for its answer.
type AskedQuestion = (InputRequest, oneshot::Sender<ElicitationAnswer>);

#[async_trait]
impl QuestionHandler for QueuedQuestions {
    async fn answer(&mut self, question: &Question) -> ElicitationAnswer {
        let request = self.client.request(question);
        let request = request.and_then(|request| serde_json::from_value(request).ok());
        let Some(request) = request else {
            return ElicitationAnswer::Declined;
        };
        let (sender, answered) = oneshot::channel();
        if self.questions.send((request, sender)).await.is_err() {
            return ElicitationAnswer::Dismissed;
        }
        answered.await.unwrap_or(ElicitationAnswer::Dismissed)
    }
}

/// A call whose client may be asked; dropping it aborts the tool.
pub(crate) struct AskingCall {
    /// The place for the answer to the last question.
    answer: Option<oneshot::Sender<ElicitationAnswer>>,
    questions: mpsc::Receiver<AskedQuestion>,
    task: JoinHandle<DirectOutcome>,
}

/// What a call has come to.
pub(crate) enum CallStep {
    Asked(Box<InputRequest>),
    /// `None` if its task has crashed.
    Ended(Option<DirectOutcome>),
}

impl AskingCall {
    /// Begins a call; `call` makes it, with the handler of its questions.
    pub(crate) fn begin<F>(
        client: AskableClient,
        call: impl FnOnce(Box<dyn QuestionHandler>) -> F,
    ) -> Self
    where
        F: Future<Output = DirectOutcome> + Send + 'static,
    {
        let (sender, questions) = mpsc::channel(1);
        let handler = QueuedQuestions {
            client,
            questions: sender,
        };
        Self {
            answer: None,
            questions,
            task: tokio::spawn(call(Box::new(handler))),
        }
    }

    /// Waits for the end of the call, or for its next question.
    pub(crate) async fn next(&mut self) -> CallStep {
        tokio::select! {
            biased;
            Some((request, answer)) = self.questions.recv() => {
                self.answer = Some(answer);
                CallStep::Asked(Box::new(request))
            }
            ended = &mut self.task => CallStep::Ended(ended.ok()),
        }
    }
}

impl Drop for AskingCall {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The calls that wait for an answer of their clients, by the state that the client sends back.
#[derive(Default)]
pub(crate) struct WaitingCalls(Mutex<HashMap<String, WaitingCall>>);

struct WaitingCall {
    call: AskingCall,
    client: Arc<str>,
    tool: Arc<str>,
    until: Instant,
}

impl WaitingCalls {
    /// Keeps a call for [`MAX_WAIT`], and gives the result that asks the question. Without room for it, it is dropped.
    pub(crate) fn keep(
        self: &Arc<Self>,
        call: AskingCall,
        (client, tool): (&str, &str),
        request: InputRequest,
    ) -> Option<InputRequiredResult> {
        // Who knows the state answers the question, so it cannot be guessed.
        let mut random = [0; 32];
        getrandom::fill(&mut random).ok()?;
        let state = Digest::from_bytes(random).to_hex();
        let until = Instant::now() + MAX_WAIT;
        let mut waiting = self.lock();
        let own = waiting.values().filter(|other| &*other.client == client);
        if own.count() >= MAX_CALLS {
            return None;
        }
        let call = WaitingCall {
            call,
            client: client.into(),
            tool: tool.into(),
            until,
        };
        waiting.insert(state.clone(), call);
        drop(waiting);
        let (calls, late) = (Arc::downgrade(self), state.clone());
        tokio::spawn(async move {
            sleep_until(until).await;
            if let Some(calls) = calls.upgrade() {
                calls.lock().remove(&late);
            }
        });
        let requests = InputRequests::from([(QUESTION.to_owned(), request)]);
        Some(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// The call that the client sends again, with its answer passed on; `None` if none of this client and tool waits.
    pub(crate) fn resume(&self, client: &str, again: &CallToolRequestParams) -> Option<AskingCall> {
        let state = again.request_state.as_deref()?;
        let mut waiting = self.lock();
        let found = waiting.get(state)?;
        if &*found.client != client || *found.tool != *again.name || found.until <= Instant::now() {
            return None;
        }
        let mut call = waiting.remove(state)?.call;
        drop(waiting);
        let responses = again.input_responses.as_ref();
        let response = responses.and_then(|responses| responses.get(QUESTION));
        if let Some(place) = call.answer.take() {
            // The tool may have ended meanwhile.
            let _ended = place.send(answer(response.cloned().unwrap_or_default()));
        }
        Some(call)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, WaitingCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for WaitingCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WaitingCalls")
            .field(&self.lock().len())
            .finish()
    }
}

/// The maximum number of calls of a client that wait.
const MAX_CALLS: usize = 64;
/// The longest wait for an answer.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// The key of the question in a result.
const QUESTION: &str = "question";

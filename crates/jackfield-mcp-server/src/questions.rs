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
    CallToolRequestParams, ClientCapabilities, ClientResult, ElicitRequest, ElicitResult,
    ElicitationAction, InputRequest, InputRequests, InputRequiredResult, ServerRequest,
};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

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
    fn request(self, question: &Question) -> Option<ElicitRequest> {
        let message = &*question.message;
        let params = match (&question.schema, &question.url) {
            _ if question.sampling.is_some() => return None,
            (_, Some(url)) if self.url => json!({
                "elicitationId": random_id()?,
                "message": message,
                "mode": "url",
                "url": **url,
            }),
            (Some(schema), None) if self.form => {
                json!({ "message": message, "requestedSchema": **schema })
            }
            _ => return None,
        };
        let request = json!({ "method": "elicitation/create", "params": params });
        serde_json::from_value(request).ok()
    }
}

/// A name that cannot be guessed; `None` if the operating system has no random numbers.
fn random_id() -> Option<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).ok()?;
    Some(Digest::from_bytes(random).to_hex())
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
            ElicitationAction::Cancel | _ => ElicitationAnswer::Dismissed,
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
        let Some(request) = self.client.request(question) else {
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
        let Some(request) = self.client.request(question) else {
            return ElicitationAnswer::Declined;
        };
        let (sender, answered) = oneshot::channel();
        let request = InputRequest::Elicitation(request);
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

/// The next event of a call.
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
        &self,
        call: AskingCall,
        (client, tool): (&str, &str),
        request: InputRequest,
    ) -> Option<InputRequiredResult> {
        // Who knows the state answers the question.
        let state = random_id()?;
        let now = Instant::now();
        let mut waiting = self.lock();
        waiting.retain(|_, call| call.until > now);
        let own = waiting.values().filter(|other| &*other.client == client);
        if own.count() >= MAX_CALLS {
            return None;
        }
        let call = WaitingCall {
            call,
            client: client.into(),
            tool: tool.into(),
            until: now + MAX_WAIT,
        };
        waiting.insert(state.clone(), call);
        drop(waiting);
        let requests = InputRequests::from([(QUESTION.to_owned(), request)]);
        Some(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// The call that the client sends again, with its answer passed on.
    ///
    /// # Errors
    ///
    /// What is wrong: no call of this client and tool waits under the state, or there is no answer; then it still waits.
    pub(crate) fn resume(
        &self,
        client: &str,
        again: &CallToolRequestParams,
    ) -> Result<AskingCall, &'static str> {
        let state = again.request_state.as_deref().unwrap_or_default();
        let mut waiting = self.lock();
        let is_own = waiting.get(state).is_some_and(|found| {
            &*found.client == client && *found.tool == *again.name && found.until > Instant::now()
        });
        if !is_own {
            return Err("the call does not wait for an answer any more");
        }
        let responses = again.input_responses.as_ref();
        let response = responses.and_then(|responses| responses.get(QUESTION));
        let response = response.cloned();
        let response = response.ok_or("`inputResponses` has no answer to the question")?;
        let found = waiting.remove(state);
        drop(waiting);
        let mut call = found
            .ok_or("the call does not wait for an answer any more")?
            .call;
        if let Some(place) = call.answer.take() {
            // The tool may have ended meanwhile.
            let _ended = place.send(answer(response));
        }
        Ok(call)
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

/// The maximum number of calls of a client that wait: few of those that a server's connection holds open.
const MAX_CALLS: usize = 16;
/// The longest wait for an answer.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// The key of the question in a result.
const QUESTION: &str = "question";

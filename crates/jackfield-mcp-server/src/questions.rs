//! Questions of tools and of reads, passed on to the client: forms, pages, messages of its model, and its folders (MCP,
//! "Elicitation", "Sampling" and "Roots", revisions 2025-06-18 to 2026-07-28, read 2026-11-29).
//!
//! In the older era the question is a request on the stream of the request. In the newer one it is the result of the
//! request, whose work is kept here until the client sends it again with the answer.
#![expect(
    deprecated,
    reason = "rmcp marks messages of models and roots so (SEP-2577), and servers ask for them"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::wait::{ElicitationAnswer, Question};
use jackfield_engine::{Askable, DirectOutcome, QuestionHandler};
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult,
    ElicitationAction, ErrorData, GetPromptResult, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ListRootsRequest, ListRootsResult, ServerRequest,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::revision::Revision;

/// What a client with these capabilities can be asked.
fn askable(capabilities: Option<ClientCapabilities>, asks_people: bool) -> Askable {
    let Some(capabilities) = capabilities else {
        return Askable::NOTHING;
    };
    let elicitation = capabilities.elicitation.as_ref();
    let elicitation = elicitation.filter(|_| asks_people);
    let is_form = |pages: bool, forms: bool| forms || !pages;
    Askable {
        // Before there were modes, the capability was empty, and stood for forms.
        forms: elicitation.is_some_and(|one| is_form(one.url.is_some(), one.form.is_some())),
        messages: capabilities.sampling.is_some(),
        pages: elicitation.is_some_and(|one| one.url.is_some()),
        roots: capabilities.roots.is_some(),
    }
}

/// The request with this question; `None` if the client cannot be asked it.
fn input_request(client: Askable, question: &Question) -> Option<InputRequest> {
    if let Some(asked) = &question.sampling {
        return client.messages.then(|| message_request(asked)).flatten();
    }
    let message = &*question.message;
    let params = match (&question.schema, &question.url) {
        (_, Some(url)) if client.pages => json!({
            "elicitationId": random_id()?,
            "message": message,
            "mode": "url",
            "url": **url,
        }),
        (Some(schema), None) if client.forms => {
            json!({ "message": message, "requestedSchema": **schema })
        }
        _ => return None,
    };
    let request = json!({ "method": "elicitation/create", "params": params });
    let request = serde_json::from_value::<ElicitRequest>(request);
    request.ok().map(InputRequest::Elicitation)
}

/// The request for a message, without what belongs to the connection of its server: the client does not know the
/// server, and has no context of it.
fn message_request(asked: &Value) -> Option<InputRequest> {
    let mut params = asked.clone();
    let fields = params.as_object_mut()?;
    for name in ["_meta", "includeContext", "task"] {
        fields.remove(name);
    }
    let request = json!({ "method": "sampling/createMessage", "params": params });
    let request = serde_json::from_value::<CreateMessageRequest>(request);
    request.ok().map(InputRequest::CreateMessage)
}

/// A name that cannot be guessed; `None` if the operating system has no random numbers.
fn random_id() -> Option<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).ok()?;
    Some(Digest::from_bytes(random).to_hex())
}

/// The answer in a client's response; anything else than an answer dismisses the question.
fn answer(question: &Question, response: Value) -> ElicitationAnswer {
    if question.sampling.is_some() {
        let message = serde_json::from_value::<CreateMessageResult>(response);
        let message = message
            .ok()
            .and_then(|message| serde_json::to_value(message).ok());
        return message.map_or(ElicitationAnswer::Dismissed, |message| {
            ElicitationAnswer::Accepted(Arc::new(message))
        });
    }
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

/// The folders in a client's response.
fn folders(response: Value) -> Vec<Value> {
    let listed = serde_json::from_value::<ListRootsResult>(response);
    let roots = listed.map(|listed| listed.roots).unwrap_or_default();
    let roots = roots.into_iter().take(MAX_ROOTS);
    roots
        .filter_map(|root| serde_json::to_value(root).ok())
        .collect()
}

/// Asks the client of the older era by a request, and waits for its response.
pub(crate) struct PeerQuestions {
    client: Askable,
    peer: Peer<RoleServer>,
}

impl PeerQuestions {
    async fn ask(&self, request: InputRequest) -> Result<Value, ServiceError> {
        let request = match request {
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            // The enum may grow, and nothing else is asked here.
            _ => return Err(ServiceError::UnexpectedResponse),
        };
        let result = self.peer.send_request(request).await?;
        Ok(serde_json::to_value(result).unwrap_or_default())
    }
}

#[async_trait]
impl QuestionHandler for PeerQuestions {
    fn askable(&self) -> Askable {
        self.client
    }

    async fn answer(&mut self, question: &Question) -> ElicitationAnswer {
        let Some(request) = input_request(self.client, question) else {
            return ElicitationAnswer::Declined;
        };
        match self.ask(request).await {
            Ok(response) => answer(question, response),
            Err(ServiceError::McpError(error)) if error.code.0 == REJECTED => {
                ElicitationAnswer::Declined
            }
            Err(_) => ElicitationAnswer::Dismissed,
        }
    }

    async fn roots(&mut self) -> Vec<Value> {
        let listed = self
            .ask(InputRequest::ListRoots(ListRootsRequest::default()))
            .await;
        listed.map(folders).unwrap_or_default()
    }
}

/// How the client of a request is asked.
pub(crate) enum Asker<'a> {
    Nobody,
    /// By requests, in the older era.
    Peer(PeerQuestions),
    /// By results, in the newer era.
    Results {
        askable: Askable,
        client: &'a str,
        waiting: &'a WaitingRequests,
    },
}

/// The outcome of a request: its result, or a question.
pub(crate) enum AskingReply {
    Asked(Box<InputRequiredResult>),
    Ended(WorkResult),
}

impl<'a> Asker<'a> {
    /// How the client of this request is asked. In the older era it may not read requests; in the newer one, its requests
    /// wait in this place, under its name.
    pub(crate) fn of(
        context: &RequestContext<RoleServer>,
        reads_requests: bool,
        asks_people: bool,
        (client, waiting): (&'a str, &'a WaitingRequests),
    ) -> Self {
        let askable = askable(context.client_capabilities(), asks_people);
        if !Revision::of(context.protocol_version().as_ref()).legacy {
            return Self::Results {
                askable,
                client,
                waiting,
            };
        }
        if askable == Askable::NOTHING || !reads_requests {
            return Self::Nobody;
        }
        Self::Peer(PeerQuestions {
            client: askable,
            peer: context.peer.clone(),
        })
    }

    /// Does the work for a request, until it has ended or asks by a result.
    ///
    /// # Errors
    ///
    /// The work crashed, there is no room to wait, or a request that was sent again does not fit what waits.
    pub(crate) async fn run<F>(
        self,
        subject: &str,
        again: SentAgain,
        work: impl FnOnce(Option<Box<dyn QuestionHandler>>) -> F,
    ) -> Result<AskingReply, ErrorData>
    where
        F: Future<Output = WorkResult> + Send + 'static,
    {
        let (askable, client, waiting) = match self {
            Self::Nobody => return Ok(AskingReply::Ended(work(None).await)),
            Self::Peer(questions) => {
                return Ok(AskingReply::Ended(work(Some(Box::new(questions))).await));
            }
            Self::Results {
                askable,
                client,
                waiting,
            } => (askable, client, waiting),
        };
        let owner = RequestOwner { client, subject };
        // A state is never that of new work, whatever else the request says.
        let mut asking = match &again.state {
            Some(state) => {
                let resumed = waiting.resume(owner, state, again.responses.as_ref());
                resumed.map_err(|message| ErrorData::invalid_params(message, None))?
            }
            None if askable == Askable::NOTHING => {
                return Ok(AskingReply::Ended(work(None).await));
            }
            None => AskingWork::begin(askable, |questions| work(Some(questions))),
        };
        match asking.next().await {
            WorkStep::Ended(Some(result)) => Ok(AskingReply::Ended(result)),
            WorkStep::Ended(None) => {
                let message = "the work for the request crashed";
                Err(ErrorData::internal_error(message, None))
            }
            WorkStep::Asked(request) => {
                let asked = waiting.keep(asking, owner, *request);
                let asked = asked.ok_or_else(|| {
                    ErrorData::internal_error("too many requests wait for an answer", None)
                })?;
                Ok(AskingReply::Asked(Box::new(asked)))
            }
        }
    }
}

/// Passes questions to the request that waits for the work.
struct QueuedQuestions {
    client: Askable,
    questions: mpsc::Sender<AskedQuestion>,
}

/// A question, as a request, and the place for the response.
type AskedQuestion = (InputRequest, oneshot::Sender<Value>);

impl QueuedQuestions {
    async fn ask(&self, request: InputRequest) -> Option<Value> {
        let (sender, answered) = oneshot::channel();
        self.questions.send((request, sender)).await.ok()?;
        answered.await.ok()
    }
}

#[async_trait]
impl QuestionHandler for QueuedQuestions {
    fn askable(&self) -> Askable {
        self.client
    }

    async fn answer(&mut self, question: &Question) -> ElicitationAnswer {
        let Some(request) = input_request(self.client, question) else {
            return ElicitationAnswer::Declined;
        };
        let response = self.ask(request).await;
        response.map_or(ElicitationAnswer::Dismissed, |response| {
            answer(question, response)
        })
    }

    async fn roots(&mut self) -> Vec<Value> {
        let listed = self
            .ask(InputRequest::ListRoots(ListRootsRequest::default()))
            .await;
        listed.map(folders).unwrap_or_default()
    }
}

/// Work for a request whose client may be asked; dropping it aborts the work.
pub(crate) struct AskingWork {
    /// The place for the response to the last question.
    answer: Option<oneshot::Sender<Value>>,
    questions: mpsc::Receiver<AskedQuestion>,
    task: JoinHandle<WorkResult>,
}

/// The result of the work for a request.
pub(crate) enum WorkResult {
    Call(DirectOutcome),
    Prompt(Result<GetPromptResult, ErrorData>),
    /// The contents of a resource.
    Read(Result<Value, ErrorData>),
}

/// The next event of the work.
pub(crate) enum WorkStep {
    Asked(Box<InputRequest>),
    /// `None` if its task has crashed.
    Ended(Option<WorkResult>),
}

impl AskingWork {
    /// Begins the work, with the handler of its questions.
    pub(crate) fn begin<F>(
        client: Askable,
        work: impl FnOnce(Box<dyn QuestionHandler>) -> F,
    ) -> Self
    where
        F: Future<Output = WorkResult> + Send + 'static,
    {
        let (sender, questions) = mpsc::channel(1);
        let handler = QueuedQuestions {
            client,
            questions: sender,
        };
        Self {
            answer: None,
            questions,
            task: tokio::spawn(work(Box::new(handler))),
        }
    }

    /// Waits for the end of the work, or for its next question.
    pub(crate) async fn next(&mut self) -> WorkStep {
        tokio::select! {
            biased;
            Some((request, answer)) = self.questions.recv() => {
                self.answer = Some(answer);
                WorkStep::Asked(Box::new(request))
            }
            ended = &mut self.task => WorkStep::Ended(ended.ok()),
        }
    }
}

impl Drop for AskingWork {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What waits for an answer of a client, by the state that the client sends back.
#[derive(Default)]
pub(crate) struct WaitingRequests(Mutex<HashMap<String, WaitingRequest>>);

struct WaitingRequest {
    client: Arc<str>,
    subject: Arc<str>,
    until: Instant,
    work: AskingWork,
}

/// What a request is of: its client, and what it asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestOwner<'a> {
    pub(crate) client: &'a str,
    /// The method, and the tool, the prompt or the resource.
    pub(crate) subject: &'a str,
}

/// What a request that is sent again brings along.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentAgain {
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
}

impl WaitingRequests {
    /// Keeps the work for [`MAX_WAIT`], and gives the result that asks the question. Without room for it, it is dropped.
    pub(crate) fn keep(
        &self,
        work: AskingWork,
        owner: RequestOwner<'_>,
        request: InputRequest,
    ) -> Option<InputRequiredResult> {
        // Who knows the state answers the question.
        let state = random_id()?;
        let now = Instant::now();
        let mut waiting = self.lock();
        waiting.retain(|_, request| request.until > now);
        let own = waiting
            .values()
            .filter(|other| &*other.client == owner.client);
        if own.count() >= MAX_REQUESTS {
            return None;
        }
        let kept = WaitingRequest {
            client: owner.client.into(),
            subject: owner.subject.into(),
            until: now + MAX_WAIT,
            work,
        };
        waiting.insert(state.clone(), kept);
        drop(waiting);
        let requests = InputRequests::from([(QUESTION.to_owned(), request)]);
        Some(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// The work for a request that the client sends again with this state, with its answer passed on.
    ///
    /// # Errors
    ///
    /// What is wrong: nothing of this owner waits under the state, or there is no answer; then it still waits.
    pub(crate) fn resume(
        &self,
        owner: RequestOwner<'_>,
        state: &str,
        responses: Option<&InputResponses>,
    ) -> Result<AskingWork, &'static str> {
        let mut waiting = self.lock();
        let is_own = waiting.get(state).is_some_and(|found| {
            &*found.client == owner.client
                && &*found.subject == owner.subject
                && found.until > Instant::now()
        });
        if !is_own {
            return Err(NOT_WAITING);
        }
        let response = responses.and_then(|responses| responses.get(QUESTION));
        let response = response.cloned();
        let response = response.ok_or("`inputResponses` has no answer to the question")?;
        let found = waiting.remove(state);
        drop(waiting);
        let mut work = found.ok_or(NOT_WAITING)?.work;
        if let Some(place) = work.answer.take() {
            // It may have ended meanwhile.
            let _ended = place.send(response);
        }
        Ok(work)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, WaitingRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for WaitingRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WaitingRequests")
            .field(&self.lock().len())
            .finish()
    }
}

/// The maximum number of requests of a client that wait: few of the calls that a server's connection holds open.
const MAX_REQUESTS: usize = 16;
/// The maximum number of folders of a client.
const MAX_ROOTS: usize = 256;
/// The longest wait for an answer.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// The error for a state under which nothing waits.
const NOT_WAITING: &str = "the request does not wait for an answer any more";
/// The key of the question in a result.
const QUESTION: &str = "question";
/// The code of the error for a message that a person rejected (MCP 2025-11-25, "Sampling", read 2026-11-26).
const REJECTED: i32 = -1;

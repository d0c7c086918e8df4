//! The model call of a turn. It runs in the turn's own task: the turn has nothing else to do meanwhile, and
//! each piece of a reply that crossed tasks would cost a wake-up.

use std::any::Any;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use jackfield_domain::delta::Delta;
use jackfield_domain::fact::Envelope;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::spending::OpenedTurn;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_loop::Input;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::usage::Usage;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::credential::Credential;
use jackfield_ports::delta_sink::DeltaSink;
use tokio::sync::mpsc;

use crate::budgets::{self, BudgetedCall};
use crate::crash;
use crate::error::chain;
use crate::events::{TaskEvent, TurnRef};
use crate::options::Durability;
use crate::own_keys::takes_no_keys;
use crate::state::EngineState;
use crate::turn_budgets;

/// The model call in flight, if any, and its events that the driver has not taken. Dropping it aborts the call.
pub(crate) struct ModelCall {
    /// The end of the last call; it follows the pieces.
    end: Option<TaskEvent>,
    turn_ref: TurnRef,
    pieces: mpsc::Receiver<TaskEvent>,
    piece_sender: mpsc::Sender<TaskEvent>,
    in_flight: Option<(ModelAttempt, ReplyFuture)>,
    /// When the turn was opened, if its model calls count for budgets.
    pub(crate) opened_at: WallTime,
}

/// A reply in flight; it resolves to the end of the call.
type ReplyFuture = Pin<Box<dyn Future<Output = TaskEvent> + Send>>;

impl ModelCall {
    /// Creates the model caller of this turn.
    pub(crate) fn new(turn_ref: &TurnRef) -> Self {
        let (piece_sender, pieces) = mpsc::channel(QUEUE);
        Self {
            end: None,
            turn_ref: turn_ref.clone(),
            pieces,
            piece_sender,
            in_flight: None,
            opened_at: WallTime::from_millis(0),
        }
    }

    /// The turn of this id, for the ids of its calls.
    pub(crate) const fn opened<'a>(&self, id: &'a TurnId) -> OpenedTurn<'a> {
        let at = self.opened_at;
        OpenedTurn { at, id }
    }

    /// Starts the call, which counts for budgets, or is made with the own key of this principal. It makes progress when
    /// it is polled by [`next`](Self::next) or [`run_alongside`](Self::run_alongside).
    pub(crate) fn begin(
        &mut self,
        shared: Arc<EngineState>,
        attempt: ModelAttempt,
        request: Box<ModelRequest>,
        (budgeted, own_key): (Option<BudgetedCall>, Option<Arc<str>>),
        trace: Option<Arc<TraceContext>>,
        context: CallContext,
    ) {
        let session = &self.turn_ref.session;
        let mut sink = Sink {
            attempt,
            credential: None,
            is_ephemeral: shared.journal.durability(session) == Durability::Ephemeral,
            pieces: self.piece_sender.clone(),
            trace,
        };
        let turn_ref = self.turn_ref.clone();
        let call = async move {
            if let Some(principal) = own_key {
                match own_credential(&shared, &principal, &request.model.provider).await {
                    Ok(credential) => sink.credential = Some(credential),
                    Err(failure) => {
                        return TaskEvent::input(Input::ReplyFailed { attempt, failure });
                    }
                }
            }
            let call = call_model(
                &shared, &turn_ref, &mut sink, attempt, request, budgeted, &context,
            );
            // A panic in an adapter must not end the turn.
            let ended = AssertUnwindSafe(call).catch_unwind().await;
            ended.unwrap_or_else(|why| crashed(&turn_ref, attempt, &*why))
        };
        self.in_flight = Some((attempt, Box::pin(call)));
    }

    /// Aborts this attempt. Events that have already arrived are kept.
    pub(crate) fn abort(&mut self, attempt: ModelAttempt) {
        self.in_flight.take_if(|(other, _)| *other == attempt);
    }

    /// Aborts the calls that end in these steps. Events that have already arrived are kept.
    pub(crate) fn abort_ended(&mut self, steps: &[Envelope]) {
        let facts = steps.iter().flat_map(|step| &step.facts);
        for attempt in facts.filter_map(turn_budgets::ended) {
            self.abort(attempt);
        }
    }

    pub(crate) const fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Aborts the call in flight.
    pub(crate) fn stop(&mut self) {
        self.in_flight = None;
    }

    /// The next event, if one is available.
    pub(crate) fn try_next(&mut self) -> Option<TaskEvent> {
        self.pieces.try_recv().ok().or_else(|| self.end.take())
    }

    /// Polls the call until there is an event. Cancel-safe: no event is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> TaskEvent {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Polls the call alongside another future, as long as the channel has room for its pieces.
    pub(crate) async fn run_alongside<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        poll_fn(|context| {
            let polled = other.as_mut().poll(context);
            if polled.is_pending() {
                self.poll_reply(context);
            }
            polled
        })
        .await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<TaskEvent> {
        // The call fills the channel in this task, so it is polled only when the channel is empty.
        if let Some(event) = self.try_next() {
            return Poll::Ready(event);
        }
        self.poll_reply(context);
        self.try_next().map_or(Poll::Pending, Poll::Ready)
    }

    fn poll_reply(&mut self, context: &mut Context<'_>) {
        if let Some((_, reply)) = &mut self.in_flight
            && let Poll::Ready(ended) = reply.as_mut().poll(context)
        {
            self.in_flight = None;
            self.end = Some(ended);
        }
    }
}

/// Makes one attempt at the model call.
async fn call_model(
    shared: &EngineState,
    TurnRef { session, turn }: &TurnRef,
    sink: &mut Sink,
    attempt: ModelAttempt,
    request: Box<ModelRequest>,
    budgeted: Option<BudgetedCall>,
    context: &CallContext,
) -> TaskEvent {
    if let Some(call) = &budgeted {
        if let Err(failure) = budgets::reserve(shared, call).await {
            return TaskEvent::input(Input::ReplyFailed { attempt, failure });
        }
        crash::point("reserved");
    }
    crash::point("before-model");
    let replied = match shared.models.get(&request.model.provider) {
        // An adapter may forget to ask.
        Some(_) if context.begin().is_err() => return TaskEvent::LeasePassed,
        Some(model) if sink.credential.is_some() && !model.takes_credentials() => {
            Err(takes_no_keys(&request.model.provider))
        }
        Some(model) => model.reply(&request, context, sink).await.map_err(|error| {
            let why = chain(&error);
            tracing::debug!(%session, %turn, error = %why, "a model call failed");
            error.failure
        }),
        None => Err(ModelFailure::new(
            ModelFailureKind::Unsupported,
            Phase::BeforeSend,
            format!("there is no provider `{}`", request.model.provider),
        )),
    };
    crash::point("after-model");
    // Drop the round's messages before the loop adds its own: the loop can then modify them in place.
    drop(request);
    TaskEvent::input(match replied {
        Err(failure) if failure.phase == Phase::BeforeSend && context.begin().is_err() => {
            return TaskEvent::LeasePassed;
        }
        Ok(end) => Input::ReplyEnded {
            attempt,
            end: Box::new(end),
        },
        Err(failure) => Input::ReplyFailed { attempt, failure },
    })
}

/// The key of a principal at a provider that a turn began with.
async fn own_credential(
    shared: &EngineState,
    principal: &str,
    provider: &str,
) -> Result<Credential, ModelFailure> {
    let found = shared.own_credential(principal, provider).await?;
    found.ok_or_else(|| {
        let message = format!("your own key at `{provider}` was taken away during the turn");
        ModelFailure::new(
            ModelFailureKind::Unauthenticated,
            Phase::BeforeSend,
            message,
        )
    })
}

/// The end of a call whose adapter panicked.
fn crashed(
    TurnRef { session, turn }: &TurnRef,
    attempt: ModelAttempt,
    why: &(dyn Any + Send),
) -> TaskEvent {
    let text = why.downcast_ref::<String>().map(String::as_str);
    let why = text.or_else(|| why.downcast_ref::<&str>().copied());
    let why = why.unwrap_or("unknown");
    tracing::error!(%session, %turn, ?attempt, "an adapter crashed: {why}");
    let kind = ModelFailureKind::ProtocolViolation;
    let failure = ModelFailure::new(kind, Phase::MidReply, "the adapter crashed");
    TaskEvent::input(Input::ReplyFailed { attempt, failure })
}

/// Forwards the pieces of a reply to the driver.
struct Sink {
    attempt: ModelAttempt,
    credential: Option<Credential>,
    is_ephemeral: bool,
    pieces: mpsc::Sender<TaskEvent>,
    trace: Option<Arc<TraceContext>>,
}

#[async_trait]
impl DeltaSink for Sink {
    async fn push(&mut self, delta: Delta) {
        let attempt = self.attempt;
        let piece = TaskEvent::input(Input::ReplyDelta { attempt, delta });
        self.send(piece).await;
        crash::point("delta");
    }

    async fn alive(&mut self) {
        let attempt = self.attempt;
        self.send(TaskEvent::input(Input::ReplyAlive { attempt }))
            .await;
    }

    async fn request_id(&mut self, id: &str) {
        self.send(TaskEvent::ProviderRequest(id.into())).await;
    }

    fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    fn is_ephemeral(&self) -> bool {
        self.is_ephemeral
    }

    fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_deref()
    }

    async fn count(&mut self, usage: Usage) {
        let attempt = self.attempt;
        let counted = TaskEvent::input(Input::ReplyCounted { attempt, usage });
        self.send(counted).await;
    }
}

impl Sink {
    /// Waits while the channel is full, which slows down the network reader. If the driver is gone, the event
    /// is dropped.
    async fn send(&self, event: TaskEvent) {
        let _gone = self.pieces.send(event).await;
    }
}

/// The maximum number of pieces that the driver may lag behind.
const QUEUE: usize = 256;

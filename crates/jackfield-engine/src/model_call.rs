//! The model call of a turn. It is part of the turn's own task: while the model speaks the turn does nothing
//! else, and a piece of a reply that had to change tasks would wake one more of them each time.

use std::any::Any;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::ModelAttempt;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool_loop::Input;
use jackfield_domain::usage::Usage;
use jackfield_ports::delta_sink::DeltaSink;
use tokio::sync::mpsc;

use crate::crash;
use crate::engine::EngineState;
use crate::events::TaskEvent;
use crate::perform::{TurnRef, chain};

/// The call that is under way, if there is one, and the events of it that the driver has not taken. Dropping it
/// drops the call.
pub(crate) struct ModelCall {
    /// How the last call ended: it comes behind the pieces.
    end: Option<TaskEvent>,
    of: TurnRef,
    pieces: mpsc::Receiver<TaskEvent>,
    to_pieces: mpsc::Sender<TaskEvent>,
    under_way: Option<(ModelAttempt, ReplyFuture)>,
}

/// A reply that is coming, and how it ends.
type ReplyFuture = Pin<Box<dyn Future<Output = Input> + Send>>;

impl ModelCall {
    /// What calls the model of this turn.
    pub(crate) fn new(of: &TurnRef) -> Self {
        let (to_pieces, pieces) = mpsc::channel(QUEUE);
        Self {
            end: None,
            of: of.clone(),
            pieces,
            to_pieces,
            under_way: None,
        }
    }

    /// Calls the model, once somebody waits for what comes.
    pub(crate) fn begin(
        &mut self,
        shared: Arc<EngineState>,
        attempt: ModelAttempt,
        request: Box<ModelRequest>,
    ) {
        let mut sink = Sink {
            attempt,
            pieces: self.to_pieces.clone(),
        };
        let of = self.of.clone();
        let call = async move {
            let call = call_model(&shared, &of, &mut sink, attempt, request);
            // An adapter that crashes is not to take the turn along.
            let ended = AssertUnwindSafe(call).catch_unwind().await;
            ended.unwrap_or_else(|why| crashed(&of, attempt, &*why))
        };
        self.under_way = Some((attempt, Box::pin(call)));
    }

    /// Gives this try up. What came of it stays.
    pub(crate) fn abort(&mut self, attempt: ModelAttempt) {
        self.under_way.take_if(|(other, _)| *other == attempt);
    }

    /// Gives up whatever is under way.
    pub(crate) fn stop(&mut self) {
        self.under_way = None;
    }

    /// The next event, if it is there already.
    pub(crate) fn try_next(&mut self) -> Option<TaskEvent> {
        self.pieces.try_recv().ok().or_else(|| self.end.take())
    }

    /// Goes on with the call until there is an event. Can be dropped at any time without losing anything.
    pub(crate) async fn next(&mut self) -> TaskEvent {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Goes on with the call beside something else, as long as there is room for its pieces.
    pub(crate) async fn beside<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        poll_fn(|context| {
            let polled = other.as_mut().poll(context);
            if polled.is_pending() {
                self.go_on(context);
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
        self.go_on(context);
        self.try_next().map_or(Poll::Pending, Poll::Ready)
    }

    fn go_on(&mut self, context: &mut Context<'_>) {
        if let Some((_, reply)) = &mut self.under_way
            && let Poll::Ready(ended) = reply.as_mut().poll(context)
        {
            self.under_way = None;
            self.end = Some(TaskEvent::input(ended));
        }
    }
}

/// Calls the model once.
async fn call_model(
    shared: &EngineState,
    TurnRef { session, turn }: &TurnRef,
    sink: &mut Sink,
    attempt: ModelAttempt,
    request: Box<ModelRequest>,
) -> Input {
    crash::point("before-model");
    let replied = match shared.models.get(&request.model.provider) {
        Some(model) => model.reply(&request, sink).await.map_err(|error| {
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
    // The messages of the round go before the loop adds its own, so that nothing has to be copied.
    drop(request);
    match replied {
        Ok(end) => Input::ReplyEnded {
            attempt,
            end: Box::new(end),
        },
        Err(failure) => Input::ReplyFailed { attempt, failure },
    }
}

/// How a call ends whose adapter crashed.
fn crashed(
    TurnRef { session, turn }: &TurnRef,
    attempt: ModelAttempt,
    why: &(dyn Any + Send),
) -> Input {
    let text = why.downcast_ref::<String>().map(String::as_str);
    let why = text.or_else(|| why.downcast_ref::<&str>().copied());
    let why = why.unwrap_or("unknown");
    tracing::error!(%session, %turn, ?attempt, "an adapter crashed: {why}");
    let kind = ModelFailureKind::ProtocolViolation;
    let failure = ModelFailure::new(kind, Phase::MidReply, "the adapter crashed");
    Input::ReplyFailed { attempt, failure }
}

/// Takes the pieces of a reply to the loop.
struct Sink {
    attempt: ModelAttempt,
    pieces: mpsc::Sender<TaskEvent>,
}

#[async_trait]
impl DeltaSink for Sink {
    async fn push(&mut self, delta: Delta) {
        let attempt = self.attempt;
        let piece = TaskEvent::input(Input::ReplyDelta { attempt, delta });
        self.send(piece).await;
        crash::point("delta");
    }

    async fn request_id(&mut self, id: &str) {
        self.send(TaskEvent::ProviderRequest(id.into())).await;
    }

    async fn count(&mut self, usage: Usage) {
        let attempt = self.attempt;
        let counted = TaskEvent::input(Input::ReplyCounted { attempt, usage });
        self.send(counted).await;
    }
}

impl Sink {
    /// Waits while the channel is full: so the network's reader waits, too. A driver that is gone takes nothing.
    async fn send(&self, event: TaskEvent) {
        let _gone = self.pieces.send(event).await;
    }
}

/// How many pieces the driver may be behind.
const QUEUE: usize = 256;

//! The model call of a turn. It is part of the turn's own task: while the model speaks the turn does nothing
//! else, and a piece of a reply that had to change tasks would wake one more of them each time.

use std::any::Any;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
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

use crate::crash;
use crate::engine::Shared;
use crate::events::Event;
use crate::perform::{Of, chain};

/// The call that is under way, if one is, and what came of it that nobody took yet. Dropping it drops the call.
pub(crate) struct Calling {
    of: Of,
    pieces: Pieces,
    under_way: Option<(ModelAttempt, Reply)>,
}

/// A reply that is coming, and how it ends.
type Reply = Pin<Box<dyn Future<Output = Input> + Send>>;

impl Calling {
    /// What calls the model of this turn.
    pub(crate) fn new(of: &Of) -> Self {
        Self {
            of: of.clone(),
            pieces: Pieces::default(),
            under_way: None,
        }
    }

    /// Calls the model, once somebody waits for what comes.
    pub(crate) fn begin(
        &mut self,
        shared: Arc<Shared>,
        attempt: ModelAttempt,
        request: Box<ModelRequest>,
    ) {
        let mut sink = Sink {
            attempt,
            pieces: self.pieces.clone(),
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

    /// What came next, if it is there already.
    pub(crate) fn try_next(&self) -> Option<Event> {
        self.pieces.take()
    }

    /// Goes on with the call until something comes of it. Can be dropped at any time without losing anything.
    pub(crate) async fn next(&mut self) -> Event {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Goes on with the call beside something else, as far as there is room for what comes of it.
    pub(crate) async fn beside<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        poll_fn(|context| {
            let polled = other.as_mut().poll(context);
            if polled.is_pending() && self.pieces.have_room() {
                self.go_on(context);
            }
            polled
        })
        .await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        // What is there goes first: so what is there has a bound.
        if let Some(event) = self.pieces.take() {
            return Poll::Ready(event);
        }
        self.go_on(context);
        self.pieces.take().map_or(Poll::Pending, Poll::Ready)
    }

    fn go_on(&mut self, context: &mut Context<'_>) {
        if let Some((_, reply)) = &mut self.under_way
            && let Poll::Ready(ended) = reply.as_mut().poll(context)
        {
            self.under_way = None;
            self.pieces.end(Event::input(ended));
        }
    }
}

/// Calls the model once.
async fn call_model(
    shared: &Shared,
    Of { session, turn }: &Of,
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
fn crashed(Of { session, turn }: &Of, attempt: ModelAttempt, why: &(dyn Any + Send)) -> Input {
    let text = why.downcast_ref::<String>().map(String::as_str);
    let why = text.or_else(|| why.downcast_ref::<&str>().copied());
    let why = why.unwrap_or("unknown");
    tracing::error!(%session, %turn, ?attempt, "an adapter crashed: {why}");
    let kind = ModelFailureKind::ProtocolViolation;
    let failure = ModelFailure::new(kind, Phase::MidReply, "the adapter crashed");
    Input::ReplyFailed { attempt, failure }
}

/// What came of a reply and was not taken yet.
#[derive(Clone, Default)]
struct Pieces(Arc<Mutex<VecDeque<Event>>>);

impl Pieces {
    /// Adds what came last, whatever is there.
    fn end(&self, event: Event) {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.push_back(event);
    }

    /// Adds a piece when there is room: a reader of the network waits until then.
    async fn add(&self, event: Event) {
        let mut event = Some(event);
        poll_fn(|context| {
            let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if pieces.len() < QUEUE {
                pieces.extend(event.take());
                return Poll::Ready(());
            }
            // Whoever goes on with the call takes what is there first.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    fn have_room(&self) -> bool {
        let pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.len() < QUEUE
    }

    fn take(&self) -> Option<Event> {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.pop_front()
    }
}

/// Takes the pieces of a reply to the loop.
struct Sink {
    attempt: ModelAttempt,
    pieces: Pieces,
}

#[async_trait]
impl DeltaSink for Sink {
    async fn push(&mut self, delta: Delta) {
        self.pieces.add(Event::piece(self.attempt, delta)).await;
        crash::point("delta");
    }

    async fn count(&mut self, usage: Usage) {
        let attempt = self.attempt;
        let counted = Event::input(Input::ReplyCounted { attempt, usage });
        self.pieces.add(counted).await;
    }
}

/// How many pieces may wait for the driver.
const QUEUE: usize = 256;

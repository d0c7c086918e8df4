//! The feeds of a process: the committed steps and the replies in flight of the sessions that it drives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, TurnId};
use tokio::sync::watch;

use crate::error::{EngineError, chain};

/// The feeds of the sessions that are driven in this process.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<BTreeMap<SessionId, watch::Receiver<Feed>>>);

/// How far an attempt at a tool call is, as its tool says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunningCall {
    /// The attempt.
    pub attempt: ToolAttempt,
    /// The amount done.
    pub done: f64,
    /// A message about it.
    pub message: Option<Arc<str>>,
    /// The total amount, if known.
    pub total: Option<f64>,
}

/// The committed steps of a driver, and the reply in flight.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// Why the driver stopped, if the journal failed.
    pub(crate) stop_reason: Option<Arc<str>>,
    /// The number of the session's facts when the attempt began.
    pub(crate) facts: u64,
    /// The number of the first of the steps.
    first: u64,
    /// How far the calls are that run.
    pub(crate) progress: BTreeMap<ToolCallId, RunningCall>,
    /// The provider's id of the newest model request.
    pub(crate) provider_request: Option<Arc<str>>,
    pub(crate) reply: Option<ReplyAccumulator>,
    /// All steps since the driver began, so that watchers in this process need not read the journal.
    steps: Vec<Arc<Envelope>>,
}

impl Feed {
    /// The steps from this number on; `None` if earlier ones are missing.
    pub(crate) fn steps_from(&self, number: u64) -> Option<&[Arc<Envelope>]> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.steps.get(place..)
    }
}

impl Feeds {
    /// Creates the feed of a session that has these steps.
    pub(crate) fn begin(self: &Arc<Self>, session: &SessionId, steps: &[Envelope]) -> FeedWriter {
        let (sender, receiver) = watch::channel(Feed {
            first: steps.len() as u64,
            ..Feed::default()
        });
        self.lock().insert(session.clone(), receiver);
        FeedWriter {
            facts: count(steps),
            sender,
            session: session.clone(),
            feeds: Arc::clone(self),
        }
    }

    pub(crate) fn subscribe(&self, session: &SessionId) -> Option<watch::Receiver<Feed>> {
        self.lock().get(session).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, watch::Receiver<Feed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The driver's side of a feed: publishes committed steps and the reply in flight to watchers. Never blocks.
#[derive(Debug)]
pub(crate) struct FeedWriter {
    facts: u64,
    sender: watch::Sender<Feed>,
    session: SessionId,
    feeds: Arc<Feeds>,
}

impl FeedWriter {
    /// Publishes a committed step.
    pub(crate) fn step(&mut self, step: &Envelope, turn: &TurnId) {
        let facts = &mut self.facts;
        self.sender.send_modify(|speech| {
            for fact in &step.facts {
                *facts += 1;
                speech.apply(fact, *facts, turn);
            }
            speech.steps.push(Arc::new(step.clone()));
        });
    }

    /// Publishes a piece of the reply in flight.
    pub(crate) fn push(&self, attempt: ModelAttempt, delta: &Delta) {
        self.sender.send_modify(|speech| {
            if let Some(reply) = &mut speech.reply
                && reply.attempt() == attempt
            {
                // The loop has accepted the piece, so the accumulator does, too.
                let _taken = reply.push(delta);
            }
        });
    }

    /// Publishes the progress of a tool call. It is no event, so it wakes no watcher.
    pub(crate) fn progress(&self, progress: Option<RunningCall>) {
        if let Some(progress) = progress {
            self.sender.send_if_modified(|speech| {
                let call = progress.attempt.call.clone();
                speech.progress.insert(call, progress);
                false
            });
        }
    }

    /// Publishes the provider's id of the model request in flight. It is no event, so it wakes no watcher.
    pub(crate) fn provider_request(&self, id: Arc<str>) {
        self.sender.send_if_modified(|speech| {
            speech.provider_request = Some(id);
            false
        });
    }

    /// The driver stops because of this error. If the journal fails, it is unknown when the turn continues:
    /// current watchers get the error instead of waiting, and new ones read the journal.
    pub(crate) fn close_on_error(&mut self, error: &EngineError) {
        if error.is_journal_failure() {
            self.feeds.lock().remove(&self.session);
            let why = chain(error).into();
            self.sender
                .send_modify(|speech| speech.stop_reason = Some(why));
        }
    }

    /// The driver has reloaded the session.
    pub(crate) fn reloaded(&mut self, steps: &[Envelope]) {
        self.facts = count(steps);
    }
}

impl Feed {
    /// Applies a committed fact; `facts` is the number of facts including it.
    fn apply(&mut self, fact: &Fact, facts: u64, turn: &TurnId) {
        if let Fact::CallClosed { call, .. } = fact {
            self.progress.remove(call);
        } else if let Fact::CallLost { attempt, .. } = fact {
            self.progress.remove(&attempt.call);
        } else if let Fact::ModelCallStarted { attempt, .. } = fact {
            self.facts = facts;
            self.reply = Some(ReplyAccumulator::new(turn.clone(), *attempt));
        } else if matches!(
            fact,
            Fact::ModelCallEnded { .. } | Fact::ReplyReceived { .. }
        ) {
            // From here on the reply is in a step, or discarded.
            self.reply = None;
        }
    }
}

impl Drop for FeedWriter {
    fn drop(&mut self) {
        // Removed before the channel closes, so that no watcher finds a closed feed.
        self.feeds.lock().remove(&self.session);
    }
}

/// The number of facts in these steps.
pub(crate) fn count(steps: &[Envelope]) -> u64 {
    steps.iter().map(|step| step.facts.len() as u64).sum()
}

//! Keeping: taking up by itself what other processes left, and what waited and has its answer.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_domain::policy::Policy;
use jackfield_domain::session::Session;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_loop::LONGEST_SLEEP;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::noticed::Notice;
use crate::perform::chain;
use crate::resume::{Driven, ResumeSession, is_cancelled};

/// How sessions are kept.
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// How many turns are taken up at once; at least one.
    pub at_once: usize,
    /// What may run today. It can only take away from what a turn was set up with.
    pub policy: Policy,
    /// How often the journal is asked what is due, at the least: so long may it take until a delivery
    /// of another process is heard.
    pub every: Duration,
}

impl KeeperOptions {
    /// The defaults, under this policy.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self {
            at_once: 8,
            every: Duration::from_secs(1),
            policy,
        }
    }
}

/// What came of a session that a keeper took up.
#[derive(Debug)]
pub struct Kept {
    /// What came of it. One that is parked, or that could not be driven, is left alone for a while.
    pub driven: Result<Driven, EngineError>,
    /// The session.
    pub session: SessionId,
}

/// A task that takes up the sessions of an engine's journal whenever they have something to do.
///
/// A turn that only waits costs it nothing: the journal says which ones are due. Dropping the keeper
/// ends it; to what it has taken up that is what a crash is.
pub struct Keeper {
    task: JoinHandle<()>,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Engine {
    /// Keeps the sessions of this engine's journal until the keeper is dropped. `tell` is called with
    /// what came of each, and must not wait. What somebody else took up first is not told.
    ///
    /// Only processes that are meant to recover what others left keep sessions. Needs a runtime.
    #[must_use = "dropping the keeper ends it"]
    pub fn keep(&self, options: KeeperOptions, tell: impl FnMut(Kept) + Send + 'static) -> Keeper {
        let keeping = Keeping {
            called: JoinSet::new(),
            engine: self.clone(),
            left: BTreeMap::new(),
            options,
            running: BTreeMap::new(),
            tasks: JoinSet::new(),
            tell: Box::new(tell),
        };
        Keeper {
            task: tokio::spawn(keeping.run()),
        }
    }
}

struct Keeping {
    /// Those of the parked sessions that wait for a delivery, which may be a cancel.
    called: JoinSet<SessionId>,
    engine: Engine,
    /// What was taken up and could not be driven.
    left: BTreeMap<SessionId, Left>,
    options: KeeperOptions,
    running: BTreeMap<Id, SessionId>,
    tasks: JoinSet<Result<Driven, EngineError>>,
    tell: Box<dyn FnMut(Kept) + Send>,
}

/// A session that is left alone for a while.
struct Left {
    pause: Duration,
    until: Instant,
}

impl Keeping {
    async fn run(mut self) {
        let shared = Arc::clone(&self.engine.shared);
        let mut notices = shared.noticed.listen();
        loop {
            let sleep = self.take_up().await;
            tokio::select! {
                Some(joined) = self.tasks.join_next_with_id() => self.joined(joined),
                Some(Ok(called)) = self.called.join_next() => {
                    self.left.remove(&called);
                }
                noticed = notices.recv() => {
                    self.notice(noticed);
                    // One look is enough for many.
                    while let Ok(notice) = notices.try_recv() {
                        self.notice(Ok(notice));
                    }
                }
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    fn notice(&mut self, noticed: Result<Notice, RecvError>) {
        match noticed {
            Ok(Notice::Delivered(session)) => _ = self.left.remove(&session),
            // Whatever was missed: what is due is looked at in any case.
            Ok(Notice::LetGo) | Err(RecvError::Closed | RecvError::Lagged(_)) => {}
        }
    }

    /// Takes up what is due and may be taken up now; says how long there is nothing to do by itself.
    async fn take_up(&mut self) -> Duration {
        let every = self.options.every;
        if self.engine.is_draining() {
            return LONGEST_SLEEP;
        }
        let free = self.options.at_once.max(1).saturating_sub(self.tasks.len());
        if free == 0 {
            return LONGEST_SLEEP;
        }
        let at = Instant::now();
        // What has not been due for so long is over, or gone.
        self.left.retain(|_, left| at < left.until + LONGEST_PAUSE);
        let now = self.engine.shared.clock.now().wall;
        // What is left alone may still be due; it must not stand before the others.
        let most = free + self.left.len();
        let due = match self.engine.shared.journal.due(now, most).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "what is due cannot be read; trying again");
                return AFTER_AN_ERROR.max(every);
            }
        };
        let mut free = free;
        for session in due.sessions {
            let is_left = self.left.get(&session).is_some_and(|left| at < left.until);
            let is_running = self.running.values().any(|running| *running == session);
            if free > 0 && !is_left && !is_running {
                free -= 1;
                self.start(session);
            }
        }
        if free == 0 {
            return LONGEST_SLEEP;
        }
        let next = due.next.map(|next| until(next, now));
        next.filter(|next| !next.is_zero())
            .unwrap_or(every)
            .min(every)
    }

    fn start(&mut self, session: SessionId) {
        let (engine, policy) = (self.engine.clone(), self.options.policy.clone());
        let resume = ResumeSession::new(session.clone(), policy);
        let task = self
            .tasks
            .spawn(async move { engine.keep_on(resume).await });
        self.running.insert(task.id(), session);
    }

    fn joined(&mut self, joined: Result<(Id, Result<Driven, EngineError>), JoinError>) {
        let (id, driven) = match joined {
            Ok((id, driven)) => (id, Some(driven)),
            Err(error) => {
                tracing::error!("a session could not be kept: {error}");
                (error.id(), None)
            }
        };
        let Some(session) = self.running.remove(&id) else {
            return;
        };
        let is_theirs = matches!(
            driven,
            Some(Err(
                EngineError::Busy { .. } | EngineError::NothingOpen { .. }
            ))
        );
        if is_theirs {
            // Whoever answered it, or resumed it, was quicker: it was not taken up here, and nothing is wrong.
            let pause = AFTER_AN_ERROR;
            let until = Instant::now() + pause;
            self.left.insert(session, Left { pause, until });
            return;
        }
        if matches!(driven, Some(Ok(_))) {
            self.left.remove(&session);
        } else {
            let is_parked = matches!(driven, Some(Err(EngineError::Parked { .. })));
            let before = self.left.get(&session).map(|left| left.pause);
            let pause = match before {
                _ if is_parked => LONGEST_PAUSE,
                Some(before) => (before * 2).min(LONGEST_PAUSE),
                None => AFTER_AN_ERROR,
            };
            let until = Instant::now() + pause;
            self.left.insert(session.clone(), Left { pause, until });
            if is_parked && self.called.len() < MOST_CALLED {
                let (engine, session) = (self.engine.clone(), session.clone());
                self.called.spawn(async move {
                    engine.cancelled(&session).await;
                    session
                });
            }
        }
        if let Some(driven) = driven {
            (self.tell)(Kept { driven, session });
        }
    }
}

impl Engine {
    /// Takes up a session for a keeper.
    async fn keep_on(&self, resume: ResumeSession) -> Result<Driven, EngineError> {
        let driven = pin!(async {
            let mut nobody = ();
            self.resume_existing(resume, &mut nobody).await
        });
        let driven = self.shared.going.unless_stopped(driven).await;
        let driven = driven.unwrap_or(Err(EngineError::Draining));
        if let Ok(Driven::Over(report)) = &driven
            && self.shared.passing.is_some()
        {
            let (engine, session, turn) =
                (self.clone(), report.session.clone(), report.turn.clone());
            tokio::spawn(async move { engine.pass(&session, &turn).await });
        }
        driven
    }

    /// Waits until something is delivered to a session that is parked, or there is a cancel already.
    async fn cancelled(&self, session: &SessionId) {
        let journal = &self.shared.journal;
        let Ok(loaded) = journal.load(session).await else {
            return std::future::pending().await;
        };
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts);
        let open = folded.open_turn().map(|turn| turn.id());
        if open.is_some_and(|turn| is_cancelled(turn, &loaded.deliveries)) {
            return;
        }
        let seen = loaded.deliveries.len() as u64;
        if journal.inbox(session, seen).await.is_err() {
            // It will be looked at again when its pause is over.
            std::future::pending::<()>().await;
        }
    }
}

/// How long it is until then; nothing, if that is past.
fn until(then: WallTime, now: WallTime) -> Duration {
    then.since(now)
}

/// How many parked sessions are listened to at once; those beyond are looked at when their pause is over.
const MOST_CALLED: usize = 64;
/// How long a session is left alone that could not be driven; twice as long each time.
const AFTER_AN_ERROR: Duration = Duration::from_secs(1);
/// How long a session is left alone at most, and one that is parked in any case.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

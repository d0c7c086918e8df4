//! Keeping: taking up by itself what other processes left, and what waited and has its answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
use tokio::sync::oneshot;
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::news::{Observer, ObserverEvent};
use crate::notices::SessionNotice;
use crate::patience::reached;
use crate::perform::chain;
use crate::resume::{DriveOutcome, ResumeSession, is_cancelled};

/// How sessions are kept.
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// How many of the turns that it takes up may be under way at once; at least one. Turns that clients
    /// ask for go first, and are taken up even if there are as many.
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
            at_once: 256,
            every: Duration::from_secs(1),
            policy,
        }
    }
}

/// What came of a session that a keeper took up.
#[derive(Debug)]
pub struct KeptSession {
    /// What came of it. One that is parked, or that could not be driven, is left alone for a while.
    pub driven: Result<DriveOutcome, EngineError>,
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
    pub fn keep(
        &self,
        options: KeeperOptions,
        tell: impl FnMut(KeptSession) + Send + 'static,
    ) -> Keeper {
        let keeping = KeeperState {
            called: JoinSet::new(),
            engine: self.clone(),
            left: BTreeMap::new(),
            options,
            queue: VecDeque::new(),
            running: BTreeMap::new(),
            sessions: BTreeSet::new(),
            starting: JoinSet::new(),
            tasks: JoinSet::new(),
            tell: Box::new(tell),
        };
        Keeper {
            task: tokio::spawn(keeping.run()),
        }
    }
}

struct KeeperState {
    /// Those of the parked sessions that wait for a delivery, which may be a cancel.
    called: JoinSet<SessionId>,
    engine: Engine,
    /// What was taken up and could not be driven.
    left: BTreeMap<SessionId, RestingSession>,
    options: KeeperOptions,
    /// What was due at the last look, and is not taken up yet.
    queue: VecDeque<SessionId>,
    running: BTreeMap<Id, SessionId>,
    /// The sessions of `running`.
    sessions: BTreeSet<SessionId>,
    /// One for each turn that is being taken up: ends when the turn's first step is committed.
    starting: JoinSet<()>,
    tasks: JoinSet<Result<DriveOutcome, EngineError>>,
    tell: Box<dyn FnMut(KeptSession) + Send>,
}

/// A session that is left alone for a while.
struct RestingSession {
    pause: Duration,
    until: Instant,
}

impl KeeperState {
    async fn run(mut self) {
        let shared = Arc::clone(&self.engine.shared);
        let mut notices = shared.noticed.listen();
        loop {
            let sleep = self.take_up().await;
            tokio::select! {
                Some(joined) = self.tasks.join_next_with_id() => self.joined(joined),
                Some(_) = self.starting.join_next() => {}
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

    fn notice(&mut self, noticed: Result<SessionNotice, RecvError>) {
        match noticed {
            Ok(SessionNotice::Delivered(session)) => _ = self.left.remove(&session),
            // Whatever was missed: what is due is looked at in any case.
            Ok(SessionNotice::LetGo | SessionNotice::Wanted)
            | Err(RecvError::Closed | RecvError::Lagged(_)) => {}
        }
    }

    /// Takes up what may be taken up now; says how long there is nothing to do by itself.
    async fn take_up(&mut self) -> Duration {
        if self.engine.is_draining() {
            return LONGEST_SLEEP;
        }
        let shared = &self.engine.shared;
        if shared.writes.fail() && self.engine.check_writable().await.is_err() {
            // Whatever is taken up now is broken off again.
            return AFTER_AN_ERROR;
        }
        for session in self.engine.shared.noticed.take_wanted() {
            if self.may_start(&session) {
                self.start(session);
            }
        }
        loop {
            while self.has_room()
                && self.starting.len() < MOST_STARTING
                && let Some(session) = self.queue.pop_front()
            {
                if self.may_start(&session) {
                    self.start(session);
                }
            }
            if !self.queue.is_empty() || !self.has_room() {
                // Until a turn is over, or has been taken up.
                return LONGEST_SLEEP;
            }
            if let Some(sleep) = self.look().await {
                return sleep;
            }
        }
    }

    /// Queues what is due and may be taken up; if nothing is, says how long that holds.
    async fn look(&mut self) -> Option<Duration> {
        let every = self.options.every;
        let at = Instant::now();
        // What has not been due for so long is over, or gone.
        self.left.retain(|_, left| at < left.until + LONGEST_PAUSE);
        let now = self.engine.shared.clock.now().wall;
        // What is left alone or being taken up may still be due; it must not stand before the others.
        let most = PAGE + self.left.len() + self.running.len();
        let due = match self.engine.shared.journal.due(now, most).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "what is due cannot be read; trying again");
                return Some(AFTER_AN_ERROR.max(every));
            }
        };
        let sessions = due.sessions.into_iter();
        self.queue = sessions.filter(|session| self.may_start(session)).collect();
        if !self.queue.is_empty() {
            return None;
        }
        let next = due.next.map(|next| until(next, now));
        let next = next.filter(|next| !next.is_zero());
        Some(next.unwrap_or(every).min(every))
    }

    /// Whether one more turn may be under way.
    fn has_room(&self) -> bool {
        self.tasks.len() < self.options.at_once.max(1)
    }

    /// Whether a session is not left alone, and not driven here.
    fn may_start(&self, session: &SessionId) -> bool {
        let at = Instant::now();
        let is_left = self.left.get(session).is_some_and(|left| at < left.until);
        let is_driven = || self.engine.shared.occupied.driven(session).is_some();
        !is_left && !self.sessions.contains(session) && !is_driven()
    }

    fn start(&mut self, session: SessionId) {
        let (engine, policy) = (self.engine.clone(), self.options.policy.clone());
        let resume = ResumeSession::new(session.clone(), policy);
        let (commits, committed) = oneshot::channel();
        let task = self
            .tasks
            .spawn(async move { engine.keep_on(resume, StartWatch(Some(commits))).await });
        // What takes longer does not compute: it waits, such as for a tool server that starts.
        let started = tokio::time::timeout(LONGEST_START, committed);
        self.starting.spawn(async move { _ = started.await });
        self.sessions.insert(session.clone());
        self.running.insert(task.id(), session);
    }

    fn joined(&mut self, joined: Result<(Id, Result<DriveOutcome, EngineError>), JoinError>) {
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
        self.sessions.remove(&session);
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
            self.left.insert(session, RestingSession { pause, until });
            return;
        }
        if matches!(driven, Some(Ok(_))) {
            self.left.remove(&session);
        } else {
            let is_parked = matches!(driven, Some(Err(EngineError::Parked { .. })));
            let before = self.left.get(&session).map(|left| left.pause);
            // That the journal fails is no fault of the session: it goes on as soon as the journal does.
            let is_of_journal = matches!(&driven, Some(Err(error)) if error.is_of_journal());
            let longest = if is_of_journal {
                AFTER_AN_OUTAGE
            } else {
                LONGEST_PAUSE
            };
            let pause = match before {
                _ if is_parked => LONGEST_PAUSE,
                Some(before) => (before * 2).min(longest),
                None => AFTER_AN_ERROR,
            };
            let until = Instant::now() + pause;
            self.left
                .insert(session.clone(), RestingSession { pause, until });
            if is_parked && self.called.len() < MOST_CALLED {
                let (engine, session) = (self.engine.clone(), session.clone());
                self.called.spawn(async move {
                    engine.cancelled(&session).await;
                    session
                });
            }
        }
        if let Some(driven) = driven {
            (self.tell)(KeptSession { driven, session });
        }
    }
}

impl Engine {
    /// Takes up a session for a keeper.
    async fn keep_on(
        &self,
        resume: ResumeSession,
        mut starting: StartWatch,
    ) -> Result<DriveOutcome, EngineError> {
        let _kept = self.shared.going.kept.token();
        let driven = pin!(self.resume_existing(resume, &mut starting));
        let driven = self.shared.going.unless_stopped(driven).await;
        let driven = driven.unwrap_or(Err(EngineError::Draining));
        if let Ok(DriveOutcome::Over(report)) = &driven
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
        let is_over = || self.is_draining();
        let Ok(loaded) = reached(is_over, || journal.load(session)).await else {
            return std::future::pending().await;
        };
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts);
        let open = folded.open_turn().map(|turn| turn.id());
        if open.is_some_and(|turn| is_cancelled(turn, &loaded.deliveries)) {
            return;
        }
        let seen = loaded.deliveries.len() as u64;
        if reached(is_over, || journal.inbox(session, seen))
            .await
            .is_err()
        {
            // It will be looked at again when its pause is over.
            std::future::pending::<()>().await;
        }
    }
}

/// Watches a turn that is being taken up: news of it says that its first step is committed. What it holds is
/// dropped then, or with the turn.
struct StartWatch(Option<oneshot::Sender<()>>);

impl Observer for StartWatch {
    fn tell(&mut self, _news: ObserverEvent<'_>) {
        self.0 = None;
    }
}

/// How long it is until then; nothing, if that is past.
fn until(then: WallTime, now: WallTime) -> Duration {
    then.since(now)
}

/// How many parked sessions are listened to at once; those beyond are looked at when their pause is over.
const MOST_CALLED: usize = 64;
/// How many turns are taken up at once: read, folded, and committed as taken up. That is what computes; new
/// requests go on beside it.
const MOST_STARTING: usize = 8;
/// How long a turn may take to be taken up until the next one need not wait for it.
const LONGEST_START: Duration = Duration::from_millis(250);
/// How many sessions are read at once of those that are due.
const PAGE: usize = 256;
/// How long a session is left alone that could not be driven; twice as long each time.
const AFTER_AN_ERROR: Duration = Duration::from_secs(1);
/// How long a session is left alone at most that the journal did not take.
const AFTER_AN_OUTAGE: Duration = Duration::from_secs(5);
/// How long a session is left alone at most, and one that is parked in any case.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

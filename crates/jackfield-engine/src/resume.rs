//! Resuming: taking up a turn that another process left, or that only waited.

use jackfield_domain::fact::InputKind;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::policy::Policy;
use jackfield_domain::restrictions::Restrictions;
use jackfield_domain::session::Session;
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::tool_loop::{Step, ToolLoop};
use jackfield_domain::wait::{Delivery, DeliveryBody, Wait};
use jackfield_ports::journal::{JournalError, Loaded};

use crate::drift;
use crate::driven_sessions::DrivenGuard;
use crate::driver::Driver;
use crate::engine::Engine;
use crate::error::{EngineError, ParkReason};
use crate::news::Observer;
use crate::ownership::SessionOwnership;
use crate::report::TurnReport;
use crate::send::PreparedTurn;

/// A session whose open turn is to go on.
#[derive(Clone, Debug)]
pub struct ResumeSession {
    /// Whether a person wants it to go on although it is parked: it was taken up too often without
    /// coming further, it is restored from an older state, or toolboxes are missing, whose tools are then
    /// gone.
    pub go_on: bool,
    /// What may run today. It can only take away from what the turn was set up with.
    pub policy: Policy,
    /// The session.
    pub session: SessionId,
    /// Whether to wait in place where the turn only waits for somebody outside, instead of letting go
    /// of it.
    pub stay: bool,
}

impl ResumeSession {
    /// Takes up what may be taken up, and lets go of a turn that only waits.
    #[must_use]
    pub const fn new(session: SessionId, policy: Policy) -> Self {
        Self {
            go_on: false,
            policy,
            session,
            stay: false,
        }
    }
}

/// How far a turn was driven.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveOutcome {
    /// To its end.
    Over(Box<TurnReport>),
    /// Until it only waits for somebody outside. Nobody owns it now; an answer in its inbox is heard
    /// when it is taken up again.
    Waits(WaitingTurn),
}

/// A turn that only waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingTurn {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// What it waits for, in the order of the calls.
    pub waits: Vec<Wait>,
}

impl WaitingTurn {
    /// When the first of its waits ends unanswered.
    #[must_use]
    pub fn until(&self) -> Option<WallTime> {
        self.waits.iter().map(|wait| wait.deadline).min()
    }
}

impl Engine {
    /// Takes up a session's open turn and drives it on: to its end, or until it only waits.
    ///
    /// What was decided for the turn stays decided; today's tools and policy can only take away. A turn
    /// that has been cancelled since is ended, whatever is missing. Dropping the future is what a crash
    /// is, as with [`Engine::send`].
    ///
    /// # Errors
    ///
    /// [`EngineError::NothingOpen`] if no turn is open, [`EngineError::Busy`] if it is driven here or by
    /// another process, [`EngineError::Parked`] if it is not to be taken up: then nothing was touched.
    /// Any other [`EngineError`] if the turn could not be driven.
    pub async fn resume(
        &self,
        resume: ResumeSession,
        observer: &mut dyn Observer,
    ) -> Result<DriveOutcome, EngineError> {
        // To own a session makes it: one that does not exist must not begin by being resumed.
        if !self.shared.journal.exists(&resume.session).await? {
            let session = resume.session;
            return Err(JournalError::UnknownSession { session }.into());
        }
        self.resume_existing(resume, observer).await
    }

    /// Does that for a session of which it is known that it exists.
    pub(crate) async fn resume_existing(
        &self,
        resume: ResumeSession,
        observer: &mut dyn Observer,
    ) -> Result<DriveOutcome, EngineError> {
        let _under_way = self.shared.going.enter()?;
        let session = resume.session.clone();
        let Ok(busy) = self.shared.occupied.take(&session) else {
            return Err(self.busy(session).await);
        };
        let owned = self.own(&session).await?;
        self.take_up(resume, owned, &busy, observer).await
    }

    /// Takes up a session that exists, to be driven on in the background.
    pub(crate) async fn take_up_later(
        &self,
        resume: &ResumeSession,
    ) -> Result<PreparedTurn, EngineError> {
        let session = resume.session.clone();
        let Ok(busy) = self.shared.occupied.take(&session) else {
            return Err(self.busy(session).await);
        };
        let mut owned = self.own(&session).await?;
        match self.recover(resume).await {
            Ok(recovered) => Ok(PreparedTurn {
                busy,
                loaded: recovered.loaded,
                now: recovered.now,
                owned,
                problems: Vec::new(),
                step: recovered.step,
                turn: recovered.turn,
            }),
            Err(error) => {
                owned.release().await;
                Err(error)
            }
        }
    }

    /// Takes up the open turn of a session that is owned, and lets go of it in the end.
    pub(crate) async fn take_up(
        &self,
        resume: ResumeSession,
        mut owned: SessionOwnership,
        busy: &DrivenGuard,
        observer: &mut dyn Observer,
    ) -> Result<DriveOutcome, EngineError> {
        let RecoveredTurn {
            loaded,
            now,
            step,
            turn,
        } = match self.recover(&resume).await {
            Ok(recovered) => recovered,
            Err(error) => {
                owned.release().await;
                return Err(error);
            }
        };
        let speaker = self.shared.speeches.begin(&resume.session, &loaded.steps);
        let mut driver = Driver::new(&self.shared, turn, owned, &loaded, speaker, observer, busy);
        driver.remember(&loaded.steps);
        driver
            .run(step, InputKind::Recovered, now, resume.stay)
            .await
    }

    /// Recovers the open turn of a session; nothing is committed yet.
    async fn recover(&self, resume: &ResumeSession) -> Result<RecoveredTurn, EngineError> {
        let session = resume.session.clone();
        let loaded = self.shared.journal.load(&session).await?;
        let facts = || loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts());
        let Some(turn) = folded.open_turn() else {
            return Err(EngineError::NothingOpen { session });
        };
        let parked = |why| EngineError::Parked {
            session: session.clone(),
            turn: turn.id().clone(),
            why: Box::new(why),
        };
        let today = if is_cancelled(turn.id(), &loaded.deliveries) {
            Restrictions::default()
        } else if loaded.restored && !resume.go_on {
            return Err(parked(ParkReason::Restored));
        } else if turn.is_parked() && !resume.go_on {
            let times = turn.fruitless();
            return Err(parked(ParkReason::NoProgress { times }));
        } else {
            let setup = turn.setup();
            drift::restrictions(&self.shared, setup, &resume.policy, resume.go_on)
                .await
                .map_err(parked)?
        };
        let now = self.shared.clock.now();
        let recovered = ToolLoop::recover(&session, facts(), &loaded.deliveries, now, today);
        let Some((turn, step)) = recovered else {
            return Err(EngineError::NothingOpen { session });
        };
        Ok(RecoveredTurn {
            loaded,
            now,
            step,
            turn,
        })
    }
}

/// A turn that is taken up, and its first step, which is not committed yet.
struct RecoveredTurn {
    loaded: Loaded,
    now: Now,
    step: Step,
    turn: ToolLoop,
}

/// Whether somebody has said that this turn is to end.
pub(crate) fn is_cancelled(turn: &TurnId, deliveries: &[Delivery]) -> bool {
    deliveries.iter().any(
        |delivery| matches!(&delivery.body, DeliveryBody::Cancel { turn: which, .. } if which == turn),
    )
}

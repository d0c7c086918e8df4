//! Resumes a turn that another process left open, or that only waits.

use std::sync::Arc;

use jackfield_domain::fact::InputKind;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::policy::Policy;
use jackfield_domain::restrictions::Restrictions;
use jackfield_domain::session::Session;
use jackfield_domain::time::Now;
use jackfield_domain::tool_loop::{Step, ToolLoop};
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::{Journal as _, JournalError, Loaded};
use jackfield_ports::toolbox_source::ToolboxSet;

use crate::drift;
use crate::drive_outcome::DriveOutcome;
use crate::driven_sessions::DrivenGuard;
use crate::driver::Driver;
use crate::error::{EngineError, ParkReason};
use crate::news::Observer;
use crate::ownership::probe::check_room;
use crate::ownership::{OwnedTurn, PreparedTurn, SessionOwnership};
use crate::state::Engine;
use crate::target_watch::TargetWatch;

/// The options for resuming a session's open turn.
#[derive(Clone, Debug)]
pub struct ResumeSession {
    /// Whether a person wants the turn to continue although it is parked: it was resumed too often without
    /// progress, it was restored from an older state, or toolboxes are missing, whose tools are then gone.
    pub force: bool,
    /// The policy now in force. It can only restrict the turn's own.
    pub policy: Policy,
    /// The session.
    pub session: SessionId,
    /// Whether to keep waiting when the turn only waits for external answers, instead of releasing the session.
    pub stay: bool,
}

impl ResumeSession {
    /// The defaults: parked turns stay parked, and a turn that only waits is released.
    #[must_use]
    pub const fn new(session: SessionId, policy: Policy) -> Self {
        Self {
            force: false,
            policy,
            session,
            stay: false,
        }
    }
}

impl Engine {
    /// Resumes a session's open turn and drives it to its end, or until it only waits.
    ///
    /// Decisions of the turn stay; the current tools and policy can only restrict it. A turn that was cancelled
    /// meanwhile is ended, even if its tools are missing. Dropping the future interrupts the turn as a crash
    /// would, as with [`Engine::send`].
    ///
    /// # Errors
    ///
    /// [`EngineError::NothingOpen`] if no turn is open, [`EngineError::Busy`] if this or another process drives
    /// it, [`EngineError::Parked`] if it is parked: then nothing was changed. Any other [`EngineError`] if the
    /// turn could not be driven.
    pub async fn resume(
        &self,
        resume: ResumeSession,
        observer: &mut dyn Observer,
    ) -> Result<DriveOutcome, EngineError> {
        // Taking the ownership creates the session; resuming must not create one.
        if !self.shared.journal.exists(&resume.session).await? {
            let session = resume.session;
            return Err(JournalError::UnknownSession { session }.into());
        }
        self.resume_existing(resume, observer).await
    }

    /// Like [`resume`](Self::resume), for a session that is known to exist.
    pub(crate) async fn resume_existing(
        &self,
        resume: ResumeSession,
        observer: &mut dyn Observer,
    ) -> Result<DriveOutcome, EngineError> {
        let _under_way = self.shared.shutdown.track_turn()?;
        let session = resume.session.clone();
        let Ok(driven_guard) = self.shared.driven_sessions.try_acquire(&session) else {
            return Err(self.busy_error(session).await);
        };
        let ownership = self.own(&session).await?;
        self.resume_owned(resume, ownership, &driven_guard, observer)
            .await
    }

    /// Recovers the open turn of an existing session, to be driven in the background.
    pub(crate) async fn prepare_resume(
        &self,
        resume: &ResumeSession,
    ) -> Result<PreparedTurn, EngineError> {
        let session = resume.session.clone();
        let Ok(driven_guard) = self.shared.driven_sessions.try_acquire(&session) else {
            return Err(self.busy_error(session).await);
        };
        let mut ownership = self.own(&session).await?;
        match self.recover(resume).await {
            Ok(recovered) => Ok(PreparedTurn {
                driven_guard,
                loaded: recovered.loaded,
                now: recovered.now,
                owned: OwnedTurn {
                    asks: resume.policy.can_ask,
                    ownership,
                    targets: recovered.targets,
                    toolboxes: recovered.toolboxes,
                    turn: recovered.turn,
                },
                problems: Vec::new(),
                step: recovered.step,
            }),
            Err(error) => {
                ownership.release().await;
                Err(error)
            }
        }
    }

    /// Resumes the open turn of a session that is owned here, and releases the session at the end.
    pub(crate) async fn resume_owned(
        &self,
        resume: ResumeSession,
        mut ownership: SessionOwnership,
        driven_guard: &DrivenGuard,
        observer: &mut dyn Observer,
    ) -> Result<DriveOutcome, EngineError> {
        let RecoveredTurn {
            loaded,
            now,
            step,
            targets,
            toolboxes,
            turn,
        } = match self.recover(&resume).await {
            Ok(recovered) => recovered,
            Err(error) => {
                ownership.release().await;
                return Err(error);
            }
        };
        let feed_writer = self.shared.feeds.begin(&resume.session, &loaded.steps);
        let mut driver = Driver::new(
            &self.shared,
            OwnedTurn {
                asks: resume.policy.can_ask,
                ownership,
                targets,
                toolboxes,
                turn,
            },
            &loaded,
            feed_writer,
            observer,
            driven_guard,
        );
        driver.report_earlier_steps(&loaded.steps);
        driver
            .run(step, InputKind::Recovered, now, resume.stay)
            .await
    }

    /// Recovers the open turn of a session. Commits nothing yet.
    async fn recover(&self, resume: &ResumeSession) -> Result<RecoveredTurn, EngineError> {
        let session = resume.session.clone();
        let loaded = self.shared.journal.load(&session).await?;
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts);
        let Some(turn) = folded.open_turn() else {
            return Err(EngineError::NothingOpen { session });
        };
        let parked = |why| EngineError::Parked {
            session: session.clone(),
            turn: turn.id().clone(),
            why: Box::new(why),
        };
        let mut toolboxes = Arc::default();
        let restrictions = if is_cancelled(turn.id(), &loaded.deliveries) {
            // It ends without another call, so it needs no toolboxes.
            Restrictions::default()
        } else if loaded.restored && !resume.force {
            return Err(parked(ParkReason::Restored));
        } else if turn.is_parked() && !resume.force {
            let times = turn.resumes_without_progress();
            return Err(parked(ParkReason::NoProgress { times }));
        } else {
            check_room(&self.shared, turn.resumes_without_progress()).await?;
            let client = turn.setup().caller.as_deref();
            toolboxes = self.shared.toolboxes_of(client).await;
            drift::restrictions(&self.shared, turn, &toolboxes, &resume.policy, resume.force)
                .await
                .map_err(parked)?
        };
        let now = self.shared.clock.now();
        let mut targets = TargetWatch::new(&self.shared.routes, None);
        let recovered = targets.recover(turn.setup(), &session, &loaded, now, restrictions);
        let Some((turn, step)) = recovered else {
            return Err(EngineError::NothingOpen { session });
        };
        Ok(RecoveredTurn {
            loaded,
            now,
            step,
            targets,
            toolboxes,
            turn,
        })
    }
}

/// A recovered turn with its first step, which is not committed yet.
struct RecoveredTurn {
    loaded: Loaded,
    now: Now,
    step: Step,
    targets: TargetWatch,
    toolboxes: Arc<ToolboxSet>,
    turn: ToolLoop,
}

/// Whether there is a cancel for this turn.
pub(crate) fn is_cancelled(turn: &TurnId, deliveries: &[Delivery]) -> bool {
    deliveries.iter().any(
        |delivery| matches!(&delivery.body, DeliveryBody::Cancel { turn: which, .. } if which == turn),
    )
}

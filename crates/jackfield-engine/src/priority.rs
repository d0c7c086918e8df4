//! Turns that clients are waiting for: a keeper resumes them before those that are merely due.

use jackfield_domain::ids::{SessionId, TurnId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::DeliveryBody;
use jackfield_ports::journal::summary::{CallPlace, OpenTurnSummary, Summary};
use jackfield_ports::journal::{Journal as _, Loaded};

use crate::error::EngineError;
use crate::state::Engine;

impl Engine {
    /// Asks a keeper of this engine to resume a turn before all others, because its client is waiting. Only for
    /// a turn that is due and not driven here. Without a keeper, this does nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session cannot be read.
    pub async fn prioritize_resume(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<(), EngineError> {
        if self.may_need_resume(session) {
            let loaded = self.shared.journal.load(session).await?;
            self.prioritize_resume_loaded(session, turn, &loaded);
        }
        Ok(())
    }

    /// Like [`prioritize_resume`](Self::prioritize_resume), for a session that is already loaded.
    pub(crate) fn prioritize_resume_loaded(
        &self,
        session: &SessionId,
        turn: &TurnId,
        loaded: &Loaded,
    ) {
        let now = self.shared.clock.now().wall;
        if self.may_need_resume(session) && has_work(turn, loaded, now) {
            self.shared.notices.prioritize(session);
        }
    }

    /// Whether a keeper may have to resume a turn of this session.
    fn may_need_resume(&self, session: &SessionId) -> bool {
        self.shared.notices.has_keeper() && self.shared.driven_sessions.progress(session).is_none()
    }
}

/// Whether a turn is open and due at this instant: because of its own state, or of a delivery that it has not
/// consumed.
fn has_work(turn: &TurnId, loaded: &Loaded, now: WallTime) -> bool {
    let mut summary = Summary::default();
    for step in &loaded.steps {
        summary.apply(step);
    }
    let is_due = summary.due().is_some_and(|due| due <= now);
    let Some(open) = summary.open.filter(|open| open.turn == *turn) else {
        return false;
    };
    let is_for_it = |body: &DeliveryBody| match body {
        DeliveryBody::Answer { wait, .. } => waits(&open).any(|open| open == wait),
        DeliveryBody::Cancel { turn: of, .. } => of == turn,
        DeliveryBody::Late { .. }
        | DeliveryBody::Withdrawn { .. }
        | DeliveryBody::Written { .. } => false,
    };
    let mut deliveries = loaded.deliveries.iter();
    is_due || deliveries.any(|delivery| is_for_it(&delivery.body))
}

/// The open waits of a turn.
fn waits(open: &OpenTurnSummary) -> impl Iterator<Item = &WaitId> {
    open.calls.iter().filter_map(|(_, place)| match place {
        CallPlace::Waiting { wait, .. } => Some(wait),
        CallPlace::Active | CallPlace::Queued => None,
    })
}

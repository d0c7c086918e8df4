//! The ownership of a session; it is released even if its owner is dropped.

pub(crate) mod probe;

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::Now;
use jackfield_domain::tool_loop::{Step, ToolLoop};
use jackfield_ports::journal::{Epoch, Journal as _, JournalError, Lease, Loaded};
use jackfield_ports::lease::LeaseDeadline;
use jackfield_ports::toolbox_source::{ToolboxProblem, ToolboxSet};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::driven_sessions::DrivenGuard;
use crate::error::chain;
use crate::journals::Journals;
use crate::patience::retry_until_reachable;
use crate::shutdown::stop;
use crate::state::EngineState;
use crate::target_watch::TargetWatch;

/// A session that this process owns. Dropping it releases the session in the background; without a runtime, the
/// session stays owned until the process ends. The release is retried while the journal fails, because no other
/// process could resume the session otherwise.
pub(crate) struct SessionOwnership {
    journal: Arc<Journals>,
    lease: Lease,
    session: Option<SessionId>,
    /// The engine that owns it.
    shared: Weak<EngineState>,
}

/// A turn of a session that is owned here, with the toolboxes of its client.
pub(crate) struct OwnedTurn {
    /// Whether a person can be asked.
    pub(crate) asks: bool,
    pub(crate) ownership: SessionOwnership,
    /// The call that the first step begins.
    pub(crate) targets: TargetWatch,
    pub(crate) toolboxes: Arc<ToolboxSet>,
    pub(crate) turn: ToolLoop,
}

/// A turn that begins or resumes, with its first step, which is not committed yet.
pub(crate) struct PreparedTurn {
    pub(crate) driven_guard: DrivenGuard,
    pub(crate) loaded: Loaded,
    pub(crate) now: Now,
    pub(crate) owned: OwnedTurn,
    pub(crate) problems: Vec<ToolboxProblem>,
    pub(crate) step: Step,
}

impl SessionOwnership {
    /// Takes the ownership. If the journal grants it after this future was dropped, it is released again.
    pub(crate) async fn take(
        shared: &Arc<EngineState>,
        session: &SessionId,
    ) -> Result<Self, JournalError> {
        let (journal, session) = (Arc::clone(&shared.journal), session.clone());
        let shared = Arc::downgrade(shared);
        OwnershipRequest(Some(Box::pin(async move {
            let lease = journal.own(&session).await?;
            let session = Some(session);
            Ok(Self {
                journal,
                lease,
                session,
                shared,
            })
        })))
        .await
    }

    pub(crate) const fn epoch(&self) -> Epoch {
        self.lease.epoch
    }

    /// Whether another process may own the session by now.
    pub(crate) fn has_passed(&self) -> bool {
        self.lease.deadline.has_passed()
    }

    /// Until when no other process can own the session.
    pub(crate) fn deadline(&self) -> LeaseDeadline {
        self.lease.deadline.clone()
    }

    /// Releases the session. A failed release is retried in the background.
    pub(crate) async fn release(&mut self) {
        // Cleared only after the release, because this future may be dropped, too.
        if let Some(session) = &self.session {
            if let Err(error) = self.journal.release(session, self.epoch()).await {
                if let Some(shared) = self.shared.upgrade() {
                    shared.write_health.record_failure();
                }
                let error = chain(&error);
                tracing::warn!(%session, %error, "a session is not let go of yet; trying again");
                self.release_after(JoinSet::new());
            }
            self.session = None;
        }
    }

    /// Releases the session after these tasks have stopped, if it is still owned.
    pub(crate) fn release_after(&mut self, mut tasks: JoinSet<()>) {
        let Some(session) = self.session.take() else {
            return;
        };
        let (journal, epoch) = (Arc::clone(&self.journal), self.epoch());
        let shared = Weak::clone(&self.shared);
        if let Ok(runtime) = Handle::try_current() {
            tasks.abort_all();
            runtime.spawn(async move {
                stop(&mut tasks).await;
                // The engine may have been dropped and its journal closed since: then there is nothing to
                // release.
                let is_over = || {
                    shared
                        .upgrade()
                        .is_none_or(|shared| shared.shutdown.is_draining())
                };
                match retry_until_reachable(is_over, || journal.release(&session, epoch)).await {
                    // Keepers do not know yet that the session may be due.
                    Ok(()) => {
                        if let Some(shared) = shared.upgrade() {
                            shared.notices.notify_released();
                        }
                    }
                    Err(error) => {
                        let error = chain(&error);
                        tracing::debug!(%session, %error, "a session could not be let go of");
                    }
                }
            });
        }
    }
}

impl Drop for SessionOwnership {
    fn drop(&mut self) {
        self.release_after(JoinSet::new());
    }
}

/// A pending request for ownership. The journal may grant it after the caller is gone.
struct OwnershipRequest(Option<PendingOwnership>);

type PendingOwnership =
    Pin<Box<dyn Future<Output = Result<SessionOwnership, JournalError>> + Send>>;

impl Future for OwnershipRequest {
    type Output = Result<SessionOwnership, JournalError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(taking) = &mut self.0 else {
            return Poll::Pending;
        };
        let taken = taking.as_mut().poll(context);
        if taken.is_ready() {
            self.0 = None;
        }
        taken
    }
}

impl Drop for OwnershipRequest {
    fn drop(&mut self) {
        if let (Some(taking), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { drop(taking.await) });
        }
    }
}

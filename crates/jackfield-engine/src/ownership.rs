//! Ownership: a session that was taken is let go of, whatever becomes of whoever took it.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::{Epoch, Journal, JournalError};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::engine::EngineState;
use crate::patience::reached;
use crate::perform::{chain, stop};

/// A session that is owned. Dropping it lets go of the session, a moment later; where no runtime is left
/// for that, the session stays owned until this process ends. While the journal fails, letting go is tried
/// again: nobody could go on with the session otherwise.
pub(crate) struct SessionOwnership {
    epoch: Epoch,
    journal: Arc<dyn Journal>,
    session: Option<SessionId>,
    /// The engine for which it is owned.
    shared: Weak<EngineState>,
}

impl SessionOwnership {
    /// Takes the ownership. A session that is had only after this future was dropped is let go of again.
    pub(crate) async fn take(
        shared: &Arc<EngineState>,
        session: &SessionId,
    ) -> Result<Self, JournalError> {
        let (journal, session) = (Arc::clone(&shared.journal), session.clone());
        let shared = Arc::downgrade(shared);
        OwnershipRequest(Some(Box::pin(async move {
            let epoch = journal.own(&session).await?;
            let session = Some(session);
            Ok(Self {
                epoch,
                journal,
                session,
                shared,
            })
        })))
        .await
    }

    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Lets go of the session. Where that fails it is tried again in the background.
    pub(crate) async fn release(&mut self) {
        // It is forgotten only when that is done: this future may be dropped, too.
        if let Some(session) = &self.session {
            if let Err(error) = self.journal.release(session, self.epoch).await {
                if let Some(shared) = self.shared.upgrade() {
                    shared.writes.failed();
                }
                let error = chain(&error);
                tracing::warn!(%session, %error, "a session is not let go of yet; trying again");
                self.release_after(JoinSet::new());
            }
            self.session = None;
        }
    }

    /// Lets go of the session once these tasks have been stopped, if it is owned still.
    pub(crate) fn release_after(&mut self, mut tasks: JoinSet<()>) {
        let Some(session) = self.session.take() else {
            return;
        };
        let (journal, epoch) = (Arc::clone(&self.journal), self.epoch);
        let shared = Weak::clone(&self.shared);
        if let Ok(runtime) = Handle::try_current() {
            tasks.abort_all();
            runtime.spawn(async move {
                stop(&mut tasks).await;
                // Whoever dropped the engine may have closed the journal since: then nothing is owned any more.
                let is_over = || {
                    shared
                        .upgrade()
                        .is_none_or(|shared| shared.going.is_draining())
                };
                match reached(is_over, || journal.release(&session, epoch)).await {
                    // A keeper has not seen yet that there is something to do.
                    Ok(()) => {
                        if let Some(shared) = shared.upgrade() {
                            shared.noticed.let_go();
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

/// An ownership that is on its way. The journal may give it although nobody waits any more.
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

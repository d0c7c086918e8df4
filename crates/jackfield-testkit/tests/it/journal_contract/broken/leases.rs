//! Mistakes about leases, and about the end of a process.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each method knows only the mistakes that are its own"
)]

use std::sync::atomic::Ordering;
use std::time::Instant;

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, Journal as _, JournalError, Lease,
};
use jackfield_ports::lease::LeaseDeadline;

use super::{AN_HOUR, Mistake, Mistaken};

impl Mistaken {
    pub(super) async fn leased(&self, session: &SessionId) -> Result<Lease, JournalError> {
        if self.is == Mistake::LeaseIgnored {
            self.inner.pass_leases();
        }
        let lease = self.inner.own(session).await?;
        if matches!(self.is, Mistake::LeaseIgnored | Mistake::LeaseNeverTold) {
            return Ok(Lease {
                deadline: LeaseDeadline::at(Instant::now() + AN_HOUR),
                ..lease
            });
        }
        Ok(lease)
    }

    /// Owns the session again in order to append what is stale.
    pub(super) async fn overstay(&self, append: Append, appended: Appended) -> Appended {
        if !matches!(appended, Appended::Refused(AppendRefusal::StaleEpoch)) {
            return appended;
        }
        self.inner.pass_leases();
        match self.inner.own(&append.session).await {
            Ok(Lease { epoch, .. }) => self.inner.append(&Append { epoch, ..append }).await,
            Err(_) => appended,
        }
    }

    pub(super) async fn end_all(&self) {
        match self.is {
            Mistake::CloseForgotten => return,
            Mistake::CloseLoses => self.taken.store(true, Ordering::Relaxed),
            _ => {}
        }
        self.inner.close().await;
    }
}

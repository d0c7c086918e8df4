//! Until when the owner of a session may act.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The deadline of a lease. Clones share it, so that the journal extends what the owner reads.
///
/// It is an instant of the owner's own monotonic clock. A journal whose server decides about ownership takes it
/// before it sends the request that gives or renews the lease, so that the deadline passes here before it passes
/// there.
#[derive(Clone, Debug, Default)]
pub struct LeaseDeadline(Option<Arc<Mutex<Instant>>>);

impl LeaseDeadline {
    /// The deadline of a lease that does not end while the process of its owner lives.
    #[must_use]
    pub const fn never() -> Self {
        Self(None)
    }

    /// A deadline at this instant.
    #[must_use]
    pub fn at(instant: Instant) -> Self {
        Self(Some(Arc::new(Mutex::new(instant))))
    }

    /// Moves the deadline to a later instant; an earlier one changes nothing. No effect on one that never passes.
    pub fn extend_to(&self, instant: Instant) {
        if let Some(deadline) = &self.0 {
            let mut deadline = deadline.lock().unwrap_or_else(PoisonError::into_inner);
            *deadline = instant.max(*deadline);
        }
    }

    /// Lets the deadline pass now, as when the journal hears that the session has another owner. No effect on one
    /// that never passes.
    pub fn end_now(&self) {
        if let Some(deadline) = &self.0 {
            let mut deadline = deadline.lock().unwrap_or_else(PoisonError::into_inner);
            *deadline = Instant::now().min(*deadline);
        }
    }

    /// Whether the deadline has passed: from then on, the session may have another owner.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.0.as_ref().is_some_and(|deadline| {
            *deadline.lock().unwrap_or_else(PoisonError::into_inner) <= Instant::now()
        })
    }

    /// The deadline as it is now; `None` if it never passes.
    #[must_use]
    pub fn instant(&self) -> Option<Instant> {
        let deadline = self.0.as_ref()?;
        Some(*deadline.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the lease lasts as long as the process of its owner.
    #[must_use]
    pub const fn is_never(&self) -> bool {
        self.0.is_none()
    }
}

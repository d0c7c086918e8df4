//! The lease of a session: for how long its owner may act.

use super::Epoch;
use crate::lease::LeaseDeadline;

/// The ownership of a session: its epoch, and the time until which the journal gives it to no other process.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The epoch, which each append names.
    pub epoch: Epoch,
    /// The deadline, which the journal extends while the ownership lives.
    pub deadline: LeaseDeadline,
}

impl Lease {
    /// A lease that lasts as long as the process of its owner.
    pub const fn unlimited(epoch: Epoch) -> Self {
        Self {
            epoch,
            deadline: LeaseDeadline::never(),
        }
    }
}

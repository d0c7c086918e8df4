//! Why a journal cannot be used at all, for those who may see neither its address nor its log.

use std::error::Error;

use thiserror::Error;

/// Why a journal cannot be used, in words without a name or an address.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Outage {
    /// There is no room on its disk.
    #[error("its disk is full")]
    DiskFull,
    /// A newer version has made its tables, and this one cannot write them.
    #[error("its tables were made by a newer version of jackfield")]
    Newer,
    /// Its tables are missing, or an older version made them.
    #[error("its tables are missing, or were made by an older version of jackfield")]
    Older,
    /// It is a standby, or set so.
    #[error("it can only be read")]
    ReadOnly,
    /// It lacks a right, or is not let in.
    #[error("it refuses the user of this process")]
    Refusal,
    /// It gives no answer in time.
    #[error("it gives no answer in time")]
    Slow,
    /// There is no connection to it.
    #[error("it cannot be reached")]
    Unreachable,
}

impl Outage {
    /// The outage that an error has among its causes, if there is one.
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut causes = std::iter::successors(Some(error), |error| (*error).source());
        causes.find_map(|cause| Some(cause.downcast_ref::<OutageError>()?.outage))
    }
}

/// The error of a journal that is out of use, as the source of
/// [`JournalError::Unreachable`](super::JournalError::Unreachable).
#[derive(Clone, Debug, Error)]
#[error("{why}")]
pub struct OutageError {
    /// What every client is shown.
    pub outage: Outage,
    /// The words for the log.
    pub why: String,
}

//! Entries of an audit, and the outcomes of its calls.

use jackfield_domain::audit::{AuditEntry, AuditedCall};
use jackfield_domain::fact::CallEnd;
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_domain::turn_log::WaitLog;
use jackfield_domain::wait::WaitEnd;

use crate::args::AuditOutcome;

/// An audit entry with its time and session.
pub type SeenSessions = (WallTime, SessionId, AuditEntry);

/// The outcomes of a call. There can be several: a question may have expired, and a result may be cached or have
/// arrived late.
#[must_use]
pub fn outcomes(call: &AuditedCall) -> Vec<AuditOutcome> {
    let ended = match &call.closed {
        None => AuditOutcome::Open,
        Some(closed) => match closed.end {
            CallEnd::ByClient | CallEnd::Cached | CallEnd::Ran if closed.is_error => {
                AuditOutcome::Error
            }
            CallEnd::ByClient | CallEnd::Cached | CallEnd::Ran => AuditOutcome::Ran,
            CallEnd::Cancelled => AuditOutcome::Cancelled,
            CallEnd::ClientExpired => AuditOutcome::Expired,
            CallEnd::Denied => AuditOutcome::Denied,
            CallEnd::NotRun => AuditOutcome::NotRun,
            CallEnd::Reported => AuditOutcome::Unknown,
        },
    };
    let mut all = vec![ended];
    let expired = |question: &WaitLog| matches!(question.closed, Some((_, WaitEnd::Expired)));
    if ended != AuditOutcome::Expired && call.questions.iter().any(expired) {
        all.push(AuditOutcome::Expired);
    }
    if call
        .closed
        .as_ref()
        .is_some_and(|closed| closed.cached.is_some())
    {
        all.push(AuditOutcome::Cached);
    }
    if !call.late.is_empty() {
        all.push(AuditOutcome::Late);
    }
    all
}

//! The API's stable names for kinds and reasons of the domain.

use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::fact::{CallEnd, ToolUse};
use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::message::Role;
use jackfield_domain::tool::Safety;

// Names shared with exported documents and JSON lines.
pub(crate) use jackfield_export::values::{
    cause, failure_kind as model_failure, finish, limit_kind as limit, model, wait_end, wait_kind,
};
pub(crate) use jackfield_export::words::{note_effect, note_kind};

/// A duration in milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The runner of a tool.
pub(crate) const fn ran_by(ran_by: RanBy) -> &'static str {
    match ran_by {
        RanBy::Client => "client",
        RanBy::Engine => "engine",
        RanBy::Provider => "provider",
    }
}

/// The author of a message.
pub(crate) const fn role(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Tool => "tool",
        Role::User => "user",
    }
}

/// The status of a closed call.
pub(crate) const fn status(end: CallEnd, is_error: bool) -> &'static str {
    match end {
        CallEnd::Cancelled => "cancelled",
        CallEnd::Denied => "denied",
        CallEnd::ClientExpired | CallEnd::NotRun => "not_run",
        CallEnd::Reported => "unknown",
        CallEnd::ByClient | CallEnd::Cached | CallEnd::Ran => {
            if is_error {
                "failed"
            } else {
                "done"
            }
        }
    }
}

/// The kind of a tool failure.
pub(crate) const fn tool_failure(kind: ToolFailureKind) -> &'static str {
    match kind {
        ToolFailureKind::Cancelled => "cancelled",
        ToolFailureKind::Crashed => "crashed",
        ToolFailureKind::InvalidArguments => "invalid_arguments",
        ToolFailureKind::ProtocolViolation => "protocol_violation",
        ToolFailureKind::Timeout => "timeout",
        ToolFailureKind::Unavailable => "unavailable",
        ToolFailureKind::UnknownTool => "unknown_tool",
    }
}

/// What is known about the effects of a failed call.
pub(crate) const fn disposition(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Landed => "landed",
        Disposition::NotSent => "not_sent",
        Disposition::Unknown => "unknown",
    }
}

/// Whether tools may be used in a round, and why not.
pub(crate) const fn tool_use(tools: ToolUse) -> (bool, Option<&'static str>) {
    match tools {
        ToolUse::Allowed => (true, None),
        ToolUse::FirstRoundOnly => (false, Some("first_round_only")),
        ToolUse::LastRound(kind) => (false, Some(limit(kind))),
    }
}

/// What is known about the effects of a tool.
pub(crate) const fn safety(safety: Safety) -> &'static str {
    match safety {
        Safety::Idempotent => "idempotent",
        Safety::ReadOnly => "read_only",
        Safety::Unknown => "unknown",
    }
}

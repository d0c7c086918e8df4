//! The API's stable names for kinds and reasons of the domain.

use jackfield_domain::fact::ToolUse;
use jackfield_domain::tool::Safety;

// Names shared with exported documents and JSON lines.
pub(crate) use jackfield_export::values::{
    after_loss, cause, disposition, failure_kind as model_failure, finish, limit_kind as limit,
    millis, model, model_call_end, ran_by, role, target_reason, tool_failure, turn_status,
    wait_end, wait_kind,
};
pub(crate) use jackfield_export::words::{Status, note_effect, note_kind};

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

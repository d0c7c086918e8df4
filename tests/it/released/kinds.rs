//! Which kinds of facts, deliveries and values a journal has, by the names of the stored form.
//!
//! Every match is exhaustive: a new variant does not compile until it has a name here, and then the
//! fixture of the version under work has to contain it.

use std::collections::BTreeSet;

use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::fact::{
    AfterLoss, CallEnd, Fact, InputKind, Late, ModelCallEnd, ToolUse, TurnEnd,
};
use jackfield_domain::failure::{
    Disposition, ModelFailureKind, Phase, RetryAdvice, ToolFailureKind,
};
use jackfield_domain::limits::{LimitKind, OnLimit};
use jackfield_domain::media::{ImageDetail, MediaSource};
use jackfield_domain::message::Role;
use jackfield_domain::note::{NoteEffect, NoteKind};
use jackfield_domain::opaque::StateScope;
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::restrictions::Restriction;
use jackfield_domain::settings::{Effort, ResponseFormat, ThinkingMode, Verbosity};
use jackfield_domain::setup::Opening;
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_domain::tool::{InputFormat, Permission, Safety, ToolChoice, UnknownPolicy};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, DeliveryBody, ElicitationAnswer, UnknownAnswer, WaitEnd,
    WaitKind,
};

/// The kinds that were seen.
pub(crate) type Kinds = BTreeSet<&'static str>;

/// A value that is one of several kinds.
pub(crate) trait Kind {
    /// The name of its kind, with the name of the enum before it.
    fn label(&self) -> &'static str;
}

macro_rules! kinds {
    ($($label:literal $enum:ty { $($pattern:pat => $name:literal),+ $(,)? })+) => {
        $(impl Kind for $enum {
            fn label(&self) -> &'static str {
                match self {
                    $($pattern => concat!($label, ".", $name)),+
                }
            }
        })+

        /// All kinds that this build knows.
        pub(crate) fn all() -> Kinds {
            let mut all = Kinds::new();
            $(all.extend([$(concat!($label, ".", $name)),+]);)+
            all.extend(FIELDS);
            all
        }
    };
}

/// Fields that may be missing, and the record beside the sessions; each has to be there once.
const FIELDS: [&str; 40] = [
    "field.affinity",
    "field.annotation",
    "field.approval",
    "field.assistant",
    "field.at_once",
    "field.budgets",
    "field.cache_point",
    "field.cached",
    "field.caller",
    "field.choice",
    "field.compaction",
    "field.created",
    "field.discovery",
    "field.edited",
    "field.failure",
    "field.fallbacks",
    "field.first_byte",
    "field.first_token",
    "field.opaque_of_message",
    "field.partial",
    "field.price",
    "field.reserved",
    "field.retry_at",
    "field.revealed",
    "field.revealed_before",
    "field.route",
    "field.settled",
    "field.shown",
    "field.strict",
    "field.structured",
    "field.subject",
    "field.target",
    "field.title",
    "field.trace",
    "field.usage",
    "field.view",
    "field.whole",
    "field.window",
    "field.withdrawn",
    "record.spending",
];

kinds! {
    "fact" Fact {
        Self::BackendSession { .. } => "backend_session",
        Self::CallAccepted { .. } => "call_accepted",
        Self::CallClosed { .. } => "call_closed",
        Self::CallLost { .. } => "call_lost",
        Self::CallStarted { .. } => "call_started",
        Self::Compacted(_) => "compacted",
        Self::Late(_) => "late",
        Self::ModelCallEnded { .. } => "model_call_ended",
        Self::ModelCallStarted { .. } => "model_call_started",
        Self::ReplyReceived { .. } => "reply_received",
        Self::SessionForked { .. } => "session_forked",
        Self::SessionImported { .. } => "session_imported",
        Self::TurnEnded { .. } => "turn_ended",
        Self::TurnOpened { .. } => "turn_opened",
        Self::TurnResumed { .. } => "turn_resumed",
        Self::WaitClosed { .. } => "wait_closed",
        Self::WaitOpened { .. } => "wait_opened",
    }
    "input" InputKind {
        Self::Began => "began",
        Self::Delivered => "delivered",
        Self::Forked => "forked",
        Self::Imported => "imported",
        Self::Recovered => "recovered",
        Self::ReplyDelta => "reply_delta",
        Self::ReplyEnded => "reply_ended",
        Self::ReplyFailed => "reply_failed",
        Self::ToolAccepted => "tool_accepted",
        Self::ToolAsked => "tool_asked",
        Self::ToolFailed => "tool_failed",
        Self::ToolFinished => "tool_finished",
        Self::Woke => "woke",
    }
    "call_end" CallEnd {
        Self::ByClient => "by_client",
        Self::Cached => "cached",
        Self::Cancelled => "cancelled",
        Self::ClientExpired => "client_expired",
        Self::Denied => "denied",
        Self::NotRun => "not_run",
        Self::Ran => "ran",
        Self::Reported => "reported",
    }
    "after_loss" AfterLoss {
        Self::Ask => "ask",
        Self::Repeat => "repeat",
        Self::Report => "report",
    }
    "disposition" Disposition {
        Self::Landed => "landed",
        Self::NotSent => "not_sent",
        Self::Unknown => "unknown",
    }
    "tool_failure" ToolFailureKind {
        Self::Cancelled => "cancelled",
        Self::Crashed => "crashed",
        Self::InvalidArguments => "invalid_arguments",
        Self::ProtocolViolation => "protocol_violation",
        Self::Timeout => "timeout",
        Self::Unavailable => "unavailable",
        Self::UnknownTool => "unknown_tool",
    }
    "late" Late {
        Self::Outcome { .. } => "outcome",
        Self::Usage { .. } => "usage",
    }
    "model_call_end" ModelCallEnd {
        Self::Cancelled => "cancelled",
        Self::Failed(_) => "failed",
        Self::Lost => "lost",
    }
    "model_failure" ModelFailureKind {
        Self::BudgetExhausted => "budget_exhausted",
        Self::BudgetUnavailable => "budget_unavailable",
        Self::ContextTooLong { .. } => "context_too_long",
        Self::Forbidden => "forbidden",
        Self::Interrupted => "interrupted",
        Self::InvalidRequest => "invalid_request",
        Self::ModelNotFound => "model_not_found",
        Self::Overloaded => "overloaded",
        Self::ProtocolViolation => "protocol_violation",
        Self::RateLimited => "rate_limited",
        Self::ServerError => "server_error",
        Self::Timeout => "timeout",
        Self::TooLarge => "too_large",
        Self::ContentFilter => "content_filter",
        Self::ToolsUnsupported => "tools_unsupported",
        Self::Transport => "transport",
        Self::Unauthenticated => "unauthenticated",
        Self::Unsupported => "unsupported",
        Self::UnusableReply => "unusable_reply",
    }
    "phase" Phase {
        Self::BeforeFirstDelta => "before_first_delta",
        Self::BeforeSend => "before_send",
        Self::MidReply => "mid_reply",
    }
    "retry" RetryAdvice {
        Self::After(_) => "after",
        Self::AtOnce => "at_once",
        Self::Backoff => "backoff",
        Self::Never => "never",
    }
    "tools" ToolUse {
        Self::Allowed => "allowed",
        Self::FirstRoundOnly => "first_round_only",
        Self::LastRound(_) => "last_round",
    }
    "limit" LimitKind {
        Self::ActiveTime => "active_time",
        Self::Cost => "cost",
        Self::NoProgress => "no_progress",
        Self::Rounds => "rounds",
        Self::Tokens => "tokens",
    }
    "on_limit" OnLimit {
        Self::Answer => "answer",
        Self::Error => "error",
    }
    "turn_end" TurnEnd {
        Self::Answered(_) => "answered",
        Self::Cancelled(_) => "cancelled",
        Self::ClientExpired => "client_expired",
        Self::Failed(_) => "failed",
        Self::Interrupted(_) => "interrupted",
        Self::Limited { .. } => "limited",
    }
    "finish" FinishReason {
        Self::ContentFilter => "content_filter",
        Self::ContextFull => "context_full",
        Self::Length => "length",
        Self::Paused => "paused",
        Self::Refused => "refused",
        Self::Stop => "stop",
        Self::StopSequence(_) => "stop_sequence",
        Self::ToolCalls => "tool_calls",
        Self::Unrecognized(_) => "unrecognized",
    }
    "opening" Opening {
        Self::ClientResults(_) => "client_results",
        Self::Transcript(_) => "transcript",
        Self::UserMessage(_) => "user_message",
    }
    "restriction" Restriction {
        Self::Changed => "changed",
        Self::Denied(_) => "denied",
        Self::Gone => "gone",
    }
    "wait" WaitKind {
        Self::Approval { .. } => "approval",
        Self::ClientResult => "client_result",
        Self::Budget { .. } => "budget",
        Self::Elicitation { .. } => "elicitation",
        Self::UnknownOutcome => "unknown_outcome",
    }
    "wait_end" WaitEnd {
        Self::Answered { .. } => "answered",
        Self::Cancelled => "cancelled",
        Self::Expired => "expired",
        Self::Superseded => "superseded",
    }
    "delivery" DeliveryBody {
        Self::Answer { .. } => "answer",
        Self::Cancel { .. } => "cancel",
        Self::Late { .. } => "late",
        Self::Withdrawn { .. } => "withdrawn",
        Self::Written { .. } => "written",
    }
    "answer" Answer {
        Self::Approval(_) => "approval",
        Self::ClientResult(_) => "client_result",
        Self::Elicitation(_) => "elicitation",
        Self::UnknownOutcome(_) => "unknown_outcome",
    }
    "approval" Approval {
        Self::Denied { .. } => "denied",
        Self::Granted { for_session: false, .. } => "granted",
        Self::Granted { for_session: true, .. } => "granted_for_session",
    }
    "elicitation" ElicitationAnswer {
        Self::Accepted(_) => "accepted",
        Self::Declined => "declined",
        Self::Dismissed => "dismissed",
    }
    "unknown_answer" UnknownAnswer {
        Self::Landed(_) => "landed",
        Self::Report => "report",
        Self::Retry => "retry",
    }
    "cancel" CancelCause {
        Self::Asked => "asked",
        Self::Superseded => "superseded",
    }
    "role" Role {
        Self::Assistant => "assistant",
        Self::System => "system",
        Self::Tool => "tool",
        Self::User => "user",
    }
    "content" Content {
        Self::Audio(_) => "audio",
        Self::Document(_) => "document",
        Self::Image(_) => "image",
        Self::Opaque(_) => "opaque",
        Self::Refusal(_) => "refusal",
        Self::Text(_) => "text",
        Self::Thinking(_) => "thinking",
        Self::ToolCall(_) => "tool_call",
        Self::ToolOutcome(_) => "tool_outcome",
    }
    "part" OutcomePart {
        Self::Audio(_) => "audio",
        Self::Document(_) => "document",
        Self::Image(_) => "image",
        Self::Text(_) => "text",
    }
    "media" MediaSource {
        Self::Base64 { .. } => "base64",
        Self::File { .. } => "file",
        Self::Text(_) => "text",
        Self::Url(_) => "url",
    }
    "detail" ImageDetail {
        Self::Auto => "auto",
        Self::High => "high",
        Self::Low => "low",
        Self::Original => "original",
    }
    "ran_by" RanBy {
        Self::Client => "client",
        Self::Engine => "engine",
        Self::Provider => "provider",
    }
    "tool_input" ToolInput {
        Self::Json(_) => "json",
        Self::Text(_) => "text",
    }
    "scope" StateScope {
        Self::Block => "block",
        Self::Prefix(_) => "prefix",
        Self::Reply => "reply",
    }
    "note" NoteKind {
        Self::Approximated => "approximated",
        Self::Carried => "carried",
        Self::Dropped => "dropped",
        Self::Refused => "refused",
    }
    "effect" NoteEffect {
        Self::Cosmetic => "cosmetic",
        Self::Cost => "cost",
        Self::Quality => "quality",
        Self::Meaning => "meaning",
    }
    "format" InputFormat {
        Self::Json(_) => "json",
        Self::Text(_) => "text",
    }
    "permission" Permission {
        Self::Allow => "allow",
        Self::Ask => "ask",
        Self::Deny(_) => "deny",
        Self::Granted { .. } => "granted",
    }
    "safety" Safety {
        Self::Idempotent => "idempotent",
        Self::ReadOnly => "read_only",
        Self::Unknown => "unknown",
    }
    "choice" ToolChoice {
        Self::Auto => "auto",
        Self::Forbidden => "forbidden",
        Self::Named(_) => "named",
        Self::Only { .. } => "only",
        Self::Required => "required",
    }
    "when_unknown" UnknownPolicy {
        Self::Ask => "ask",
        Self::Report => "report",
        Self::Retry => "retry",
    }
    "origin" PartOrigin {
        Self::Configuration => "configuration",
        Self::Default => "default",
        Self::Flag => "flag",
        Self::Retrieved(_) => "retrieved",
        Self::Server(_) => "server",
        Self::Session => "session",
    }
    "effort" Effort {
        Self::None => "none",
        Self::Minimal => "minimal",
        Self::Low => "low",
        Self::Medium => "medium",
        Self::High => "high",
        Self::ExtraHigh => "extra_high",
        Self::Max => "max",
    }
    "response_format" ResponseFormat {
        Self::JsonObject => "json_object",
        Self::JsonSchema { .. } => "json_schema",
        Self::Text => "text",
    }
    "thinking" ThinkingMode {
        Self::Adaptive => "adaptive",
        Self::Budget(_) => "budget",
        Self::Off => "off",
    }
    "verbosity" Verbosity {
        Self::High => "high",
        Self::Low => "low",
        Self::Medium => "medium",
    }
}

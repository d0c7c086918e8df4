//! Text for the events of a session, shared by all outputs.

use std::borrow::Cow;

use jackfield_domain::fact::{CachedCall, CallEnd, Compaction, ModelCallEnd};
use jackfield_domain::limits::LimitKind;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::text::hidden::is_obeyed;
use jackfield_domain::turn_log::{CallLog, TurnLog};
use jackfield_domain::wait::CancelCause;

/// The text for a cancelled turn.
#[must_use]
pub const fn cancelled(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::Asked => "cancelled",
        CancelCause::Superseded => "cancelled for a new message",
    }
}

/// Removes what a terminal would obey: control characters and bidirectional marks.
///
/// Carriage returns are removed; other characters are replaced by a visible sign.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter(|c| *c != '\r');
    Cow::Owned(
        kept.map(|c| {
            if is_obeyed(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect(),
    )
}

/// The same on one line: a foreign text must not look like another line of the output.
#[must_use]
pub fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// Escapes the same characters in JSON by JSON's own escapes.
#[must_use]
pub fn escaped(json: String) -> String {
    if !json.chars().any(is_obeyed) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if is_obeyed(c) {
            // They occur in strings only, and none needs more than four hexadecimal digits.
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// What a compaction came to, in a sentence.
#[must_use]
pub fn compaction(compaction: &Compaction) -> String {
    match &compaction.failure {
        None => {
            let replaced = compaction.replaced;
            let s = if replaced == 1 { "" } else { "s" };
            format!("compacted: {replaced} message{s} into a summary")
        }
        Some(ModelCallEnd::Cancelled) => "the compaction was cancelled".to_owned(),
        Some(ModelCallEnd::Failed(failure)) => format!(
            "not compacted, the whole conversation stays: {}",
            failure.message
        ),
        Some(ModelCallEnd::Lost) => "the compaction was lost with its process".to_owned(),
    }
}

/// Where the outcome of a call comes from that was not run, after the status of the call.
#[must_use]
pub fn cached_from(from: &CachedCall) -> String {
    let CachedCall {
        call,
        session,
        turn,
    } = from;
    format!(", cached from {call} of turn {turn} in session {session}")
}

/// The status of a call.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Status {
    Cancelled,
    Done,
    /// Denied by a person or a rule.
    Denied,
    /// It ran, and reported a failure.
    Failed,
    NotRun,
    /// It has not started.
    Queued,
    Running,
    /// Whether it took effect is unknown.
    Unknown,
    /// It waits for an answer.
    Waiting,
}

impl Status {
    /// The status of a call of a turn.
    #[must_use]
    pub fn of_call(turn: &TurnLog, call: &CallLog) -> Self {
        match call.outcome() {
            Some((end, result)) => Self::from_end(end, result.is_error),
            None if turn.is_asked(call) => Self::Waiting,
            None if call.attempts.is_empty() => Self::Queued,
            None => Self::Running,
        }
    }

    /// The status of a closed call.
    #[must_use]
    pub const fn from_end(end: CallEnd, is_error: bool) -> Self {
        match end {
            CallEnd::Cancelled => Self::Cancelled,
            CallEnd::Denied => Self::Denied,
            CallEnd::ClientExpired | CallEnd::NotRun => Self::NotRun,
            CallEnd::Reported => Self::Unknown,
            CallEnd::ByClient | CallEnd::Cached | CallEnd::Ran => {
                if is_error {
                    Self::Failed
                } else {
                    Self::Done
                }
            }
        }
    }

    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotRun => "not_run",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Unknown => "unknown",
            Self::Waiting => "waiting",
        }
    }

    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotRun => "not run",
            Self::Unknown => "outcome unknown",
            Self::Cancelled
            | Self::Denied
            | Self::Done
            | Self::Failed
            | Self::Queued
            | Self::Running
            | Self::Waiting => self.code(),
        }
    }

    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Cancelled | Self::NotRun | Self::Queued => "-",
            Self::Denied | Self::Failed => "✗",
            Self::Done => "✓",
            Self::Running => "▸",
            Self::Unknown | Self::Waiting => "?",
        }
    }
}

/// A remark about an incomplete answer, if it is incomplete.
#[must_use]
pub fn finish(finish: &FinishReason) -> Option<String> {
    match finish {
        FinishReason::ContentFilter => Some("the provider's filter ended the answer".to_owned()),
        FinishReason::ContextFull => {
            Some("the model's context is full: the answer is cut off".to_owned())
        }
        FinishReason::Length => Some(
            "the answer is cut off: it reached the limit on output tokens; \
             raise `max_output_tokens` under [settings]"
                .to_owned(),
        ),
        FinishReason::Paused => Some("the provider paused the answer".to_owned()),
        FinishReason::Refused => Some("the model declined to answer".to_owned()),
        FinishReason::Unrecognized(reason) => Some(format!(
            "the answer ended for a reason of the provider's own: {reason}"
        )),
        FinishReason::Stop | FinishReason::StopSequence(_) | FinishReason::ToolCalls => None,
    }
}

/// A limit, and the configuration key that changes it.
#[must_use]
pub const fn limit(limit: LimitKind) -> (&'static str, &'static str) {
    match limit {
        LimitKind::ActiveTime => ("the time of the turn is used up", "`active` under [budget]"),
        LimitKind::Cost => (
            "the money of the turn does not suffice",
            "`cost` under [budget], or --max-cost",
        ),
        LimitKind::NoProgress => (
            "the same call had the same outcome again and again",
            "`repeats` under [limits]",
        ),
        LimitKind::Rounds => (
            "the turn had all its rounds",
            "`rounds` under [limits], or --max-rounds",
        ),
        LimitKind::Tokens => (
            "the tokens of the turn do not suffice",
            "`tokens` under [budget]",
        ),
    }
}

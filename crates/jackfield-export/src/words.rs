//! Words for what happens in a session, the same wherever it is told.

use std::borrow::Cow;

use jackfield_domain::fact::CallEnd;
use jackfield_domain::limits::LimitKind;
use jackfield_domain::note::{NoteEffect, NoteKind};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::wait::CancelCause;

/// How a turn ended that was cancelled.
#[must_use]
pub const fn cancelled(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::Asked => "cancelled",
        CancelCause::Superseded => "cancelled for a new message",
    }
}

/// The text without what a terminal would obey: control characters, and marks that turn text around.
///
/// Carriage returns vanish; everything else leaves a sign that something was there.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(obeyed) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter(|c| *c != '\r');
    Cow::Owned(
        kept.map(|c| {
            if obeyed(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect(),
    )
}

/// The same in one line: a text of somebody else must not look like another line of ours.
#[must_use]
pub fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// The same JSON, with everything that a terminal would obey as an escape of JSON's own.
#[must_use]
pub fn escaped(json: String) -> String {
    if !json.chars().any(obeyed) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if obeyed(c) {
            // They stand in texts alone, and none of them needs more than four digits.
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// How a call is doing.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Status {
    /// The turn was cancelled.
    Cancelled,
    /// It has its outcome.
    Done,
    /// A person or a rule said no.
    Denied,
    /// It ran, and says that it failed.
    Failed,
    /// It was not run.
    NotRun,
    /// It runs.
    Running,
    /// Nobody knows whether it took effect.
    Unknown,
    /// Somebody is asked.
    Waiting,
}

impl Status {
    /// The status of a call that ended so.
    #[must_use]
    pub const fn of(end: CallEnd, is_error: bool) -> Self {
        match end {
            CallEnd::Cancelled => Self::Cancelled,
            CallEnd::Denied => Self::Denied,
            CallEnd::ClientExpired | CallEnd::NotRun => Self::NotRun,
            CallEnd::Reported => Self::Unknown,
            CallEnd::ByClient | CallEnd::Ran => {
                if is_error {
                    Self::Failed
                } else {
                    Self::Done
                }
            }
        }
    }

    /// The word for programs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotRun => "not_run",
            Self::Running => "running",
            Self::Unknown => "unknown",
            Self::Waiting => "waiting",
        }
    }

    /// The words for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotRun => "not run",
            Self::Unknown => "outcome unknown",
            Self::Cancelled
            | Self::Denied
            | Self::Done
            | Self::Failed
            | Self::Running
            | Self::Waiting => self.code(),
        }
    }

    /// The sign for people.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Cancelled | Self::NotRun => "-",
            Self::Denied | Self::Failed => "✗",
            Self::Done => "✓",
            Self::Running => "▸",
            Self::Unknown | Self::Waiting => "?",
        }
    }
}

/// What there is to say about an answer that is not simply whole.
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

/// A limit, and the key that moves it.
#[must_use]
pub const fn limit(limit: LimitKind) -> (&'static str, &'static str) {
    match limit {
        LimitKind::ActiveTime => ("the time of the turn is used up", "`active` under [budget]"),
        LimitKind::Cost => (
            "the money of the turn does not suffice",
            "`cost` under [budget]",
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

/// What was done with a value that does not fit.
#[must_use]
pub const fn note_kind(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Approximated => "approximated",
        NoteKind::Carried => "carried",
        NoteKind::Dropped => "dropped",
        NoteKind::Refused => "refused",
    }
}

/// What suffers by it.
#[must_use]
pub const fn note_effect(effect: NoteEffect) -> &'static str {
    match effect {
        NoteEffect::Cosmetic => "cosmetic",
        NoteEffect::Cost => "cost",
        NoteEffect::Meaning => "meaning",
        NoteEffect::Quality => "quality",
    }
}

fn obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

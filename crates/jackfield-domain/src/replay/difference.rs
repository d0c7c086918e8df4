//! Differences: the first point at which a replayed step differs from the record, as text.

use std::fmt;

use crate::fact::{Fact, Late};

/// The first point at which a decision differs from the record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// The decided value as text; a long one is reduced to the part that differs.
    pub decided: String,
    /// The index of the fact within the step, from 0.
    pub fact: usize,
    /// The field of the fact; `None` if the facts are of different kinds, or one is missing.
    pub field: Option<&'static str>,
    /// The kind of the recorded fact, or of the decided one if none is recorded.
    pub kind: &'static str,
    /// The recorded value, in the same form.
    pub recorded: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            decided,
            fact,
            field,
            kind,
            recorded,
        } = self;
        write!(f, "fact {fact}, {kind}")?;
        if let Some(field) = field {
            write!(f, ", {field}")?;
        }
        write!(f, ": recorded {recorded}, decided {decided}")
    }
}

impl Difference {
    /// The first difference between these facts; `None` if there is none.
    pub(super) fn between(recorded: &[Fact], decided: &[Fact]) -> Option<Self> {
        let most = recorded.len().max(decided.len());
        (0..most).find_map(|place| Self::at(place, recorded.get(place), decided.get(place)))
    }

    fn at(fact: usize, recorded: Option<&Fact>, decided: Option<&Fact>) -> Option<Self> {
        if recorded == decided {
            return None;
        }
        let (was, is) = (recorded.map(fact_fields), decided.map(fact_fields));
        let name = |parts: &Option<Parts>| match parts {
            Some((kind, _)) => *kind,
            None => "nothing",
        };
        let (kind, other) = (name(&was), name(&is));
        let whole = |recorded: &str, decided: &str| Self {
            decided: decided.to_owned(),
            fact,
            field: None,
            kind: if was.is_some() { kind } else { other },
            recorded: recorded.to_owned(),
        };
        let (Some((_, was)), Some((_, is))) = (&was, &is) else {
            return Some(whole(kind, other));
        };
        if kind != other {
            return Some(whole(kind, other));
        }
        let mut fields = was.iter().zip(is);
        let Some(((field, was), (_, is))) = fields.find(|(was, is)| was != is) else {
            return Some(whole("another value", "one that looks the same"));
        };
        let (recorded, decided) = excerpts(was, is);
        Some(Self {
            decided,
            fact,
            field: Some(field),
            kind,
            recorded,
        })
    }
}

/// The stored name of a fact's kind, and its fields as text.
type Parts = (&'static str, Vec<(&'static str, String)>);

fn fact_fields(fact: &Fact) -> Parts {
    macro_rules! fields {
        ($($field:ident),*) => { vec![$((stringify!($field), format!("{:?}", $field))),*] };
    }
    match fact {
        Fact::BackendSession { attempt, id } => ("backend_session", fields![attempt, id]),
        Fact::CallAccepted { attempt, handle } => ("call_accepted", fields![attempt, handle]),
        Fact::CallClosed {
            call,
            end,
            result,
            shown,
            cached,
            revealed,
        } => (
            "call_closed",
            fields![cached, call, end, result, revealed, shown],
        ),
        Fact::CallLost {
            attempt,
            disposition,
            kind,
            message,
            then,
        } => (
            "call_lost",
            fields![attempt, disposition, kind, message, then],
        ),
        Fact::CallStarted {
            approval,
            attempt,
            edited,
            may_repeat,
            repeat_until,
            time_limit,
        } => (
            "call_started",
            fields![
                approval,
                attempt,
                edited,
                may_repeat,
                repeat_until,
                time_limit
            ],
        ),
        Fact::Compacted(compaction) => ("compacted", fields![compaction]),
        Fact::Late(Late::Outcome {
            attempt,
            is_error,
            size,
        }) => ("late outcome", fields![attempt, is_error, size]),
        Fact::Late(Late::Usage { attempt, usage }) => ("late usage", fields![attempt, usage]),
        Fact::ModelCallEnded {
            attempt,
            partial,
            retry_at,
            usage,
            why,
            at_once,
            first_token,
            settled,
            withdrawn,
        } => (
            "model_call_ended",
            fields![
                at_once,
                attempt,
                first_token,
                partial,
                retry_at,
                settled,
                usage,
                why,
                withdrawn
            ],
        ),
        Fact::ModelCallStarted {
            active,
            attempt,
            tools,
            choice,
            reserved,
            target,
        } => (
            "model_call_started",
            fields![active, attempt, choice, reserved, target, tools],
        ),
        Fact::ReplyReceived {
            attempt,
            reply,
            first_token,
            settled,
        } => (
            "reply_received",
            fields![attempt, first_token, reply, settled],
        ),
        Fact::SessionForked {
            at,
            from,
            messages,
            revealed,
        } => ("session_forked", fields![at, from, messages, revealed]),
        Fact::SessionImported {
            created,
            messages,
            source,
            title,
        } => (
            "session_imported",
            fields![created, messages, source, title],
        ),
        Fact::TurnEnded { end, view } => ("turn_ended", fields![end, view]),
        Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn,
        } => ("turn_opened", fields![opening, ordinal, setup, turn]),
        Fact::TurnResumed { nth, restrictions } => ("turn_resumed", fields![nth, restrictions]),
        Fact::WaitClosed { end, subject, wait } => ("wait_closed", fields![end, subject, wait]),
        Fact::WaitOpened { wait } => ("wait_opened", fields![wait]),
    }
}

/// Both texts, reduced to the part around their first difference.
fn excerpts(one: &str, other: &str) -> (String, String) {
    let same = one.chars().zip(other.chars());
    let same = same.take_while(|(one, other)| one == other).count();
    let from = if one.len().max(other.len()) <= WHOLE {
        0
    } else {
        same.saturating_sub(BEFORE)
    };
    let cut = |text: &str| {
        let mut part: String = text.chars().skip(from).take(WHOLE).collect();
        if text.chars().nth(from + WHOLE).is_some() {
            part.push('…');
        }
        if from > 0 {
            part.insert(0, '…');
        }
        part
    };
    (cut(one), cut(other))
}

/// The maximum length of a value that is shown, in characters.
const WHOLE: usize = 200;
/// How much of it is shown before the first difference.
const BEFORE: usize = 60;

//! Answers in words: how a question ended, and by whom. Pure.

use jackfield_domain::wait::{Answer, Approval, UnknownAnswer, WaitEnd, WaitEndKind};

use super::hidden::revealed;
use super::words::{one_line, shortened};

/// How a question ended, and by whom, in words.
#[must_use]
pub fn wait_end(end: &WaitEnd) -> String {
    let (answer, by) = match end {
        WaitEnd::Answered { answer, by, .. } => (answer, revealed(&one_line(by))),
        WaitEnd::Cancelled => return "the turn was cancelled".to_owned(),
        WaitEnd::Expired => return "nobody answered in time".to_owned(),
        WaitEnd::Superseded => return "a new message took its place".to_owned(),
    };
    match answer {
        Answer::Approval(Approval::Denied { reason }) if reason.trim().is_empty() => {
            format!("denied by {by}")
        }
        Answer::Approval(Approval::Denied { reason }) => {
            format!("denied by {by}: {}", shortened(reason, REASON))
        }
        Answer::Approval(Approval::Granted {
            edited,
            for_session,
        }) => {
            let how = match (edited.is_some(), *for_session) {
                (false, false) => "",
                (false, true) => " for the session",
                (true, false) => " with other arguments",
                (true, true) => " with other arguments, and for the session",
            };
            format!("allowed{how} by {by}")
        }
        Answer::ClientResult(_) | Answer::Elicitation(_) => format!("answered by {by}"),
        Answer::UnknownOutcome(UnknownAnswer::Retry) => format!("run again, said {by}"),
        Answer::UnknownOutcome(UnknownAnswer::Landed(_) | UnknownAnswer::Report) => {
            format!("not run again, said {by}")
        }
    }
}

/// The most characters of a reason.
const REASON: usize = 400;

/// How a question ended, in a word.
#[must_use]
pub const fn how(end: WaitEndKind) -> &'static str {
    match end {
        WaitEndKind::Answered => "answered",
        WaitEndKind::Cancelled => "cancelled",
        WaitEndKind::Expired => "expired",
        WaitEndKind::Superseded => "superseded",
    }
}

//! Text for answers: how a question ended, and by whose answer. Pure.

use jackfield_domain::wait::{Answer, Approval, UnknownAnswer, WaitEnd, WaitEndKind};

use super::words::{one_line, shortened};

/// How a question ended, and by whose answer, as text.
#[must_use]
pub fn wait_end(end: &WaitEnd) -> String {
    let (answer, by) = match end {
        WaitEnd::Answered { answer, by, .. } => (answer, one_line(by)),
        WaitEnd::Cancelled => return CANCELLED.to_owned(),
        WaitEnd::Expired => return EXPIRED.to_owned(),
        WaitEnd::Superseded => return SUPERSEDED.to_owned(),
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

const CANCELLED: &str = "the turn was cancelled";
const EXPIRED: &str = "no answer came in time";
const SUPERSEDED: &str = "a new message took its place";

/// The maximum length of a reason, in characters.
const REASON: usize = 400;

/// The message for an answer that came too late.
#[must_use]
pub fn too_late(kind: WaitEndKind, by: Option<&str>) -> String {
    let by = by.map(|by| format!(" by {}", one_line(by)));
    let why = match kind {
        WaitEndKind::Answered => format!("it was answered{}", by.unwrap_or_default()),
        WaitEndKind::Cancelled => CANCELLED.to_owned(),
        WaitEndKind::Expired => EXPIRED.to_owned(),
        WaitEndKind::Superseded => SUPERSEDED.to_owned(),
    };
    format!("that comes too late: {why}")
}

//! Help for a conversation that exceeds the context window of its model.

use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::turn_log::SessionLog;
use jackfield_engine::{Engine, TurnReport};

use crate::render::sessions::place;

/// Help for a session whose last turn was too long for the model; `None` otherwise.
///
/// The long turn is stored and sent again with every later question, so a shorter question does not help in this
/// session.
pub(crate) async fn remedy(engine: &Engine, report: &TurnReport) -> Option<String> {
    if !is_too_long(&report.end) {
        return None;
    }
    let session = &report.session;
    let loaded = engine.load(session).await.ok()?;
    let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
    let fits = log
        .turns
        .iter()
        // A cancelled or otherwise failed turn does not prove that its context fits.
        .rfind(|turn| matches!(turn.end(), Some((_, TurnEnd::Answered(_)))));
    let from = match (fits, &log.forked) {
        (Some(turn), _) => Some((session, place(turn.ordinal, None))),
        (None, Some(forked)) => {
            let at = place(forked.at.ordinal, forked.at.round);
            Some((&forked.from, at))
        }
        (None, None) => None,
    };
    let stays = format!("session {session} keeps what is too long");
    Some(match from {
        None => format!("{stays}: {ANOTHER}"),
        Some((from, at)) => format!(
            "{stays}: `jackfield sessions fork {from} --at {at}` begins one without it (take an earlier place if that is too long, too), and {COMPACT} one with a summary"
        ),
    })
}

fn is_too_long(end: &TurnEnd) -> bool {
    let (TurnEnd::Failed(failure) | TurnEnd::Interrupted(failure)) = end else {
        return false;
    };
    matches!(failure.kind, ModelFailureKind::ContextTooLong { .. })
}

/// Where a summary is asked for.
pub(crate) const COMPACT: &str = "`/compact` in `jackfield chat`";
/// Help where no part of the session fits.
pub(crate) const ANOTHER: &str = "begin another one";

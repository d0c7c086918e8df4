//! The summary of an open turn as one line of text, for the column of a store.

use jackfield_domain::ids::{ToolCallId, TurnId, WaitId};
use jackfield_domain::time::WallTime;

use super::{CallPlace, OpenTurnSummary};

impl OpenTurnSummary {
    /// The stored form: the turn, how many calls may run at once, the number of resumes, when the model call is
    /// retried or `-`, and each call's id with its state. Its meaning never changes.
    #[must_use]
    pub fn to_text(&self) -> String {
        let retry_at = self
            .retry_at
            .map_or_else(|| "-".to_owned(), |at| at.as_millis().to_string());
        let mut text = format!(
            "{} {} {} {retry_at}",
            self.turn.as_str(),
            self.parallel,
            self.tries
        );
        for (call, place) in &self.calls {
            text.push(' ');
            text.push_str(call.as_str());
            match place {
                CallPlace::Active => text.push_str(":g"),
                CallPlace::Queued => text.push_str(":q"),
                CallPlace::Waiting {
                    deadline,
                    holds_slot,
                    wait,
                } => {
                    let how = if *holds_slot { 'h' } else { 'w' };
                    text.push_str(&format!(":{how}:{}:{wait}", deadline.as_millis()));
                }
            }
        }
        text
    }

    /// Reads what [`to_text`](Self::to_text) gives; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let turn = TurnId::parse(words.next()?).ok()?;
        let parallel = words.next()?.parse().ok()?;
        let tries = words.next()?.parse().ok()?;
        let retry_at = match words.next()? {
            "-" => None,
            millis => Some(WallTime::from_millis(millis.parse().ok()?)),
        };
        let calls = words.map(call).collect::<Option<Vec<_>>>()?;
        Some(Self {
            calls,
            parallel,
            retry_at,
            tries,
            turn,
        })
    }
}

fn call(word: &str) -> Option<(ToolCallId, CallPlace)> {
    let mut parts = word.split(':');
    let call = ToolCallId::parse(parts.next()?).ok()?;
    let place = match parts.next()? {
        "g" => CallPlace::Active,
        "q" => CallPlace::Queued,
        how @ ("h" | "w") => CallPlace::Waiting {
            deadline: WallTime::from_millis(parts.next()?.parse().ok()?),
            holds_slot: how == "h",
            wait: WaitId::parse(parts.next()?).ok()?,
        },
        _ => return None,
    };
    Some((call, place))
}

//! Exports a session as one document with its whole history, for programs or for people.
//!
//! Used by the command line and the gateway. Pure: from the steps of a session to a text.

mod inert;
mod json;
mod markdown;
mod redact;
mod secrets;
pub mod values;
pub mod words;

use std::borrow::Cow;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::SessionId;
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::wait::Delivery;

pub use self::json::session;
pub use self::redact::steps as without_private;
pub use self::secrets::{without_secrets, without_secrets_in};

/// The format of an exported session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// One JSON document; see docs/cli.md.
    Json,
    Markdown,
}

/// A session as a document. `redacted` leaves out tool arguments and results, files and reasoning, and replaces
/// anything that looks like a key in the remaining texts.
#[must_use]
pub fn document(
    session: &SessionId,
    steps: &[Envelope],
    deliveries: &[Delivery],
    format: Format,
    redacted: bool,
) -> String {
    let steps = if redacted {
        Cow::Owned(without_private(steps))
    } else {
        Cow::Borrowed(steps)
    };
    let mut log = SessionLog::from_steps(&steps, deliveries);
    if redacted {
        redact::redact_late(&mut log);
    }
    match format {
        Format::Json => json::document(session, &log, redacted),
        Format::Markdown => markdown::document(session, &log, redacted),
    }
}

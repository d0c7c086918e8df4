//! A session as one document: everything that was said and done in it, for programs or for people.
//!
//! The command line and the gateway both give it. Pure: from the steps of a session to a text.

mod inert;
mod json;
mod markdown;
mod redact;
mod secrets;
mod story;
pub mod values;
pub mod words;

use std::borrow::Cow;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::SessionId;
use jackfield_domain::wait::Delivery;

use self::story::Story;

pub use self::redact::steps as without_private;
pub use self::secrets::{without_secrets, without_secrets_in};

/// In which form a session is exported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// One JSON document; see docs/cli.md.
    Json,
    /// Markdown, to be read.
    Markdown,
}

/// A session as a document; `redacted` is without what tools were given and gave back, without files and
/// reasoning, and without what looks like a key anywhere else.
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
    let mut story = Story::of(session, &steps, deliveries);
    if redacted {
        redact::late(&mut story);
    }
    match format {
        Format::Json => json::document(&story, redacted),
        Format::Markdown => markdown::document(&story, redacted),
    }
}

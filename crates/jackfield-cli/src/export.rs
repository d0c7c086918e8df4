//! A session as one document: everything that was said and done in it, for programs or for people.

mod inert;
mod json;
mod markdown;
mod redact;
mod secrets;
mod story;

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::SessionId;
use jackfield_domain::wait::Delivery;

use self::story::Story;

pub use self::secrets::without_secrets;

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
    let mut story = Story::of(session, steps, deliveries);
    if redacted {
        redact::story(&mut story);
    }
    match format {
        Format::Json => json::document(&story, redacted),
        Format::Markdown => markdown::document(&story, redacted),
    }
}

//! The schemas that OpenAI accepts: its strict subset of JSON Schema, and the requirements on other roots.
//!
//! The subset is that of strict functions and of structured outputs (the vendor's documentation and SDK, 2026-11).
//! Keywords outside of it move into the description, where the model may follow them.

mod limits;
mod root;
mod strict;

pub use jackfield_dialect_kit::schema::Change;
pub use root::rooted;

use jackfield_dialect_kit::schema::{Changes, sound};
use jackfield_domain::note::NoteEffect;
use serde_json::Value;

/// The schema within the strict subset, and the changes; `None` if there is no such schema.
///
/// The root must be an object's. Every value of the result is also a value of the original schema, except for
/// keywords that the changes report as described or loosened: so the arguments pass the tool's own schema. In the
/// subset every property is required; an optional one becomes required only if its schema accepts null, because
/// arguments with null in place of an omitted property would not pass otherwise. If it does not, there is no such
/// schema, nor is there one for an object with arbitrary property names.
#[must_use]
pub fn restrict(schema: &Value) -> Option<(Value, Vec<Change>)> {
    let mut fixes = Changes::default();
    let schema = sound(schema, &mut fixes);
    let fixes = fixes.into_vec();
    // The parts that the repair removed would not be enforced.
    let is_kept = fixes
        .iter()
        .all(|change| change.effect == NoteEffect::Cosmetic);
    let (restricted, changes) = strict::restrict(&schema).filter(|_| is_kept)?;
    let changes = fixes.into_iter().chain(changes).collect();
    limits::is_within_limits(&restricted).then_some((restricted, changes))
}

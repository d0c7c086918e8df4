//! The schemas that OpenAI takes: its strict subset of JSON Schema, and what a root has to be otherwise.
//!
//! The subset is that of strict functions and of structured outputs (the vendor's documentation and SDK,
//! 2026-11). What is outside it moves into the description, where the model may follow it.

mod limits;
mod root;
mod strict;

pub use jackfield_dialect_kit::schema::Change;
pub use root::rooted;

use jackfield_dialect_kit::schema::{Changes, sound};
use jackfield_domain::note::NoteEffect;
use serde_json::Value;

/// The schema within the strict subset, and where it differs; `None` if there is no such schema.
///
/// The root is an object's. What it admits, the schema as it was admits too, but for what the changes say
/// is described or loosened: so arguments made by it pass the tool's own schema. In the subset every property is
/// required; an optional one is made so only where its schema takes null, because arguments with a null
/// in place of a property that was left out would not pass. Where one takes none there is no such schema,
/// nor for an object with properties of any name.
#[must_use]
pub fn restrict(schema: &Value) -> Option<(Value, Vec<Change>)> {
    let mut mended = Changes::default();
    let schema = sound(schema, &mut mended);
    let mended = mended.into_vec();
    // What was taken out of it would not be kept.
    let is_kept = mended
        .iter()
        .all(|change| change.effect == NoteEffect::Cosmetic);
    let (restricted, changes) = strict::restrict(&schema).filter(|_| is_kept)?;
    let changes = mended.into_iter().chain(changes).collect();
    limits::keeps(&restricted).then_some((restricted, changes))
}

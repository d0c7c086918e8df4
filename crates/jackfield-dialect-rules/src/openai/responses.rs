//! The vendor's own rules for the bodies of Responses; see [`crate::openai`].
//!
//! Of items and tools that the provider runs itself no more is checked than that there are such.

mod items;
mod order;
mod parts;
mod settings;
mod tools;

pub use crate::openai::{Rule, Violation};

use jackfield_dialect_openai::profile::Profile;
use serde_json::Value;

use crate::openai::Found;
use crate::openai::place::Place;

/// Checks the body of `POST /v1/responses` for a server and model of this profile; the list is empty if
/// it is sound.
#[must_use]
pub fn check(body: &Value, profile: &Profile) -> Vec<Violation> {
    let mut found = Found::new(profile);
    let root = Place::default();
    if let Some(fields) = found.object(body, &root) {
        settings::check(&mut found, fields, &root);
        tools::check(&mut found, fields, &root);
        items::check(&mut found, fields, &root);
        order::check(&mut found, fields, &root);
    }
    found.violations
}

//! The vendor's own rules for the bodies of Responses; see [`crate::openai`].
//!
//! Items and tools that the provider runs itself are only checked for a known type.

mod items;
mod order;
mod parts;
mod settings;
mod tools;

pub use crate::openai::{Rule, Violation};

use jackfield_dialect_openai::profile::Profile;
use serde_json::Value;

use crate::openai::Found;
use crate::place::Place;

/// Checks the body of `POST /v1/responses` for a server and model with this profile; the list is empty if it is
/// valid.
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

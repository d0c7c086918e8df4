//! The vendor's own rules for the bodies of Chat Completions; see [`crate::openai`].

mod messages;
mod order;
mod settings;
mod tools;

pub use crate::openai::{Rule, Violation};

use jackfield_dialect_openai::profile::Profile;
use serde_json::Value;

use crate::openai::Found;
use crate::place::Place;

/// Checks the body of `POST /v1/chat/completions` for a server and model with this profile; the list is empty if it
/// is valid.
#[must_use]
pub fn check(body: &Value, profile: &Profile) -> Vec<Violation> {
    let mut found = Found::new(profile);
    let root = Place::default();
    if let Some(fields) = found.object(body, &root) {
        settings::check(&mut found, fields, &root);
        tools::check(&mut found, fields, &root);
        messages::check(&mut found, fields, &root);
        order::check(&mut found, fields, &root);
    }
    found.violations
}

//! The vendor's own rules for the bodies of Chat Completions.
//!
//! Written from the vendor's rules and not from the mappers, which it judges in tests and in scripted
//! servers: see [`crate::validator`].

mod messages;
mod order;
mod settings;
mod tools;

pub use crate::validator::{Rule, Violation};

use serde_json::Value;

use crate::profile::Profile;
use crate::validator::Found;
use crate::validator::place::Place;

/// Checks the body of `POST /v1/chat/completions` for a server and model of this profile; the list is
/// empty if it is sound.
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

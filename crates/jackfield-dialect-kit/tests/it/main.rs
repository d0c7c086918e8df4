//! Integration tests of `jackfield-dialect-kit`.
#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod body;
mod client_ids;
mod data_url;
mod error_patterns;
mod failure;
mod ids;
mod json_text;
mod media_text;
mod named_fields;
mod names;
mod notes;
mod pointer;
mod schema;
mod settings;
mod strict;
mod text_tools;
mod usage_reports;
mod whole_number;

use jackfield_domain::opaque::StateOwner;

/// Whoever owns state here.
fn owner() -> StateOwner {
    StateOwner {
        dialect: "a-dialect".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

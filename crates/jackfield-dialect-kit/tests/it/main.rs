//! Integration tests of `jackfield-dialect-kit`.
#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod body;
mod client_ids;
mod data_url;
mod error_words;
mod failure;
mod ids;
mod in_words;
mod notes;
mod pointer;
mod same;
mod schema;
mod strict;
mod whole;

use jackfield_domain::opaque::StateOwner;

/// Whoever owns state here.
fn owner() -> StateOwner {
    StateOwner {
        dialect: "a-dialect".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

//! Integration tests of `jackfield-dialect-openai`.
#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at the first surprise"
)]

mod added;
mod chat;
mod errors;
mod laws;
mod models;
mod profiles;
mod responses;
mod schema;
mod validated;

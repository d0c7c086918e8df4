//! Integration tests of `jackfield-dialect-gemini`.

#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at the first surprise"
)]

mod arb;
mod corpus;
mod errors;
mod examples;
mod models;
mod profiles;
mod reply_laws;
mod request_laws;
mod schema;
mod serve;
mod streams;
mod views;

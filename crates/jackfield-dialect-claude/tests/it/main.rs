//! Integration tests of `jackfield-dialect-claude`.
#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at the first surprise"
)]

mod arb;
mod cache_points;
mod corpus;
mod errors;
mod examples;
mod goldens;
mod models;
mod profiles;
mod reply_laws;
mod request_laws;
mod serve;
mod stream_laws;
mod structured;
mod tool_search;
mod tools;

//! Integration tests of `jackfield-gateway`.
#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on should stop, and looks at few of many kinds"
)]

mod batches;
mod claims;
mod collecting;
mod ephemeral;
mod failures;
mod finding;
mod harness;
mod other_models;
mod passed_forms;
mod passed_paths;
mod passed_replies;
mod passed_requests;
mod passed_responses;
mod passed_waits;
mod passing;
mod refused_usage;
mod tools;
mod unheard;
mod upstream;

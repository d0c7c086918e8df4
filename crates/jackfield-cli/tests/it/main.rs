//! Integration tests of `jackfield-cli`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod adding;
mod approvals;
mod asking;
mod beginning;
mod behaving;
mod changes;
mod commands;
mod completing;
mod configuration;
mod doctor;
mod edits;
mod elicitations;
mod exits;
mod exporting;
mod help;
mod importing;
#[cfg(all(
    feature = "claude",
    not(any(
        feature = "bedrock",
        feature = "claude-code",
        feature = "gemini",
        feature = "oidc",
        feature = "ollama",
        feature = "openai",
        feature = "postgres",
        feature = "serve",
        feature = "web"
    ))
))]
mod left_out;
mod listing;
mod markdown;
mod process;
mod questions;
mod redacting;
mod rendering;
mod scene;
mod starting;
mod tools;
mod usage;
mod wording;
mod wrapping;

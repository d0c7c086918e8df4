//! Integration tests of `jackfield-dialect-rules`.
#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at the first surprise"
)]

mod bedrock;
mod claude;
mod gemini;
mod ollama;
mod openai;

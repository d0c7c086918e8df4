//! Integration tests of `jackfield-web`.
#![expect(clippy::expect_used, reason = "a test that cannot go on should stop")]

mod assets;
mod chart;
mod code;
mod formula;
mod growing;
mod markdown;

//! The tests of this crate, over files of notes.
#![expect(clippy::expect_used, reason = "a test that cannot go on is over")]

mod notebook;
mod tools;

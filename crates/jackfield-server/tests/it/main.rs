//! The program `jackfield-http`.

#![expect(clippy::expect_used, reason = "a test that cannot go on has to fail")]

mod program;

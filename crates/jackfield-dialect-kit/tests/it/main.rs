//! Integration tests of `jackfield-dialect-kit`.

mod pointer;
mod strict;

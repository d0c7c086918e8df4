//! Integration tests of `jackfield-dialect-openai`.

mod profiles;

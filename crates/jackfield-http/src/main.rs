//! The `jackfield-http` command.

fn main() {}

//! The program alone: what it says to whoever gives it arguments.

use std::process::{Command, Output};

fn run(argument: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_jackfield-http"));
    program.arg(argument).output().expect("it runs")
}

#[test]
fn it_says_how_it_is_configured() {
    for argument in ["--help", "-h"] {
        let said = run(argument);
        assert!(said.status.success(), "{said:?}");
        let text = String::from_utf8(said.stdout).expect("text");
        assert!(text.contains("Usage: jackfield-http"), "{text}");
        assert!(text.contains("JACKFIELD_CONFIG"), "{text}");
    }
    let said = run("--version");
    let text = String::from_utf8(said.stdout).expect("text");
    assert_eq!(
        text.trim(),
        concat!("jackfield-http ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_configuration_that_cannot_be_read_is_told_with_the_reason() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_jackfield-http"));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/nowhere/jackfield.toml");
    let said = program.env("JACKFIELD_CONFIG", file).output();
    let said = said.expect("it runs");
    assert_eq!(said.status.code(), Some(3), "{said:?}");
    let error = String::from_utf8(said.stderr).expect("text");
    assert!(error.contains(file), "{error}");
    assert!(error.contains("No such file"), "{error}");
}

#[test]
fn what_it_does_not_know_is_refused_and_nothing_is_served() {
    let said = run("--bind");
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    let error = String::from_utf8(said.stderr).expect("text");
    assert!(error.contains("`--bind`"), "{error}");
    assert!(error.contains("--help"), "{error}");
}

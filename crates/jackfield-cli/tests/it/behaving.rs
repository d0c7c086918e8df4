//! Surroundings that are not as most: a reader that goes away, a home that is none, files that are no files.

use std::fs::{File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::Command;

use crate::process::{Jackfield, jackfield};

/// Commands that print much and ask nobody.
const COMMANDS: &[&[&str]] = &[
    &["completions", "bash"],
    &["config", "init", "--print", "--no-probe"],
    &["config", "path"],
    &["config", "schema"],
    &["config", "show"],
    &["doctor", "--offline"],
    &["man", "ask"],
    &["providers", "--all", "--offline"],
    &["tools", "list"],
];

fn run(command: &[&str]) -> Jackfield {
    let start = jackfield([]).env("ANTHROPIC_API_KEY", "sk-test-key");
    command
        .iter()
        .fold(start, |run, argument| run.arg(argument))
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for command in COMMANDS {
        let mut run = run(command);
        let mut child = run.spawn();
        // As `head -0` does: it is gone before anything is written.
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{command:?}: {err}");
        assert!(
            !err.contains("panicked") && !err.contains("error"),
            "{command:?}: {err}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_home_that_cannot_be_written_or_is_none_stops_nothing() {
    for command in COMMANDS {
        let ran = run(command)
            .env("HOME", "/dev/null")
            .env("XDG_CONFIG_HOME", "/dev/null/config")
            .env("XDG_CACHE_HOME", "/dev/null/cache")
            .run();
        assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.err);
    }
    let ran = run(&["doctor", "--offline"]).env("HOME", "/dev/null").run();
    assert!(
        ran.out
            .contains("warning: the home folder /dev/null is not there"),
        "{}",
        ran.out
    );
}

#[test]
fn nothing_is_coloured_where_nobody_sees_it() {
    for command in COMMANDS {
        for (name, value) in [("TERM", "dumb"), ("NO_COLOR", "1"), ("COLUMNS", "40")] {
            let ran = run(command).env(name, value).run();
            assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.err);
            assert!(
                !ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'),
                "{command:?}"
            );
        }
    }
}

#[test]
fn the_help_fits_into_forty_columns() {
    for command in ["ask", "doctor", "models"] {
        let ran = jackfield([command, "--help"]).env("COLUMNS", "40").run();
        assert_eq!(ran.code, Some(0));
        // Examples are to be copied, and so stay as they are.
        let (text, _examples) = ran.out.split_once("\nExamples:").unwrap();
        // A usage is one line.
        let text = text.lines().filter(|line| !line.starts_with("Usage: "));
        let long: Vec<&str> = text.filter(|line| line.chars().count() > 40).collect();
        assert!(long.is_empty(), "{command}: {long:#?}");
    }
}

#[test]
fn a_configuration_that_is_no_file_is_told_in_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.toml");
    File::create(&large).unwrap().set_len(100_000_000).unwrap();
    let paths = [
        (folder.path(), "irectory"),
        (large.as_path(), "it is larger than 1048576 bytes"),
    ];
    for (path, why) in paths {
        for command in [
            ["config", "show"].as_slice(),
            &["doctor"],
            &["models"],
            &["providers"],
            &["ask", "x"],
        ] {
            let ran = run(command)
                .arg("--config")
                .arg(path.to_str().unwrap())
                .run();
            let told = format!("{}{}", ran.out, ran.err);
            assert_eq!(ran.code, Some(3), "{command:?}: {told}");
            assert!(
                told.contains("cannot be read") && told.contains(why),
                "{command:?}: {told}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_writes_to_is_given_up_and_one_that_somebody_does_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let pipe = pipe.to_str().unwrap();
    let runs = [
        (["config", "show", "--config", pipe], 3),
        (["tools", "list", "--mcp-config", pipe], 3),
        (["ask", "x", "--file", pipe], 2),
        (["ask", "x", "--image", pipe], 2),
        (["ask", "x", "--schema", pipe], 2),
    ];
    let running = runs.map(|(command, code)| {
        let mut run = run(&command);
        let child = run.spawn();
        (run, child, command, code)
    });
    for (_kept, child, command, code) in running {
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{command:?}: {err}");
        assert!(
            err.contains("a pipe, and nothing was written to it"),
            "{command:?}: {err}"
        );
    }
    let show = ["config", "show", "--config", "/dev/stdin"];
    let ran = run(&show).stdin("limits.rounds = 7\n").run();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("limits.rounds = 7"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn a_configuration_that_may_not_be_read_is_told_with_what_to_do() {
    use std::os::unix::fs::PermissionsExt as _;
    let shut = run(&["config", "show"]).configured("limits.rounds = 7\n");
    let file = shut.config_file();
    std::fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    // Whom no rights hold back, such as root, reads it all the same.
    let may_read = File::open(file).is_ok();
    let ran = shut.run();
    assert_eq!(ran.code, Some(if may_read { 0 } else { 3 }), "{}", ran.err);
    if !may_read {
        assert!(ran.err.contains("cannot be read"), "{}", ran.err);
        assert!(
            ran.err.contains("help: mend, move or remove"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn what_a_check_waits_for_is_named() {
    // It takes connections, as the system does for it, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let mut run = run(&["doctor"]).at(&address);
    let mut child = run.spawn();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let named = lines.find(|line| line == "waiting for the provider `claude`");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(named.is_some(), "it is not said what is waited for");
}

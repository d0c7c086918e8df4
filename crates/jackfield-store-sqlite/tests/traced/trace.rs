//! A run below `strace`, and what its lines say.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// One system call: its file by name, what was written, and when, in lines of the trace.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) began: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) descriptor: String,
    pub(crate) ended: usize,
    pub(crate) file: String,
    pub(crate) name: String,
    pub(crate) succeeded: bool,
}

/// What a program did and said.
pub(crate) struct Traced {
    pub(crate) calls: Vec<Call>,
    pub(crate) said: String,
    pub(crate) says_wrong: String,
}

/// Runs `appender` on this file below `strace`, which may put in faults.
pub(crate) fn traced(file: &Path, arguments: &[&str], faults: &[&str]) -> Traced {
    let trace = file.with_extension("trace");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-y", "-x", "-s", "70000"])
        .args(["-e", "trace=fdatasync,fsync,pwrite64,write", "-o"])
        .arg(&trace);
    for fault in faults {
        strace.args(["-e", &format!("inject={fault}")]);
    }
    let output = run(strace.arg(appender()).arg(file).args(arguments));
    let lines = std::fs::read_to_string(&trace).expect("strace wrote a trace");
    let calls = calls(&lines);
    assert!(!calls.is_empty(), "nothing was traced:\n{lines}");
    Traced {
        calls,
        said: String::from_utf8_lossy(&output.stdout).into_owned(),
        says_wrong: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `appender` on this file by itself; what it says.
pub(crate) fn plainly(file: &Path, arguments: &[&str]) -> String {
    let output = run(Command::new(appender()).arg(file).args(arguments));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{wrong}");
    said
}

fn run(command: &mut Command) -> Output {
    let program = command.get_program().to_owned();
    command.output().unwrap_or_else(|error| {
        panic!("{program:?} cannot be run ({error}): `cargo xtask survival` sees that it is there")
    })
}

fn appender() -> PathBuf {
    let this = std::env::current_exe().expect("a process knows its program");
    let folder = this.ancestors().nth(2).expect("a folder of the build");
    let appender = folder.join("examples/appender");
    assert!(
        appender.is_file(),
        "{} is not there: run `cargo build -p jackfield-store-sqlite --example appender` first",
        appender.display()
    );
    appender
}

/// The calls of a trace, in the order in which they ended.
fn calls(lines: &str) -> Vec<Call> {
    let mut begun: HashMap<&str, (usize, &str)> = HashMap::new();
    let mut calls = Vec::new();
    for (line, text) in lines.lines().enumerate() {
        let Some((process, text)) = text.split_once(' ') else {
            continue;
        };
        let text = text.trim_start();
        if let Some(beginning) = text.strip_suffix(" <unfinished ...>") {
            begun.insert(process, (line, beginning));
        } else if let Some(rest) = text.strip_prefix("<... ") {
            let Some((began, beginning)) = begun.remove(process) else {
                continue;
            };
            let rest = rest.split_once(" resumed>").map_or("", |(_, rest)| rest);
            calls.extend(call(&format!("{beginning}{rest}"), began, line));
        } else {
            calls.extend(call(text, line, line));
        }
    }
    calls
}

/// `name(4</a/file>, "bytes", …) = result`.
fn call(text: &str, began: usize, ended: usize) -> Option<Call> {
    let (name, text) = text.split_once('(')?;
    let (descriptor, text) = text.split_once('<')?;
    let (file, text) = text.split_once('>')?;
    let (arguments, result) = text.rsplit_once(" = ").map(|(arguments, result)| {
        // What failed says why after the number.
        (arguments, result.split(' ').next().unwrap_or_default())
    })?;
    let bytes = arguments
        .split_once('"')
        .and_then(|(_, text)| text.rsplit_once('"'))
        .map_or_else(Vec::new, |(text, _)| unquoted(text));
    Some(Call {
        began,
        bytes,
        descriptor: descriptor.to_owned(),
        ended,
        file: file.to_owned(),
        name: name.to_owned(),
        succeeded: result.parse::<i64>().is_ok_and(|result| result >= 0),
    })
}

/// The bytes of a quoted string: plain, or in hexadecimal digits.
fn unquoted(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4);
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'x') => {
                let digits = [rest.next(), rest.next()].map(|digit| {
                    char::from(digit.unwrap_or_default())
                        .to_digit(16)
                        .unwrap_or(0)
                });
                bytes.extend(u8::try_from(digits[0] * 16 + digits[1]));
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    bytes
}

//! A scripted Claude as a process; see [`jackfield_testservers::program`].

use std::process::ExitCode;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::program;

fn main() -> ExitCode {
    program::run("scripted-claude", &[], async |script, _| {
        ScriptedClaude::start(script).await
    })
}

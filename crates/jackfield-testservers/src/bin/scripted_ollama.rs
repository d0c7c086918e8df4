//! A scripted Ollama as a process; see [`jackfield_testservers::program`].

use std::process::ExitCode;

use jackfield_testservers::ollama::ScriptedOllama;
use jackfield_testservers::program;

fn main() -> ExitCode {
    program::run("scripted-ollama", &[], async |script, _| {
        ScriptedOllama::start(script).await
    })
}

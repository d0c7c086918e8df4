//! A scripted Gemini as a process; see [`jackfield_testservers::program`].

use std::process::ExitCode;

use jackfield_testservers::gemini::ScriptedGemini;
use jackfield_testservers::program;

fn main() -> ExitCode {
    program::run("scripted-gemini", &[], async |script, _| {
        ScriptedGemini::start(script).await
    })
}

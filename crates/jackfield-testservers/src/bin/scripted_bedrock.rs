//! A scripted Bedrock as a process; see [`jackfield_testservers::program`].

use std::process::ExitCode;

use jackfield_testservers::bedrock::ScriptedBedrock;
use jackfield_testservers::program;

fn main() -> ExitCode {
    program::run("scripted-bedrock", &[], async |script, _| {
        ScriptedBedrock::start(script).await
    })
}

//! A scripted OpenAI as a process; see [`jackfield_testservers::program`].

use std::process::ExitCode;

use jackfield_testservers::openai::{Like, ScriptedOpenAi};
use jackfield_testservers::program;

fn main() -> ExitCode {
    program::run("scripted-openai", Like::NAMES, async |script, like| {
        let like = like.and_then(Like::named).unwrap_or_default();
        ScriptedOpenAi::like(like, script).await
    })
}

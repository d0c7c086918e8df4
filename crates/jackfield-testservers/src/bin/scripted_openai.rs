//! A scripted OpenAI as a process; see [`jackfield_testservers::program`].

use std::process::ExitCode;

use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::program;

fn main() -> ExitCode {
    program::run(
        "scripted-openai",
        VendorQuirks::NAMES,
        async |script, like| {
            let like = like.and_then(VendorQuirks::named).unwrap_or_default();
            ScriptedOpenAi::like(like, script).await
        },
    )
}

//! `cargo xtask slices`: what needs Python and Node.
//!
//! The tests of the packages in [`SPEAKERS`] write what they put on the wire below the folder that
//! `JACKFIELD_WIRE_OUT` names; the scripts of `tests/python` judge it by the types of the official SDK.
//! Then the conformance suite of MCP, pinned in `tests/conformance`, judges the program as a client.
//! The slices of `tests/real` use the MCP servers of `tests/servers` as their users do, and sign in at those of
//! `tests/sign-in`; those of `tests/sdks` ask the gateway with the SDKs that programs ask with, and those of
//! `tests/page` use its page in Chromium.

pub(crate) mod conformance;
mod install;
pub(crate) mod page;
pub(crate) mod sdks;
pub(crate) mod servers;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};

pub(crate) use self::install::chromium;

use crate::run;
use crate::testing::flaky::Flaky;
use crate::testing::suite::Suite;
use crate::testing::test_binary::TestBinary;

/// Runs every slice.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    let wire = empty_wire(root)?;
    for binary in &TestBinary::build(root, &["it"])? {
        if SPEAKERS.contains(&&*binary.package) {
            run::succeed(binary.command().env(WIRE_OUT, &wire))?;
        }
    }
    judge(root)?;
    conformance::run(root)?;
    for suite in [Suite::Real, Suite::Sdks, Suite::Page] {
        suite.run(root, &[], &Flaky::none())?;
    }
    eprintln!("slices: {}", run::spoken(started.elapsed()));
    Ok(())
}

/// Judges what the tests have put on the wire.
pub(crate) fn judge(root: &Path) -> anyhow::Result<()> {
    let python = install::python(root, "tests/python/requirements.txt")?.join("bin/python");
    let wire = root.join(WIRE);
    let written = fs::read_dir(&wire).with_context(|| format!("cannot list {}", wire.display()))?;
    if written.count() == 0 {
        bail!(
            "the tests of {} wrote nothing below {WIRE_OUT}",
            SPEAKERS.join(", ")
        );
    }
    for judgement in JUDGEMENTS {
        let folders: Vec<PathBuf> = judgement.folders.iter().map(|f| wire.join(f)).collect();
        if judgement.optional && !folders.iter().any(|folder| folder.exists()) {
            continue;
        }
        println!("{} {}", judgement.script, judgement.folders.join(" "));
        // -B: no byte code beside the scripts.
        let mut script = run::command(&python, root, ["-B"]);
        script.arg(Path::new("tests/python").join(judgement.script));
        run::succeed(script.args(folders).args(judgement.options))?;
    }
    Ok(())
}

/// An empty folder for what the tests put on the wire.
pub(crate) fn empty_wire(root: &Path) -> anyhow::Result<PathBuf> {
    let wire = root.join(WIRE);
    run::empty_folder(&wire)?;
    Ok(wire)
}

/// A script, and what it judges.
struct Judgement {
    script: &'static str,
    /// Below the wire folder, in the script's order.
    folders: &'static [&'static str],
    options: &'static [&'static str],
    /// Whether it is right that nothing was written for it.
    optional: bool,
}

/// Names the folder that the tests write to.
pub(crate) const WIRE_OUT: &str = "JACKFIELD_WIRE_OUT";

const WIRE: &str = "target/slices/wire";

/// The packages whose `it` tests write what they put on the wire.
pub(crate) const SPEAKERS: &[&str] = &[
    "jackfield-dialect-claude",
    "jackfield-dialect-gemini",
    "jackfield-dialect-openai",
];

/// Everything that is judged.
const JUDGEMENTS: &[Judgement] = &[
    Judgement {
        script: "validate_claude_requests.py",
        folders: &["claude/requests"],
        options: &[],
        optional: false,
    },
    Judgement {
        script: "validate_claude_requests.py",
        folders: &["claude/requests-2023-06-01"],
        options: &["--version", "2023-06-01"],
        optional: true,
    },
    Judgement {
        script: "validate_claude_replies.py",
        folders: &["claude/replies", "claude/events"],
        options: &[],
        optional: false,
    },
    Judgement {
        script: "validate_claude_replies.py",
        folders: &["claude/served", "claude/served-events"],
        options: &["--served"],
        optional: false,
    },
    Judgement {
        script: "validate_gemini.py",
        folders: &[
            "gemini/requests",
            "gemini/replies",
            "gemini/events",
            "gemini/served",
            "gemini/served-events",
        ],
        options: &[],
        optional: false,
    },
    Judgement {
        script: "validate_openai_requests.py",
        folders: &["openai-chat/requests"],
        options: &["--dialect", "chat"],
        optional: false,
    },
    Judgement {
        script: "validate_openai_chat_replies.py",
        folders: &["openai-chat/replies", "openai-chat/events"],
        options: &[],
        optional: false,
    },
    Judgement {
        script: "validate_openai_requests.py",
        folders: &["openai-responses/requests"],
        options: &["--dialect", "responses"],
        optional: false,
    },
    Judgement {
        script: "validate_openai_responses_replies.py",
        folders: &["openai-responses/replies", "openai-responses/events"],
        options: &[],
        optional: false,
    },
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::JUDGEMENTS;

    #[test]
    fn every_script_is_there() {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/python");
        for judgement in JUDGEMENTS {
            assert!(
                scripts.join(judgement.script).is_file(),
                "{}",
                judgement.script
            );
        }
    }
}

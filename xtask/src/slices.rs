//! `cargo xtask slices`: what needs Python.
//!
//! The tests of the packages in [`SPEAKERS`] write what they put on the wire below the folder that
//! `JACKFIELD_WIRE_OUT` names; the scripts of `tests/python` judge it by the types of the official SDK.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};

use crate::run;

/// Runs every slice.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    let python = environment(root)?;
    let wire = root.join("target/slices/wire");
    emit(root, &wire)?;
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
    eprintln!("slices: {}", run::spoken(started.elapsed()));
    Ok(())
}

/// Makes the Python environment unless it is there; returns its interpreter.
fn environment(root: &Path) -> anyhow::Result<PathBuf> {
    let requirements = root.join("tests/python/requirements.txt");
    let wanted = fs::read(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let venv = root.join("target/slices").join(venv_name(&wanted));
    let python = venv.join("bin/python");
    let complete = venv.join("complete");
    if complete.exists() {
        return Ok(python);
    }
    eprintln!("making {}", venv.display());
    let mut make = run::command("python3", root, ["-m", "venv", "--clear"]);
    run::succeed(make.arg(&venv)).context(
        "a Python environment is needed: install python3 (3.11 or later) with its venv module",
    )?;
    // The file names everything, so nothing is resolved.
    let mut install = run::command(&python, root, ["-m", "pip", "install", "--no-deps"]);
    install.args(["--quiet", "--disable-pip-version-check", "--requirement"]);
    run::succeed(install.arg(&requirements))?;
    let mut check = run::command(&python, root, ["-m", "pip", "check"]);
    run::output(check.arg("--disable-pip-version-check"))
        .context("tests/python/requirements.txt names not all, or versions that do not fit")?;
    fs::write(&complete, "").context("cannot mark the environment as complete")?;
    Ok(python)
}

/// Lets the tests write what they put on the wire into an empty folder.
fn emit(root: &Path, wire: &Path) -> anyhow::Result<()> {
    if wire.exists() {
        fs::remove_dir_all(wire).with_context(|| format!("cannot empty {}", wire.display()))?;
    }
    fs::create_dir_all(wire).with_context(|| format!("cannot make {}", wire.display()))?;
    for package in SPEAKERS {
        let mut tests = run::cargo(root, ["test", "--package", package, "--test", "it"]);
        run::succeed(tests.env("JACKFIELD_WIRE_OUT", wire))?;
    }
    let written = fs::read_dir(wire).with_context(|| format!("cannot list {}", wire.display()))?;
    if written.count() == 0 {
        bail!(
            "the tests of {} wrote nothing below JACKFIELD_WIRE_OUT",
            SPEAKERS.join(", ")
        );
    }
    Ok(())
}

/// The environment of other requirements is another environment.
fn venv_name(requirements: &[u8]) -> String {
    let digest = Sha256::digest(requirements);
    let hex: String = digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("venv-{hex}")
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

/// The packages whose `it` tests write what they put on the wire.
const SPEAKERS: &[&str] = &["jackfield-dialect-claude", "jackfield-dialect-openai"];

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

    use super::{JUDGEMENTS, venv_name};

    #[test]
    fn other_requirements_mean_another_environment() {
        assert_eq!(venv_name(b"a==1"), venv_name(b"a==1"));
        assert_ne!(venv_name(b"a==1"), venv_name(b"a==2"));
    }

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

//! `jackfield config import`: the configuration of another gateway as one of ours.

use std::io::{self, Write as _};

use jackfield_assembly::{Surroundings, read_at_most};
use jackfield_import::{Imported, litellm};
use serde_json::json;

use crate::args::config::{Import, ImportLitellm};
use crate::commands::{init, printed};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, words};

/// Reads the file, and prints or writes what it becomes; remarks go to standard error.
///
/// # Errors
///
/// [`CommandError`] if the file cannot be read, is of something else, or the other one cannot be written.
pub(super) fn run(import: &Import, surroundings: &Surroundings) -> Result<Exit, CommandError> {
    let Import::Litellm(asked) = import;
    let imported = read(asked, surroundings)?;
    if asked.json {
        return printed_json(&imported);
    }
    for remark in &imported.remarks {
        render::remark(&remark.to_string());
    }
    let counted = words::counted(imported.remarks.len() as u64, "remark");
    let Some(out) = &asked.out else {
        let mut stdout = io::stdout();
        let text = imported.configuration.as_bytes();
        let done = stdout.write_all(text).and_then(|()| stdout.flush());
        render::remark(&format!("{counted}; nothing was written"));
        return printed::finish(done, Exit::Answered);
    };
    let out = surroundings.directory.join(out);
    init::write(&out, &imported.configuration, asked.force)?;
    let out = out.display();
    render::remark(&format!("{counted}; written: {out}"));
    render::remark(&format!("next: jackfield doctor --config {out}"));
    Ok(Exit::Answered)
}

fn read(asked: &ImportLitellm, surroundings: &Surroundings) -> Result<Imported, CommandError> {
    let path = surroundings.directory.join(&asked.file);
    let wrong = |cause: &(dyn std::error::Error + 'static)| {
        let message = format!("`{}` cannot be imported", path.display());
        let help = "name the file that LiteLLM's proxy is started with, as `--config`";
        let fault = CommandError::new(Exit::Configuration, message);
        fault.with_cause(cause).with_help(help)
    };
    let bytes = read_at_most(&path, MAX_BYTES).map_err(|error| wrong(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| wrong(&error))?;
    let variable = |name: &str| surroundings.environment.get(name).and_then(Result::ok);
    litellm(&text, &variable).map_err(|error| wrong(&error))
}

fn printed_json(imported: &Imported) -> Result<Exit, CommandError> {
    let remarks = imported.remarks.iter();
    let remarks: Vec<_> = remarks
        .map(|one| json!({"line": one.line, "place": one.place, "text": one.text}))
        .collect();
    let object = json!({"configuration": imported.configuration, "remarks": remarks});
    let mut stdout = io::stdout();
    let done = writeln!(stdout, "{object}").and_then(|()| stdout.flush());
    printed::finish(done, Exit::Answered)
}

/// The largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

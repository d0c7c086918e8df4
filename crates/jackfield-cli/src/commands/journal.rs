//! `jackfield journal`: copies a journal into another one.

use std::io::{self, Write as _};
use std::path::Path;

use jackfield_assembly::{Flags, OpenJournal, Registry};
use jackfield_engine::{CopyReport, EngineError, copy_journal};
use serde_json::json;

use crate::args::JournalCommand;
use crate::commands::{ask, printed, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::words::counted;

/// Runs the command.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(command: JournalCommand, registry: &Registry) -> Result<Exit, CommandError> {
    let JournalCommand::Copy {
        from,
        to,
        config,
        json,
    } = command;
    let from = open(&from, config.as_deref(), true, registry).await?;
    let to = match open(&to, config.as_deref(), false, registry).await {
        Ok(to) => to,
        Err(error) => {
            session_journal::close(&from).await;
            return Err(error);
        }
    };
    let copied = copy_journal(&*from.journal, &*to.journal, |_| {}).await;
    for journal in [&from, &to] {
        session_journal::close(journal).await;
    }
    let report = copied.map_err(EngineError::from)?;
    let exit = if report.problems.is_empty() {
        Exit::Answered
    } else {
        Exit::Internal
    };
    printed::finish(print(&report, json), exit)
}

/// Opens a journal that an argument names.
async fn open(
    named: &Path,
    config: Option<&Path>,
    is_there: bool,
    registry: &Registry,
) -> Result<OpenJournal, CommandError> {
    let flags = Flags {
        config: config.map(Path::to_owned),
        db: Some(named.to_owned()),
        without_servers: true,
        ..Flags::default()
    };
    let (config, _) = ask::load_config(&flags)?;
    if is_there && session_journal::check_exists(&config).is_err() {
        let message = format!("there is no journal `{}`", named.display());
        let help = "FROM is a file that is there, a postgres:// address, or env:NAME for a variable with one";
        return Err(CommandError::new(Exit::Configuration, message).with_help(help));
    }
    session_journal::open_in_background(&config, registry)
        .wait()
        .await
}

fn print(report: &CopyReport, as_json: bool) -> io::Result<()> {
    let out = &mut anstream::stdout();
    let CopyReport {
        already_there,
        copied,
        directory_changes,
        meters,
        problems,
        spending_records,
        steps,
    } = report;
    if as_json {
        let report = json!({
            "already_there": already_there,
            "copied": copied,
            "directory_changes": directory_changes,
            "meters": meters,
            "problems": problems,
            "spending_records": spending_records,
            "steps": steps,
        });
        return writeln!(out, "{report:#}");
    }
    let sessions = counted(*copied, "session");
    let steps = counted(*steps, "step");
    let records = counted(*spending_records, "spending record");
    writeln!(out, "copied {sessions} with {steps}, and compared them")?;
    if *already_there > 0 {
        let sessions = counted(*already_there, "session");
        writeln!(out, "{sessions} were there before, and are the same")?;
    }
    writeln!(out, "{records} are the same in both")?;
    if *directory_changes > 0 {
        let changes = counted(*directory_changes, "change");
        let meters = counted(*meters, "budget");
        writeln!(
            out,
            "{changes} of users, teams and keys are the same in both"
        )?;
        writeln!(out, "what is spent of {meters} is the same in both")?;
    }
    for problem in problems {
        writeln!(out, "not copied: {problem}")?;
    }
    Ok(())
}

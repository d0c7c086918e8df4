//! `jackfield usage`: usage and cost by day, model, provider, reply, session, tag, tool, turn or
//! user.

pub mod prices;

use jackfield_assembly::{Flags, Registry};
use jackfield_domain::spending;
use jackfield_domain::spending::report::SpendingReport;
use jackfield_domain::time::WallTime;
use jackfield_engine::BudgetCheck;

use crate::args::UsageArgs;
use crate::commands::sessions::every::AllSessions;
use crate::commands::sessions::find;
use crate::commands::{ask, printed, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, budgets, usage as show, words};
use crate::since;

/// Prints the usage.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(usage: UsageArgs, registry: &Registry) -> Result<Exit, CommandError> {
    let flags = ask::flags_without_servers(&usage.source);
    let out = &mut anstream::stdout();
    if usage.prices {
        let message = "`usage --prices` is a command of its own now";
        let help = "run `jackfield prices list`, or `jackfield prices show MODEL`";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    if usage.verify {
        return verify(&usage, &flags, registry).await;
    }
    let from = usage.since.as_deref().map(since::since).transpose()?;
    let journal =
        session_journal::open(&flags, session_journal::JournalAccess::Read, registry).await?;
    let gathered = gather(&usage, from, &journal).await;
    journal.close().await;
    let shown = show::report(out, &gathered?, usage.json);
    printed::finish(shown, Exit::Answered)
}

/// Compares the counters of budgets with the spending records, and prints the result.
async fn verify(
    usage: &UsageArgs,
    flags: &Flags,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let journal =
        session_journal::open(flags, session_journal::JournalAccess::Write, registry).await?;
    let checked = journal.engine.check_budgets(usage.repair).await;
    journal.close().await;
    let report = checked?;
    let differs =
        |check: &BudgetCheck| !check.is_equal() && !check.is_corrected && !check.is_in_use;
    let exit = if report.unreadable > 0 || report.checks.iter().any(differs) {
        Exit::Damaged
    } else {
        Exit::Answered
    };
    let shown = budgets::checks(&mut anstream::stdout(), &report, usage.json);
    printed::finish(shown, exit)
}

async fn gather(
    usage: &UsageArgs,
    from: Option<WallTime>,
    journal: &session_journal::SessionJournal,
) -> Result<SpendingReport, CommandError> {
    let engine = &journal.engine;
    let mut report = SpendingReport::new(usage.by.clone(), from, since::day);
    if let Some(name) = &usage.session {
        let session = find::session(engine, name).await?;
        let title = find::row(engine, &session).await?.map(|row| row.title);
        let loaded = engine.load(&session).await?;
        let turns = spending::by_turn(&loaded.steps);
        report.add_session(&session, &title.unwrap_or_default(), &turns);
        return Ok(report);
    }
    let unreadable = engine
        .read_spending(from, |record| report.add_record(record))
        .await?;
    if unreadable > 0 {
        let many = words::counted(unreadable, "spending record");
        render::remark(&format!(
            "warning: {many} cannot be read and count for nothing (`jackfield doctor` says more)"
        ));
    }
    let mut every = AllSessions::new(engine);
    while let Some(row) = every.next().await? {
        // Sessions are ordered by last change.
        if from.is_some_and(|from| row.changed < from) {
            every.skip_older();
        } else if let Some(loaded) = every.load(&row).await? {
            let turns = spending::by_turn(&loaded.steps);
            report.add_session(&row.session, &row.title, &turns);
        }
    }
    Ok(report)
}

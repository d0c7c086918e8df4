//! The journal: whether it can be used, and what stands open in it.

use jackfield_assembly::{Config, JournalKind};
use jackfield_engine::{Engine, SessionRow};

use super::check::{Area, Check, Page};
use crate::commands::kept;
use crate::commands::sessions::find;
use crate::fault::Fault;
use crate::render::sessions::size;
use crate::render::words::counted;

/// All of it.
pub(super) async fn all(config: &Config) -> Vec<Check> {
    if config.journal.kind == JournalKind::Memory {
        let says = "sessions are kept in memory, as `kind` under [journal] says: they end with the process";
        return vec![Check::fine(Area::Sessions, says)];
    }
    let file = config.journal_file();
    let is_there = file.as_ref().is_some_and(|file| file.exists());
    if let Some(file) = file
        .as_ref()
        .filter(|_| !is_there && config.journal.path.is_none())
    {
        let says = format!(
            "no session is kept yet; the first will be in {}",
            file.display()
        );
        return vec![Check::fine(Area::Sessions, says)];
    }
    let opened = match kept::begin(config).unsaid().await {
        Ok(opened) => opened,
        Err(fault) => return vec![failed(&fault)],
    };
    if let Some(unkept) = &opened.unkept {
        let says = format!("what is said is not kept: {}", unkept.causes.join(": "));
        let check = Check::warning(Area::Sessions, says, unkept.help);
        return vec![check.see(Page::Sessions)];
    }
    let engine = Engine::builder(std::sync::Arc::clone(&opened.journal)).build();
    let checks = match find::listed(&engine, None, usize::MAX).await {
        Ok(rows) => looked(&file.unwrap_or_default().display().to_string(), &rows),
        Err(fault) => vec![failed(&fault)],
    };
    kept::close(&opened).await;
    checks
}

/// What the list of sessions says.
fn looked(file: &str, rows: &[SessionRow]) -> Vec<Check> {
    let bytes = rows.iter().map(|row| row.bytes).sum();
    let sessions = counted(rows.len() as u64, "session");
    let size = size(bytes);
    let says = format!("{sessions} in {file}, {size}");
    let mut checks = vec![Check::fine(Area::Sessions, says)];
    let open = |parked: bool| {
        let rows = rows.iter().filter(move |row| {
            let open = row.open.as_ref();
            !row.owned && open.is_some_and(|open| !open.only_waits && open.parked == parked)
        });
        rows.count() as u64
    };
    let waits = rows
        .iter()
        .filter(|row| row.open.as_ref().is_some_and(|open| open.only_waits));
    let found = [
        (
            open(false),
            "was left open",
            "were left open",
            "`jackfield sessions resume --all` goes on with them",
        ),
        (
            open(true),
            "is parked: it was taken up too often without coming further",
            "are parked: they were taken up too often without coming further",
            "`jackfield sessions resume ID --again` tries once more; `jackfield sessions list` shows them",
        ),
        (
            waits.count() as u64,
            "waits for an answer of somebody",
            "wait for answers of somebody",
            "`jackfield chat --session ID` asks again; `jackfield sessions list` shows them",
        ),
    ];
    for (number, one, many, help) in found {
        if number > 0 {
            let verb = if number == 1 { one } else { many };
            let says = format!("{} {verb}", counted(number, "turn"));
            checks.push(Check::warning(Area::Sessions, says, help).see(Page::Sessions));
        }
    }
    let unreadable: Vec<&SessionRow> = rows.iter().filter(|row| row.unreadable.is_some()).collect();
    for row in unreadable.iter().take(MOST_NAMED) {
        let why = row.unreadable.as_deref().unwrap_or_default();
        let says = format!("session {} is left alone: {why}", row.session);
        let help = "use the version that wrote it, or restore a copy of the file";
        checks.push(Check::warning(Area::Sessions, says, help).see(Page::Sessions));
    }
    checks
}

fn failed(fault: &Fault) -> Check {
    let says = fault.messages.iter().chain(&fault.causes);
    let says: Vec<&str> = says.map(String::as_str).collect();
    let check = Check::failed(Area::Sessions, says.join(": "), fault.help.join("; "));
    check.see(Page::Sessions)
}

/// How many sessions are named that cannot be read.
const MOST_NAMED: usize = 10;

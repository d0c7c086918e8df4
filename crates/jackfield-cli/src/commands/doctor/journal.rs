//! Checks the journal: whether it works, and what is open in it.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_assembly::{Config, JournalKind, OpenJournal, Registry, damage_help, restored_help};
use jackfield_engine::{Engine, EngineError, SessionRow};
use tokio::time::sleep;

use super::places;
use crate::commands::session_journal;
use crate::commands::sessions::find;
use crate::doctor_check::{Area, DoctorCheck};
use crate::fault::CommandError;
use crate::render;
use crate::render::sessions::size;
use crate::render::words::counted;

/// Runs all checks of the journal.
pub(super) async fn all(config: &Config, registry: &Registry) -> Vec<DoctorCheck> {
    if config.journal.kind == JournalKind::Memory {
        let says = "sessions are kept in memory, as `kind` under [journal] says: they end with the process";
        return vec![DoctorCheck::passed(Area::Sessions, says)];
    }
    let file = config.journal_file();
    let is_there = file.as_ref().is_some_and(|file| file.exists());
    if let Some(file) = file
        .as_ref()
        .filter(|_| !is_there && config.journal.path.is_none())
    {
        let usable = file.parent().map(places::usable);
        if let Some(Err(error)) = usable {
            let says = format!(
                "sessions are not kept: {} cannot be made: {error}",
                file.display()
            );
            return vec![DoctorCheck::warning(Area::Sessions, says, NAME_ANOTHER)];
        }
        let says = format!(
            "no session is kept yet; the first will be in {}",
            file.display()
        );
        return vec![DoctorCheck::passed(Area::Sessions, says)];
    }
    if let Err(fault) = session_journal::check_exists(config) {
        return vec![failed(&fault)];
    }
    let opened = match session_journal::open_in_background(config, registry)
        .wait()
        .await
    {
        Ok(opened) => opened,
        Err(fault) => return vec![failed(&fault)],
    };
    if let Some(unkept) = &opened.not_persisted {
        let says = format!("sessions are not kept: {}", unkept.causes.join(": "));
        let check = if is_there {
            DoctorCheck::failed(Area::Sessions, says, unkept.help)
        } else {
            DoctorCheck::warning(Area::Sessions, says, unkept.help)
        };
        return vec![check];
    }
    let engine = Engine::builder(Arc::clone(&opened.journal)).build();
    let shown = match &file {
        Some(file) => file.display().to_string(),
        None => location(&opened, config),
    };
    if !opened.journal.is_durable() {
        let says = format!("sessions are kept in {shown}, which ends with the process");
        return vec![DoctorCheck::passed(Area::Sessions, says)];
    }
    let mut checks = match find::listed(&engine, None, usize::MAX).await {
        Ok(rows) => check_sessions(&shown, &rows),
        Err(fault) => vec![failed(&fault)],
    };
    checks.extend(check_writable(&engine, file.as_deref(), &shown).await);
    checks.extend(file.as_deref().and_then(check_private));
    checks.extend(check_restored(&opened).await);
    let kind = if file.is_some() { "file" } else { "database" };
    checks.extend(check_integrity(&opened, kind, &shown).await);
    session_journal::close(&opened).await;
    checks
}

/// The place of a journal that is not a file of ours.
fn location(opened: &OpenJournal, config: &Config) -> String {
    let admin = opened.journal.admin();
    admin.map_or_else(
        || format!("a journal of the kind `{}`", config.journal.kind.name()),
        |admin| admin.location(),
    )
}

/// Checks that the journal is writable and the disk has room: writes to the journal, and syncs and removes a file
/// beside it that is as large as a few turns. A readable file says nothing about free space.
async fn check_writable(engine: &Engine, file: Option<&Path>, shown: &str) -> Option<DoctorCheck> {
    if let Err(error) = engine.check_writable().await {
        let mut fault = CommandError::from(error);
        fault.messages = vec![format!("nothing can be written to {shown}")];
        fault.help = vec![NO_ROOM.to_owned()];
        return Some(failed(&fault));
    }
    let folder = file?.parent()?.to_owned();
    let room = tokio::task::spawn_blocking(move || places::has_room(&folder, ROOM)).await;
    let error = room.ok()?.err()?;
    let says = format!(
        "there is no room for {} beside {shown}: {error}",
        size(ROOM)
    );
    Some(DoctorCheck::failed(Area::Sessions, says, NO_ROOM))
}

/// Warns of a journal that other users can read. Jackfield creates it private; a copied file keeps its mode,
/// which is not changed.
fn check_private(file: &Path) -> Option<DoctorCheck> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
        let file = file.display();
        (mode & 0o077 != 0).then(|| {
            let says = format!("{file} is not for you alone: its mode is {mode:04o}");
            let help = format!("chmod 600 {file}");
            DoctorCheck::warning(Area::Sessions, says, help)
        })
    }
    #[cfg(not(unix))]
    {
        let _only_modes = file;
        None
    }
}

/// Reports that the file went back to an older state.
async fn check_restored(opened: &OpenJournal) -> Option<DoctorCheck> {
    let restored = opened.journal.admin()?.restored().await.ok()??;
    let help = restored_help(&restored);
    Some(DoctorCheck::failed(
        Area::Sessions,
        restored.to_string(),
        help,
    ))
}

/// Checks the integrity of the whole journal, within the time limit.
async fn check_integrity(opened: &OpenJournal, kind: &str, shown: &str) -> Vec<DoctorCheck> {
    let Some(admin) = opened.journal.admin() else {
        return Vec::new();
    };
    let read_progress = Arc::new(Mutex::new(None));
    let shared_progress = Arc::clone(&read_progress);
    let name = shown.to_owned();
    let reporter = tokio::spawn(async move {
        loop {
            sleep(SILENCE).await;
            let progress: Option<(u64, u64)> = *shared_progress
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let far = progress.map(|(done, of)| format!(": {done} of {of} sessions"));
            let far = far.unwrap_or_default();
            render::remark(&format!("looking over {name}{far}"));
        }
    });
    let began = Instant::now();
    let checking = admin.check(
        MAX_CHECK_TIME,
        Box::new(move |progress| {
            let far = Some((progress.done, progress.total));
            *read_progress.lock().unwrap_or_else(PoisonError::into_inner) = far;
        }),
    );
    let checked = checking.await;
    reporter.abort();
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => return vec![failed(&CommandError::from(EngineError::from(error)))],
    };
    let took = began.elapsed();
    let many = checked.damage.len();
    let mut checks: Vec<DoctorCheck> = Vec::new();
    for what in checked.damage.iter().take(MAX_NAMED) {
        checks.push(DoctorCheck::failed(
            Area::Sessions,
            what,
            damage_help(admin),
        ));
    }
    if many > MAX_NAMED {
        let says = format!("and {} more are damaged", many - MAX_NAMED);
        checks.push(DoctorCheck::failed(
            Area::Sessions,
            says,
            damage_help(admin),
        ));
    }
    if checked.newer_spending > 0 {
        let many = counted(checked.newer_spending, "spending record");
        let says = format!("a newer version wrote {many} in {shown}, which this one cannot read");
        let help = "use that version for `jackfield usage`";
        checks.push(DoctorCheck::warning(Area::Sessions, says, help));
    }
    let read = counted(checked.sessions, "session");
    if !checked.is_complete {
        let says = format!("not all of it was looked over in {MAX_CHECK_TIME:?}: {read}");
        checks.push(DoctorCheck::skipped(Area::Sessions, says));
    } else if checked.damage.is_empty() {
        let says = format!("the {kind} is sound, and everything in it can be read");
        checks.push(DoctorCheck::passed(Area::Sessions, says).with_duration(took));
    }
    checks
}

/// Checks the list of sessions.
fn check_sessions(file: &str, rows: &[SessionRow]) -> Vec<DoctorCheck> {
    let bytes = rows.iter().map(|row| row.bytes).sum();
    let sessions = counted(rows.len() as u64, "session");
    let size = size(bytes);
    let says = format!("{sessions} in {file}, {size}");
    let mut checks = vec![DoctorCheck::passed(Area::Sessions, says)];
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
            "is parked: it was taken up too often without coming further, or is restored from an older state",
            "are parked: they were taken up too often without coming further, or are restored from an older state",
            "`jackfield sessions resume ID --again` tries once more; `jackfield sessions list` shows them",
        ),
        (
            waits.count() as u64,
            "waits for an answer",
            "wait for answers",
            "`jackfield chat --session ID` asks again; `jackfield sessions list` shows them",
        ),
    ];
    for (number, one, many, help) in found {
        if number > 0 {
            let verb = if number == 1 { one } else { many };
            let says = format!("{} {verb}", counted(number, "turn"));
            checks.push(DoctorCheck::warning(Area::Sessions, says, help));
        }
    }
    let unreadable: Vec<&SessionRow> = rows.iter().filter(|row| row.unreadable.is_some()).collect();
    for row in unreadable.iter().take(MAX_NAMED) {
        let why = row.unreadable.as_deref().unwrap_or_default();
        let says = format!("session {} is left alone: {why}", row.session);
        let help = "use the version that wrote it, or restore a copy of the file";
        checks.push(DoctorCheck::warning(Area::Sessions, says, help));
    }
    checks
}

fn failed(fault: &CommandError) -> DoctorCheck {
    let says = fault.messages.iter().chain(&fault.causes);
    let says: Vec<&str> = says.map(String::as_str).collect();
    DoctorCheck::failed(Area::Sessions, says.join(": "), fault.help.join("; "))
}

/// Help where nothing can be written.
const NO_ROOM: &str = "make room on the disk that the file is on, or raise `journal.max_size` where that is reached; \
                       `jackfield sessions prune` deletes old sessions, and `--db FILE` names a file on another disk";

/// The free space to check for, in bytes.
const ROOM: u64 = 1024 * 1024;

/// The time limit of the integrity check.
const MAX_CHECK_TIME: Duration = Duration::from_secs(10);

/// How long the integrity check runs without a notice.
const SILENCE: Duration = Duration::from_secs(2);

/// Help where no file can be created.
const NAME_ANOTHER: &str = "name a file that can be written with `--db FILE` or JACKFIELD_DB";

/// How many unreadable sessions are named.
const MAX_NAMED: usize = 10;

//! Sessions, for people and for programs.

mod history;

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_engine::{PruneReport, SessionRow};
use serde_json::{Value, json};

pub use self::history::show;
pub(crate) use self::history::{beginning, elsewhere, opening, past};
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::wrap::cut;
use crate::render::{window, words};

/// Prints a line, or JSON.
///
/// # Errors
///
/// The stream cannot be written.
pub fn text_or_json(
    out: &mut impl Write,
    text: &str,
    value: &Value,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, value);
    }
    if !text.is_empty() {
        writeln!(out, "{text}")?;
    }
    out.flush()
}

/// Prints a list of sessions.
///
/// # Errors
///
/// The stream cannot be written.
pub fn list(
    out: &mut impl Write,
    rows: &[SessionRow],
    search: Option<&str>,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &rows.iter().map(session_json).collect());
    }
    if rows.is_empty() {
        let none = match search {
            Some(text) => format!("no message contains `{}`", words::one_line(text)),
            None => "there are no sessions yet".to_owned(),
        };
        return writeln!(out, "{none}");
    }
    table(out, rows)?;
    out.flush()
}

fn table(out: &mut impl Write, rows: &[SessionRow]) -> io::Result<()> {
    let now = now();
    let ages: Vec<String> = rows.iter().map(|row| age(now.since(row.changed))).collect();
    // Scripts read the lines; the names of the columns are for people.
    let window = window().filter(|_| !rows.is_empty());
    let [id, changed, turns, state] = if window.is_some() {
        ["session", "changed", "turns", "state"]
    } else {
        [""; 4]
    };
    let width = |head: &str, texts: &mut dyn Iterator<Item = usize>| {
        texts.max().unwrap_or(0).max(head.len())
    };
    let ids = width(id, &mut rows.iter().map(|row| row.session.as_str().len()));
    let wide = width(changed, &mut ages.iter().map(String::len));
    let counts = turns.len().max(3);
    let mut states = rows.iter().map(|row| SessionStatus::of(row).words().len());
    let states = width(state, &mut states);
    let mut titles = usize::MAX;
    if let Some(window) = window {
        titles = window.saturating_sub(ids + wide + counts + states + 8);
        let head = format!("{id:ids$}  {changed:>wide$}  {turns:>counts$}  {state:states$}  title");
        writeln!(out, "{DIM}{head}{DIM:#}")?;
    }
    for (row, age) in rows.iter().zip(&ages) {
        let state = SessionStatus::of(row);
        let (id, turns, style) = (row.session.as_str(), row.turns, state.style());
        let state = state.words();
        write!(
            out,
            "{NAME}{id:ids$}{NAME:#}  {DIM}{age:>wide$}{DIM:#}  {turns:>counts$}  {style}{state:states$}{style:#}"
        )?;
        let title = words::shortened(&title(row), MAX_TITLE);
        writeln!(out, "  {}", cut(&title, titles))?;
        if let Some(why) = &row.unreadable {
            writeln!(out, "  {WARM}!{WARM:#} {}", words::one_line(why))?;
        }
    }
    Ok(())
}

/// Prints sessions with numbers, and marks the current one.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn choices(
    out: &mut impl Write,
    rows: &[SessionRow],
    current: &SessionId,
) -> io::Result<()> {
    if rows.is_empty() {
        writeln!(out, "{DIM}there are no sessions yet{DIM:#}")?;
    }
    let now = now();
    for (place, row) in rows.iter().enumerate() {
        let mark = if row.session == *current { "*" } else { " " };
        let (age, id) = (age(now.since(row.changed)), row.session.as_str());
        let title = words::shortened(&title(row), MAX_TITLE);
        writeln!(
            out,
            "{GOOD}{mark}{GOOD:#} {DIM}{:>2}  {age:>6}{DIM:#}  {title}  {DIM}{id}{DIM:#}",
            place + 1
        )?;
    }
    out.flush()
}

/// Prints the pruned sessions, or those that would be.
///
/// # Errors
///
/// The stream cannot be written.
pub fn pruned(
    out: &mut impl Write,
    pruned: &PruneReport,
    dry_run: bool,
    as_json: bool,
) -> io::Result<()> {
    let gone = &pruned.deleted;
    let bytes: u64 = gone.iter().map(|row| row.bytes).sum();
    if as_json {
        let ids = |rows: &[SessionRow]| -> Vec<String> {
            rows.iter().map(|row| row.session.to_string()).collect()
        };
        let value = json!({
            "deleted": !dry_run, "sessions": ids(gone), "bytes": bytes, "held": ids(&pruned.held),
        });
        return document(out, &value);
    }
    table(out, gone)?;
    let sessions = words::counted(gone.len() as u64, "session");
    let size = size(bytes);
    let done = if dry_run {
        "would be deleted"
    } else {
        "deleted"
    };
    writeln!(out, "{sessions} {done}, {size}")?;
    out.flush()
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SessionStatus {
    /// No turn is open, and a process has the session open.
    InUse,
    /// No turn is open.
    Idle,
    /// A turn is open, and no process works on it.
    Open,
    /// An open turn failed to resume too often.
    Parked,
    /// A turn is open, and a process works on it.
    Running,
    /// It cannot be read.
    Unreadable,
    /// An open turn only waits for an answer from outside.
    Waits,
}

impl SessionStatus {
    const fn of(row: &SessionRow) -> Self {
        match (&row.unreadable, &row.open) {
            (Some(_), _) => Self::Unreadable,
            (None, None) if row.owned || row.held => Self::InUse,
            (None, None) => Self::Idle,
            (None, Some(open)) if open.only_waits => Self::Waits,
            (None, Some(_)) if row.owned => Self::Running,
            (None, Some(open)) if open.parked => Self::Parked,
            (None, Some(_)) => Self::Open,
        }
    }

    const fn code(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::InUse => "in_use",
            Self::Open => "open",
            Self::Parked => "parked",
            Self::Running => "running",
            Self::Unreadable => "unreadable",
            Self::Waits => "waits",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Idle => "-",
            Self::InUse => "in use",
            Self::Open | Self::Parked | Self::Running | Self::Unreadable | Self::Waits => {
                self.code()
            }
        }
    }

    const fn style(self) -> anstyle::Style {
        match self {
            Self::Idle | Self::InUse => DIM,
            Self::Open | Self::Parked | Self::Waits => WARM,
            Self::Running => GOOD,
            Self::Unreadable => BAD,
        }
    }
}

fn session_json(row: &SessionRow) -> Value {
    let open = row.open.as_ref().map(|open| {
        json!({
            "turn": open.turn.as_str(),
            "waits": open.waits,
            "parked": open.parked,
        })
    });
    json!({
        "id": row.session.as_str(),
        "title": &*row.title,
        "state": SessionStatus::of(row).code(),
        "turns": row.turns,
        "created": time(row.created),
        "changed": time(row.changed),
        "bytes": row.bytes,
        "in_use": row.owned || row.held,
        "open": open,
        "unreadable": row.unreadable.as_deref(),
    })
}

pub(crate) fn place(ordinal: u32, round: Option<u32>) -> String {
    match round {
        Some(round) => format!("{ordinal}.{round}"),
        None => ordinal.to_string(),
    }
}

fn title(row: &SessionRow) -> String {
    if row.title.is_empty() {
        "(without words)".to_owned()
    } else {
        row.title.to_string()
    }
}

fn age(age: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match age.as_secs() {
        seconds @ 0..MINUTE => format!("{seconds} s"),
        seconds @ MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} d", seconds / DAY),
    }
}

pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} bytes");
    }
    let mut left = bytes >> 10;
    for unit in UNITS {
        if left < 1 << 10 {
            return format!("{left} {unit}");
        }
        left >>= 10;
    }
    format!("{left} PiB")
}

/// A time in UTC, to the second.
fn time(at: WallTime) -> String {
    let since = at.since(WallTime::from_millis(0));
    let since = Duration::from_secs(since.as_secs());
    match UNIX_EPOCH.checked_add(since) {
        Some(time) => humantime::format_rfc3339_seconds(time).to_string(),
        None => String::new(),
    }
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime::from_millis(0).after(since.unwrap_or_default())
}

/// How much of a title is shown in a list.
const MAX_TITLE: usize = 60;

//! All cases, one after another, and what their figures are held against.

use std::time::Duration;

use anyhow::ensure;
use tokio::runtime::{Builder, Runtime};

mod mcp;
mod served;

use crate::cold::Home;
use crate::measure::{Series, ratio};
use crate::plan::Plan;
use crate::report::{Report, compared, rows, shown};
use crate::turn::Manner;
use crate::{call, catalog, crowd, journal, servers, turn};

/// How much is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Amount {
    /// As little as shows that everything works.
    Quick,
    /// As much as figures need.
    Whole,
}

impl Amount {
    pub(crate) const fn times(self, whole: usize) -> usize {
        match self {
            Self::Quick => 1,
            Self::Whole => whole,
        }
    }
}

/// Runs all cases, or this one.
///
/// # Errors
///
/// If one fails, or there is none of this name.
pub fn run(amount: Amount, only: Option<&str>) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let cases = CASES
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| only == *name));
    let mut ran = 0;
    for (_, case) in cases {
        case(amount, &mut report)?;
        ran += 1;
    }
    let names: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
    ensure!(
        ran > 0,
        "there is no such case; there are: {}",
        names.join(", ")
    );
    Ok(report)
}

type Case = fn(Amount, &mut Report) -> anyhow::Result<()>;

const CASES: &[(&str, Case)] = &[
    ("turn", turn),
    ("crowd", crowd),
    ("call", call),
    ("calls", calls),
    ("servers", servers),
    ("catalog", catalog),
    ("journal", in_a_file),
    ("appends", appends),
    ("postgres", postgres),
    ("long", long),
    ("recovery", recovery),
    ("cold", cold),
    ("slow", slow),
    ("binary", binary),
    ("gateway-chat", served::chat),
    ("gateway-history", served::history),
    ("gateway-streams", served::streams),
    ("gateway-slow", served::slow),
    ("gateway-turn", served::turn),
    ("gateway-crowd", served::crowd),
    ("gateway-replicas", served::replicas),
    ("gateway-answers", served::answers),
    ("mcp-list", mcp::list),
    ("mcp-call", mcp::call),
    ("mcp-http", mcp::http),
    ("mcp-idle", mcp::idle),
    ("notes", mcp::notes),
];

fn turn(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let (ours, floor, turns) = (ours()?, floor()?, amount.times(300));
    let mut table = Vec::new();
    for (manner, runtime, what, aims) in [
        (Manner::Here, &floor, "a turn", ["1.50", "2.00"]),
        (Manner::Spawned, &ours, "on two workers", ["", ""]),
    ] {
        let took = turn::measure(runtime, &floor, manner, turns)?;
        table.extend(rows(what, &took.ours, &took.floor, aims));
    }
    report.table(
        "The turn that everyone can compare, warm: 3 rounds of 5 parallel calls, and an answer.",
        COLUMNS,
        &table,
    );
    Ok(())
}

fn crowd(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let turns = amount.times(100);
    let took = crowd::measure(&ours()?, turns, amount.times(5))?;
    let rows = rows("all of them", &took.ours, &took.floor, ["0.26 s", ""]);
    let about = format!("{turns} turns at once, each with one round of 5 tools of 200 ms.");
    report.table(&about, COLUMNS, &rows);
    Ok(())
}

fn call(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = call::measure(&ours()?, 1, amount.times(2000))?;
    let aim = "1.10, or 50 µs";
    let mut table = rows("through the toolbox", &took.toolbox, &took.bare, [aim, ""]);
    table.extend(rows(
        "through the engine",
        &took.offered,
        &took.bare,
        ["", ""],
    ));
    table.extend(rows(
        "by name, which lists the tools first",
        &took.named,
        &took.bare,
        ["", ""],
    ));
    report.table("One call of a tool, against bare `rmcp`.", COLUMNS, &table);
    Ok(())
}

fn calls(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = call::measure(&ours()?, call::AT_ONCE, amount.times(100))?;
    let mut table = rows("through the toolbox", &took.toolbox, &took.bare, ["", ""]);
    table.extend(rows(
        "through the engine",
        &took.offered,
        &took.bare,
        ["", ""],
    ));
    table.extend(rows(
        "by name, which lists the tools first",
        &took.named,
        &took.bare,
        ["", ""],
    ));
    let about = format!(
        "{} calls at once on one server, against bare `rmcp`.",
        call::AT_ONCE
    );
    report.table(&about, COLUMNS, &table);
    Ok(())
}

fn servers(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = servers::measure(&ours()?, servers::SERVERS, amount.times(3))?;
    let rows = [compared(
        "until all run, p50",
        took.all.p50(),
        took.slowest.p50(),
        "1",
    )];
    let about = format!(
        "{} servers started at once, the slowest of which takes {} to say a word, against that one alone.",
        servers::SERVERS,
        shown(servers::SLOWEST)
    );
    report.table(&about, COLUMNS, &rows);
    Ok(())
}

fn catalog(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = catalog::measure(&ours()?, catalog::TOOLS, amount.times(20))?;
    let rows = [
        [
            "the first, the server's list included".to_owned(),
            shown(took.first),
        ],
        ["each later one, p50".to_owned(), shown(took.later.p50())],
        [
            "without asking the server, p50".to_owned(),
            shown(took.known.p50()),
        ],
    ];
    let about = format!("A catalog of {} tools of one server.", catalog::TOOLS);
    report.table(&about, ["", "time"], &rows);
    Ok(())
}

fn in_a_file(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = journal::turns::measure(&ours()?, amount.times(200))?;
    let folder = journal::folder()?;
    let sync = journal::syncs(folder.path(), amount.times(200))?;
    let plain = journal::appends::settled(&folder.path().join("plain.db"), amount.times(200))?;
    let mut table = rows("a turn", &took.file, &took.memory, ["", ""]);
    let more = took.file.wall.p50().saturating_sub(took.memory.wall.p50());
    let appends = u32::try_from(took.appends).unwrap_or(u32::MAX);
    let of_disk = sync.p50() * appends;
    // What is not the disk's own time.
    table.push(compared(
        "what the file adds, against the disk's own time for as many syncs",
        more,
        of_disk,
        "",
    ));
    // A millisecond, where eight of them take 0.8.
    table.push(compared(
        "what the file adds, against as many synced inserts into a plain SQLite table",
        more,
        plain.p50() * appends,
        "1.25",
    ));
    // One sync right after another is about half as long as one in the middle of a turn.
    table.push(compared(
        "what the file adds, against such an insert beside each append of the same turn in memory",
        more,
        took.plain.wall.p50().saturating_sub(took.memory.wall.p50()),
        "",
    ));
    let about = format!(
        "The same turn with its journal in a file, {} commits each synced, against a journal in memory. One sync of the disk itself takes {}.",
        took.appends,
        shown(sync.p50())
    );
    report.table(
        &about,
        ["", "ratio", "aim", "in a file", "in memory"],
        &table,
    );
    Ok(())
}

fn appends(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = journal::appends::measure(&ours()?, amount.times(300))?;
    let a_second = |what: &str, each: Duration, aim: &str| {
        let rate = ratio(took.plain, each);
        let shown = format!("{:.0}", 1.0 / each.as_secs_f64());
        [what.to_owned(), format!("{rate:.2}"), aim.to_owned(), shown]
    };
    let together = format!("{} turns at once", journal::appends::AT_ONCE);
    let rows = [
        a_second("one turn", took.alone, ""),
        a_second(&together, took.together, "4"),
        a_second("the floor", took.plain, ""),
    ];
    report.table(
        "Appends, each synced before it is answered, against one writer of rows into a plain SQLite table with the same durability on the same disk.",
        ["", "ratio", "aim", "a second"],
        &rows,
    );
    Ok(())
}

fn postgres(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = journal::postgres::measure(&ours()?, amount.times(100), amount.times(300))?;
    let Some(took) = took else {
        // It is not installed.
        return Ok(());
    };
    let a_second = |what: &str, each: Duration, floor: Duration, aim: &str| {
        let rate = format!("{:.2}", ratio(floor, each));
        let shown = format!("{:.0}", 1.0 / each.as_secs_f64());
        [what.to_owned(), rate, aim.to_owned(), shown]
    };
    let together = format!("{} turns at once, against one", journal::appends::AT_ONCE);
    let taken = format!(
        "sessions of a lost process taken, of {}",
        journal::postgres::SESSIONS
    );
    let recovered = format!(
        "open turns of a lost process that go on, of {}",
        journal::postgres::SESSIONS
    );
    let table = [
        a_second("one turn, against the floor", took.alone, took.plain, ""),
        a_second(&together, took.together, took.alone, "8"),
        a_second(&taken, took.taken, took.alone, ""),
        a_second(&recovered, took.recovered, took.alone, ""),
        a_second("the floor", took.plain, took.plain, ""),
    ];
    report.table(
        "Appends to a journal in PostgreSQL on this machine, each synced before it is answered, against a loop within the server that inserts rows into a plain table, a synced transaction each.",
        ["", "ratio", "aim", "a second"],
        &table,
    );
    report.table(
        "The turn that everyone can compare, with its journal in PostgreSQL on this machine, against one in a SQLite file; both synced.",
        ["", "ratio", "aim", "PostgreSQL", "SQLite"],
        &rows("a turn", &took.postgres, &took.file, ["1.5 ms more", ""]),
    );
    Ok(())
}

fn long(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let before = [10, 100, 1_000].map(|turns| amount.times(turns));
    let took = journal::long::measure(&ours()?, &before, amount.times(50))?;
    let mut table = Vec::new();
    for long in &took {
        table.push([
            long.before.to_string(),
            shown(long.first.p50()),
            shown(long.later.wall.p50()),
            shown(long.later.cpu.p50()),
        ]);
    }
    report.table(
        "A message to a session that is long, whose journal is in a file: each of its turns has one call. A model is sent all of them with every request, two in a turn.",
        ["turns before", "the first after a start, p50", "each later one, p50", "CPU of each, p50"],
        &table,
    );
    Ok(())
}

fn recovery(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let mut table = Vec::new();
    for (turns, facts, times, aim) in [
        (1, 1, 5, ""),
        (100, 1, 5, "100 ms"),
        (amount.times(10_000), 1, 1, ""),
        (1, amount.times(1_000), 5, ""),
        (1, amount.times(10_000), 3, ""),
    ] {
        let mut series = (Series::default(), Series::default());
        let mut of = 0;
        for _ in 0..amount.times(times) {
            let took = journal::recovery::measure(&ours()?, turns, facts)?;
            series.0.push(took.first);
            series.1.push(took.all);
            of = took.facts;
        }
        table.push([
            turns.to_string(),
            of.to_string(),
            aim.to_owned(),
            shown(series.0.p50()),
            shown(series.1.p50()),
        ]);
    }
    report.table(
        "From the SIGKILL of the process that owns them all to turns that go on: the file is opened, what is due is found, owned, folded, and recorded as taken up. The tools' server runs already. The last column is until all go on, one after another.",
        ["open turns", "facts of each session", "aim", "the first, p50", "all, p50"],
        &table,
    );
    let waits = journal::waiting::measure(amount.times(5_000))?;
    let memory = waits
        .memory
        .map_or_else(|| "unknown".to_owned(), |bytes| format!("{bytes} bytes"));
    report.table(
        "A turn that waits for a person's word, in the process that began it, which is not at work on it any more.",
        ["", "each"],
        &[
            ["in memory".to_owned(), memory],
            ["in the file".to_owned(), format!("{} bytes", waits.file)],
        ],
    );
    Ok(())
}

fn cold(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let home = Home::new()?;
    let took = home.turns(Plan::COMPARED, amount.times(20))?;
    let memory = |what: &str, aim: &str, kib: Option<u64>| {
        let shown = kib.map_or_else(
            || "unknown".to_owned(),
            |kib| format!("{:.1} MiB", kib as f64 / 1024.0),
        );
        [what, "", aim, &shown, ""].map(ToOwned::to_owned)
    };
    let rows = [
        compared(
            "a cold turn, p50",
            took.ours.p50(),
            took.floor.p50(),
            "25 ms",
        ),
        compared(
            "a cold turn, the least",
            took.ours.least(),
            took.floor.least(),
            "",
        ),
        memory(
            "the most memory of the process alone",
            "12 MB",
            took.memory.all,
        ),
        memory(
            "of that, what is not its program's file",
            "",
            took.memory.own,
        ),
    ];
    report.table(
        "The same turn cold: from the start of `jackfield ask` to the last byte of the answer, with the server that it starts.",
        COLUMNS,
        &rows,
    );
    Ok(())
}

fn slow(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let home = Home::new()?;
    let mut rows = Vec::new();
    for calls in [1, 2, 3, 5] {
        let took = home.turns(Plan::one_round(calls, 1200), amount.times(3))?;
        let what = format!("{calls} at once, p50");
        rows.push(compared(&what, took.ours.p50(), took.floor.p50(), "1.21 s"));
    }
    report.table(
        "A cold turn with one round of tools of 1.2 s.",
        COLUMNS,
        &rows,
    );
    Ok(())
}

fn binary(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let home = Home::new()?;
    let times = amount.times(30);
    let both = |series: &Series| {
        format!(
            "{} (the least: {})",
            shown(series.p50()),
            shown(series.least())
        )
    };
    let version = home.command(&["--version"], times)?;
    let tools = home.command(&["tools", "list"], times)?;
    let rows = [
        [
            "size".to_owned(),
            format!("{:.1} MiB", home.size()? as f64 / f64::from(1 << 20)),
        ],
        ["`jackfield --version`, p50".to_owned(), both(&version)],
        [
            "`jackfield tools list` with one server, p50".to_owned(),
            both(&tools),
        ],
    ];
    report.table("The binary.", ["", "figure"], &rows);
    Ok(())
}

/// The runtime that the command line has.
///
/// # Errors
///
/// If the system gives no threads.
pub fn ours() -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}

/// The runtime on which the floor is fastest.
fn floor() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

const COLUMNS: [&str; 5] = ["", "ratio", "aim", "ours", "floor"];

//! A disk that fails below the real program, as `strace` has it fail: nothing is done or told that is
//! not in the journal, the program says what is wrong, and the next one goes on.

use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::process::Command;

use crate::deaths::{When, live};
use crate::judge::{Judge, Survived};
use crate::kept::Kept;
use crate::table;
use crate::world::World;

#[tokio::test]
async fn a_disk_that_fails_stops_a_turn_and_loses_nothing() {
    let faults = FAULTS.iter().flat_map(|fault| {
        let nths = fault.from.iter();
        nths.flat_map(move |nth| [(fault, format!("{nth}")), (fault, format!("{nth}+"))])
    });
    let table = table::all(faults, |(fault, when)| survive(fault, when)).await;
    let stopped = STOPPED.load(Ordering::Relaxed);
    println!("stopped by the disk: {stopped}");
    table.promised("A disk that fails once, or for good");
    assert!(stopped >= 6, "only {stopped} turns were stopped");
}

#[tokio::test]
async fn a_file_that_may_only_be_read_is_told_and_left_as_it_is() {
    let world = World::new().await;
    let mut judge = Judge::new(&world, "a read-only file");
    judge.asks(When::At("during-tool", 4)).await;
    let before = Kept::read(&world).await;
    assert!(before.is_open());
    let bytes = std::fs::read(world.database()).expect("a file");
    // As a file of another user, or on a medium that is read-only: SQLite then opens it to be read.
    let path = world.database().display().to_string();
    let refused = [
        "-P",
        &path,
        "-e",
        "trace=openat",
        "-e",
        "inject=openat:error=EACCES:when=1",
    ];
    let life = live(traced(&world, world.resume(None), &refused), When::Never).await;
    assert_ne!(life.code, Some(0), "{life:?}");
    assert!(life.wrong.contains("cannot be written"), "{life:?}");
    assert_eq!(std::fs::read(world.database()).expect("a file"), bytes);
    judge.until_it_ends().await;
    judge.verdict().await.held();
}

async fn survive(fault: &'static Fault, when: String) -> Survived {
    let world = World::new().await;
    let inject = format!("inject={}:error={}:when={when}", fault.call, fault.error);
    let mut judge = Judge::new(&world, &*inject);
    let life = live(below_strace(&world, &inject), When::Never).await;
    let goes_on = life.code == Some(0);
    if !goes_on {
        STOPPED.fetch_add(1, Ordering::Relaxed);
        let said = fault.says.iter().any(|says| life.wrong.contains(says));
        assert!(said, "{inject}: {}", life.wrong);
    }
    let (_, kept) = judge.lives(life, When::Never).await;
    assert!(!goes_on || kept.end().is_some(), "{inject}");
    judge.until_it_ends().await;
    judge.verdict().await
}

/// The program that begins the turn, with this fault.
fn below_strace(world: &World, inject: &str) -> Command {
    let calls = "trace=fdatasync,fsync,pwrite64";
    traced(world, world.ask(None), &["-e", calls, "-e", inject])
}

/// A program below `strace`, which is told this.
fn traced(world: &World, program: Command, options: &[&str]) -> Command {
    let program = program.as_std();
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq"])
        .args(options)
        .arg("-o")
        .arg(world.path("trace"))
        .arg(program.get_program())
        .args(program.get_args())
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let environment = program.get_envs();
    command.envs(environment.filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = program.get_current_dir() {
        command.current_dir(folder);
    }
    command
}

/// How many turns did not get over it by themselves.
static STOPPED: AtomicU32 = AtomicU32::new(0);

/// What goes wrong.
struct Fault {
    call: &'static str,
    error: &'static str,
    /// From which call on, in the thread that writes.
    from: &'static [u32],
    /// What the program says of it, in one of these ways.
    says: &'static [&'static str],
}

const FAULTS: &[Fault] = &[
    Fault {
        call: "fdatasync,fsync",
        error: "EIO",
        from: &[2, 4, 6, 8],
        says: &["disk I/O error"],
    },
    Fault {
        call: "pwrite64",
        error: "ENOSPC",
        from: &[20, 31, 47, 66],
        says: &["the disk is full"],
    },
    Fault {
        call: "pwrite64",
        error: "EROFS",
        from: &[25, 52],
        says: &["disk I/O error", "cannot be written"],
    },
];

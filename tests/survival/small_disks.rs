//! Disks that are full, and disks that cannot be written, below the real program. Each is a small one in
//! memory, mounted in a namespace of its own, which ends with the program.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use jackfield_testkit::server::Gate;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;

use crate::served::{Asking, Gateway, send};
use crate::world::World;

#[tokio::test]
async fn a_full_disk_is_found_by_the_doctor_and_what_was_probed_is_gone() {
    let world = World::new().await;
    let doctor = "\"$jackfield\" doctor --offline --db \"$disk/kept.db\"";
    let list = "ls -A \"$disk\" > \"$disk/../left\"";
    let fine = on_disk(&world, &format!("{doctor}; {list}")).await;
    assert_eq!(fine.code, Some(0), "{fine:?}");
    let left = std::fs::read_to_string(world.path("left")).expect("a list");
    assert!(!left.contains("doctor"), "{left}");
    // With no room at all, and with room for what is written in passing, but for no turn.
    for left in [0, 200] {
        let full = format!(
            "free=$(df --output=avail -k \"$disk\" | tail -n 1)\n\
             head -c $(((free - {left}) * 1024)) /dev/zero > \"$disk/rest\"\n\
             {doctor}"
        );
        let full = on_disk(&world, &full).await;
        assert_ne!(full.code, Some(0), "{left} KiB are left: {full:?}");
        let said = full.all();
        assert!(said.contains("kept.db"), "{left}: {full:?}");
        assert!(
            said.contains("make room") || said.contains("whether it is full"),
            "{left}: {full:?}"
        );
    }
}

#[tokio::test]
async fn a_journal_on_a_disk_that_cannot_be_written_is_read_by_every_command_that_reads() {
    let world = World::new().await;
    for way in READ_ONLY {
        for (arguments, says) in [
            ("sessions list", "What is 2 * 21?"),
            ("sessions list --search statement", "finished"),
            ("sessions show finished", "It is 42."),
            ("sessions export finished", "It is 42."),
            ("sessions export finished --facts", "turn_opened"),
            ("sessions watch finished --until-done", "It is 42."),
            ("audit finished", "calculator"),
            ("usage finished", "replies"),
            ("replay finished", "come out the same"),
            ("approvals list", "calculator"),
            ("sessions prune --over 1B --dry-run", "finished"),
        ] {
            let read = format!("{way}\n\"$jackfield\" {arguments} --db \"$disk/kept.db\"");
            let read = on_disk(&world, &read).await;
            assert_eq!(read.code, Some(0), "{way}: {arguments}: {read:?}");
            assert!(read.out.contains(says), "{way}: {arguments}: {read:?}");
            let remark = "kept.db can only be read: ";
            assert!(read.err.contains(remark), "{way}: {arguments}: {read:?}");
        }
    }
}

#[tokio::test]
async fn what_would_write_there_names_the_cause_and_what_to_do() {
    let world = World::new().await;
    for way in READ_ONLY {
        for arguments in [
            "ask --session finished More?",
            "sessions delete --yes finished",
            "sessions fork finished",
            "sessions prune --over 1B",
            "sessions resume open",
            "approvals deny any",
        ] {
            let wrote = format!("{way}\n\"$jackfield\" {arguments} --db \"$disk/kept.db\"");
            let wrote = on_disk(&world, &wrote).await;
            assert_eq!(wrote.code, Some(3), "{way}: {arguments}: {wrote:?}");
            for says in ["kept.db can only be read", "help: give yourself the right"] {
                assert!(wrote.err.contains(says), "{way}: {arguments}: {wrote:?}");
            }
        }
    }
    assert_eq!(world.claude.requests().len(), 0);
}

#[tokio::test]
async fn a_log_that_cannot_be_read_there_is_no_older_state_in_silence() {
    let world = World::new().await;
    let script = "head -c 4152 /dev/zero > \"$disk/kept.db-wal\"\n\
                  mount -o remount,ro \"$disk\"\n\
                  \"$jackfield\" sessions list --db \"$disk/kept.db\"";
    let list = on_disk(&world, script).await;
    assert_eq!(list.code, Some(3), "{list:?}");
    assert!(list.err.contains("the write-ahead log"), "{list:?}");
    assert!(list.err.contains("copy both files"), "{list:?}");
}

/// The last room of a disk is used up while the model answers: small rows still fit, and the answer does not.
#[tokio::test]
async fn a_turn_whose_disk_is_nearly_full_is_not_given_up_and_its_client_is_told() {
    let (gate, large) = (Gate::new(), "large ".repeat(30_000));
    let turns = [
        ScriptTurn::text(&large).pause_after(0, &gate),
        ScriptTurn::text(&large).again(),
    ];
    let world = World::scripted(turns.into()).await.keeping_in("disk");
    world.configure("[serve]\noffer = \"all\"");
    std::fs::create_dir_all(world.path("disk")).expect("the home can be written");
    let serve = world.about(&["serve", "--bind", "127.0.0.1:0"], None);
    let script = "mount -t tmpfs -o size=8m none \"$disk\" && exec \"$jackfield\" \"$@\"";
    let serve = in_namespace(&world, script, serve.as_std());
    let gateway = Gateway::start_program(serve).await.expect("it listens");
    let request = || {
        let messages = json!([{ "role": "user", "content": "Tell me much." }]);
        let body = json!({ "model": "claude/claude-sonnet-5", "messages": messages });
        let request = Asking::post("/v1/chat/completions", &body);
        request.header("x-jackfield-tools", "all")
    };
    let (address, first) = (gateway.address(), request());
    let waiting = tokio::spawn(async move { send(&address, &first).await });
    gate.reached().await;
    let disk = format!(
        "/proc/{}/root{}",
        gateway.process(),
        world.path("disk").display()
    );
    let rest = Path::new(&disk).join("rest");
    fill(&rest, 64 << 10);
    gate.open();
    let told = waiting.await.expect("no panic");
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains(" 503 "), "{told}");
    let begun = Instant::now();
    let ready = || async {
        let answer = send(&gateway.address(), &Asking::get("/readyz")).await;
        String::from_utf8_lossy(&answer).contains(" 200 ")
    };
    while ready().await {
        assert!(begun.elapsed() < TIME_LIMIT, "it counts as ready");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // As long as it takes a keeper to try more often than a turn is taken up without progress.
    tokio::time::sleep(Duration::from_secs(20)).await;
    std::fs::remove_file(&rest).expect("there is room again");
    let begun = Instant::now();
    let whole = loop {
        let answer = send(&gateway.address(), &request()).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        if answer.contains(" 200 ") {
            break answer;
        }
        assert!(begun.elapsed() < TIME_LIMIT, "{answer}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert!(whole.contains(large.trim_end()), "{whole}");
    // Asked at first, by the resume that did not fit, and when there was room.
    let asked = world.claude.requests().len();
    assert!(asked <= 4, "the model was asked {asked} times");
    gateway.end().await;
}

/// Fills a disk with a file but for so many bytes.
fn fill(file: &Path, left: u64) {
    let mut filling = std::fs::File::create(file).expect("the disk is there");
    let zeros = [0; 4096];
    while std::io::Write::write_all(&mut filling, &zeros).is_ok() {}
    let length = filling.metadata().expect("its size").len();
    filling.set_len(length - left).expect("it is cut");
}

/// What a program said, and how it ended.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    err: String,
    out: String,
}

impl Ran {
    fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// Runs this in a shell, where `$disk` is a small disk with the journal `kept.db`, and `$jackfield` the
/// program.
async fn on_disk(world: &World, script: &str) -> Ran {
    let program = world.program(&[], None);
    let program = program.as_std();
    let disk = world.path("disk");
    std::fs::create_dir_all(&disk).expect("the home can be written");
    let journal = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journal-0.1.0.db");
    let script = format!(
        "mount -t tmpfs -o size=4m none \"$disk\" || exit {NO_MOUNT}\n\
         cp \"$journal\" \"$disk/kept.db\"\nchmod 600 \"$disk/kept.db\"\n{script}"
    );
    let mut command = in_namespace(world, &script, program);
    command.env("journal", journal);
    let output = timeout(TIME_LIMIT, command.output()).await;
    let output = output.expect("it ends").expect("there is `unshare`");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let code = output.status.code();
    assert!(
        code != Some(NO_MOUNT) && !err.starts_with("unshare:"),
        "nothing can be mounted here, and what a disk does cannot be shown: run this as root, or where a \
         user may have namespaces: {err}"
    );
    Ran { code, err, out }
}

/// This script with the arguments of a program, in a namespace in which it can mount a disk.
fn in_namespace(world: &World, script: &str, program: &std::process::Command) -> Command {
    let mut command = Command::new("unshare");
    if std::fs::metadata("/proc/self").expect("Linux").uid() != 0 {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-c", script, "sh"]);
    command.args(program.get_args()).env_clear();
    let environment = program.get_envs();
    command.envs(environment.filter_map(|(name, value)| Some((name, value?))));
    command
        .env("disk", world.path("disk"))
        .env("jackfield", program.get_program())
        .current_dir(world.path("project"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The ways in which a file cannot be written: its disk, and it alone.
const READ_ONLY: [&str; 2] = [
    "mount -o remount,ro \"$disk\"",
    "mount --bind \"$disk/kept.db\" \"$disk/kept.db\" && mount -o remount,bind,ro \"$disk/kept.db\"",
];

/// How the shell ends where nothing can be mounted.
const NO_MOUNT: i32 = 97;
/// How long a program may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

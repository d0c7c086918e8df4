//! Disks that are full, and disks that cannot be written, below the real program. Each is a small one in
//! memory, mounted in a namespace of its own, which ends with the program.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

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
    let mut command = Command::new("unshare");
    if std::fs::metadata("/proc/self").expect("Linux").uid() != 0 {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-c", &script]).env_clear();
    let environment = program.get_envs();
    command.envs(environment.filter_map(|(name, value)| Some((name, value?))));
    command
        .env("disk", &disk)
        .env("journal", journal)
        .env("jackfield", program.get_program())
        .current_dir(world.path("project"))
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true);
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

/// The ways in which a file cannot be written: its disk, and it alone.
const READ_ONLY: [&str; 2] = [
    "mount -o remount,ro \"$disk\"",
    "mount --bind \"$disk/kept.db\" \"$disk/kept.db\" && mount -o remount,bind,ro \"$disk/kept.db\"",
];

/// How the shell ends where nothing can be mounted.
const NO_MOUNT: i32 = 97;
/// How long a program may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

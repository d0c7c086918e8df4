//! Processes: what they get, and that none is left.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use jackfield_domain::failure::ToolFailureKind;
use jackfield_tools_mcp::ServerState;
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Scripted, is_alive, program, script, soon, through_shell};

#[tokio::test]
async fn a_server_gets_what_programs_need_and_no_keys() {
    let server = Scripted::with(
        script("show", &json!([{ "environment": true }])),
        |config, _| {
            config.environment = vec![
                ("GITHUB_TOKEN".to_owned(), "t0ken".to_owned()),
                ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ];
        },
    );
    let said = server.result("show", json!({})).await.to_text();
    let names: BTreeSet<&str> = said.split(' ').collect();
    assert!(names.contains("GITHUB_TOKEN"), "{names:?}");
    assert!(names.contains("PATH"), "{names:?}");
    let needed = [
        "GITHUB_TOKEN",
        "HOME",
        "LANG",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TMPDIR",
        "TZ",
        "USER",
    ];
    for name in names {
        // Cargo gives this process many more than these. On macOS, CoreFoundation sets one of its own in the guard.
        let is_known = ["LC_", "__CF"].iter().any(|begin| name.starts_with(begin));
        assert!(needed.contains(&name) || is_known, "{name}");
    }
}

#[tokio::test]
async fn keys_are_shown_nowhere() {
    let key = "sk-4f1c9a-never-to-be-seen";
    let mut shown = String::new();
    let server = Scripted::with(json!({}), |config, _| {
        config.environment = vec![("GITHUB_TOKEN".to_owned(), key.to_owned())];
        shown = format!("{config:?}");
        through_shell(config, "echo bad token $GITHUB_TOKEN, sorry >&2; exit 1");
    });
    let fault = soon(server.toolbox.start()).await.unwrap_err();
    assert!(
        fault.reason.contains("bad token [redacted], sorry"),
        "{fault}"
    );
    for shown in [
        shown,
        format!("{:?} {:?}", server.toolbox.state(), server.toolbox.log()),
    ] {
        assert!(!shown.contains(key), "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_is_stopped_ends_by_itself() {
    let server = Scripted::new(script("greet", &json!([])));
    server.toolbox.start().await.unwrap();
    soon(server.toolbox.stop()).await;
    assert_eq!(server.toolbox.state(), ServerState::Stopped);
    assert_eq!(server.count("end of input"), 1);
    // It is started again by whoever needs it.
    server.result("greet", json!({})).await;
    assert_eq!(server.count("start"), 2);
}

#[tokio::test]
async fn a_server_whose_child_holds_its_output_open_has_ended_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let begin = format!("sleep 600 & echo $! >> {}", pids.display());
    // A guard would end the child.
    let server = Scripted::with(json!({}), |config, settings| {
        settings.guard = None;
        settings.start_limit = Duration::from_mins(2);
        through_shell(config, &format!("{begin}; echo so long >&2; exit 3"));
    });
    let fault = soon(server.toolbox.start()).await.unwrap_err();
    let expected = "it ended before it had answered: it ended with code 3 (it said: so long)";
    assert_eq!(fault.reason, expected);
    let server = Scripted::with(script("die", &json!([{ "die": 3 }])), |config, settings| {
        settings.guard = None;
        through_shell(config, &format!("{begin}; exec \"$0\" \"$1\""));
    });
    let failure = server.failure("die").await;
    let pids = std::fs::read_to_string(&pids).unwrap();
    let killed = Command::new("kill").args(pids.lines()).status().unwrap();
    assert!(killed.success());
    assert_eq!(failure.kind, ToolFailureKind::Crashed);
    assert!(
        failure.message.contains("it ended with code 3"),
        "{failure:?}"
    );
}

/// Keeps a folder in which a stubborn server writes down its processes.
struct Stubborn(TempDir);

impl Stubborn {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A line of the shell: a server that ignores `SIGTERM` and the end of its input, with a child in
    /// a session of its own and one whose parent is gone, which ignore it, too.
    fn line(&self) -> String {
        let pids = self.0.path().join("pids").display().to_string();
        format!(
            "trap '' TERM HUP INT
            note() {{ echo $1 >> {pids}; }}
            note $$
            setsid sh -c 'echo $$ >> {pids}; while :; do sleep 1; done' &
            (sh -c 'echo $$ >> {pids}; while :; do sleep 1; done' > /dev/null 2>&1 < /dev/null &)
            \"$0\" \"$1\"
            while :; do sleep 1; done"
        )
    }

    fn processes(&self) -> Vec<String> {
        let pids = std::fs::read_to_string(self.0.path().join("pids"));
        pids.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Waits until the server and both of its children have begun.
    async fn begun(&self) -> Vec<String> {
        soon(async {
            while self.processes().len() < 3 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let processes = self.processes();
        assert!(processes.iter().all(|pid| is_alive(pid)), "{processes:?}");
        processes
    }
}

async fn until_gone(processes: &[String]) {
    soon(async {
        while processes.iter().any(|pid| is_alive(pid)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_a_stubborn_server_outlives_a_stop() {
    let stubborn = Stubborn::new();
    let server = Scripted::with(script("greet", &json!([])), |config, _| {
        through_shell(config, &stubborn.line());
    });
    server.toolbox.start().await.unwrap();
    let processes = stubborn.begun().await;
    soon(server.toolbox.stop()).await;
    let left = processes.iter().find(|pid| is_alive(pid));
    assert_eq!(left, None);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_a_stubborn_server_outlives_its_toolbox() {
    let stubborn = Stubborn::new();
    let server = Scripted::with(script("greet", &json!([])), |config, _| {
        through_shell(config, &stubborn.line());
    });
    server.toolbox.start().await.unwrap();
    let processes = stubborn.begun().await;
    drop(server);
    until_gone(&processes).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_server_has_started_ends_with_it() {
    let stubborn = Stubborn::new();
    let line = stubborn
        .line()
        .replace("while :; do sleep 1; done\"", "exit 0\"");
    let line = line
        .rsplit_once("while :")
        .map_or(line.as_str(), |(most, _)| most)
        .to_owned();
    let mut die = script("die", &json!([{ "die": 1 }]));
    die["era"] = json!("modern");
    let server = Scripted::with(die, |config, settings| {
        settings.backoff = Duration::from_secs(3600);
        settings.longest_backoff = Duration::from_secs(3600);
        through_shell(config, &line);
    });
    server.toolbox.start().await.unwrap();
    let processes = stubborn.begun().await;
    server.failure("die").await;
    until_gone(&processes).await;
}

/// Whichever way the program ends that keeps a stubborn server: it is gone, whole, soon after.
#[cfg(target_os = "linux")]
async fn gone_after(end: impl FnOnce(u32)) {
    let stubborn = Stubborn::new();
    let mut host = Command::new(program("examples/host"))
        .args(["keep", "sh", "-c", &stubborn.line()])
        .arg(program("scripted-mcp"))
        .arg(script("greet", &json!([])).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    let mut output = BufReader::new(host.stdout.take().unwrap());
    output.read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    let processes = stubborn.begun().await;
    end(host.id());
    until_gone(&processes).await;
    host.wait().unwrap();
}

#[cfg(target_os = "linux")]
fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_a_stubborn_server_outlives_us_when_we_are_killed() {
    gone_after(|host| send("-KILL", host)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_a_stubborn_server_outlives_us_when_we_are_asked_to_end() {
    gone_after(|host| send("-TERM", host)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_a_stubborn_server_outlives_us_when_we_are_interrupted() {
    gone_after(|host| send("-INT", host)).await;
}

#[cfg(target_os = "linux")]
#[test]
fn a_hundred_sessions_leave_no_process_no_descriptor_and_no_file() {
    // In a process of its own: other tests open and close what they want.
    let this = std::env::current_exe().unwrap();
    let files = tempfile::tempdir().unwrap();
    let counted = Command::new(this)
        .args([
            "--exact",
            "processes::counting_a_hundred_sessions",
            "--nocapture",
        ])
        .env(COUNT_NOW, "1")
        .env("TMPDIR", files.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&counted.stdout);
    assert!(counted.status.success(), "{said}");
    assert!(said.contains("a hundred sessions were counted"), "{said}");
    let left = std::fs::read_dir(files.path()).unwrap().count();
    assert_eq!(left, 0);
}

/// What the test before runs on its own.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn counting_a_hundred_sessions() {
    if std::env::var_os(COUNT_NOW).is_none() {
        return;
    }
    let session = async || {
        let server = Scripted::new(script("greet", &json!([{ "text": "hello" }])));
        assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
        soon(server.toolbox.stop()).await;
    };
    // What is opened once and kept is opened by the first one.
    session().await;
    let before = (descriptors(), children());
    for _ in 0..100 {
        session().await;
    }
    soon(async {
        while (descriptors(), children()) != before {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(children(), 0);
    println!("a hundred sessions were counted");
}

#[cfg(target_os = "linux")]
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[cfg(target_os = "linux")]
fn children() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let children = tasks.map(|task| {
        let children = std::fs::read_to_string(task.unwrap().path().join("children"));
        children.unwrap_or_default().split_whitespace().count()
    });
    children.sum()
}

#[cfg(target_os = "linux")]
const COUNT_NOW: &str = "JACKFIELD_COUNT_SESSIONS";

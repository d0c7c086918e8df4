//! Many calls of servers that crash at random: each call ends, and no process, descriptor or memory is left.
//!
//! 500 calls; `JACKFIELD_CRASH_CALLS=10000 cargo test -p jackfield-tools-mcp --test it crashes -- --nocapture` makes
//! more, and prints the figures.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jackfield_domain::failure::ToolFailureKind;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::harness::{Scripted, run, soon, tool};

/// It runs itself again in a process of its own, as the other tests of this one open files, too.
#[test]
fn calls_of_servers_that_crash_leave_nothing_behind() {
    if std::env::var_os(ALONE).is_some() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let figures = runtime.enable_all().build().unwrap().block_on(alone());
        return println!("{figures}");
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let name = "crashes::calls_of_servers_that_crash_leave_nothing_behind";
    child.args(["--exact", "--nocapture", name]).env(ALONE, "1");
    let ended = child.output().unwrap();
    let output = String::from_utf8_lossy(&ended.stdout);
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{output}\n{errors}");
    assert!(output.contains("1 passed"), "{output}");
    println!("{output}");
}

async fn alone() -> String {
    let calls = std::env::var("JACKFIELD_CRASH_CALLS").ok();
    let calls: usize = calls.map_or(500, |calls| calls.parse().unwrap());
    let servers = [
        Scripted::with(script("legacy"), |_, settings| {
            settings.backoff = Duration::ZERO;
        }),
        Scripted::with(script("modern"), |_, settings| {
            settings.backoff = Duration::ZERO;
        }),
        Scripted::over_http_with(script("modern"), |_, settings| {
            settings.backoff = Duration::ZERO;
        }),
    ];
    let mut random = TestRunner::deterministic();
    // What is made once is no leak.
    let _warm = crashes_among(60, &servers, &mut random).await;
    let before = Held::now(&servers).await;
    let crashes = crashes_among(calls, &servers, &mut random).await;
    let after = Held::now(&servers).await;
    assert!(crashes > calls / 20, "{crashes}");
    assert_eq!((after.children, before.children), (0, 0));
    assert!(
        after.descriptors <= before.descriptors + 8,
        "{before:?} {after:?}"
    );
    assert!(
        after.memory_kb <= before.memory_kb + 16_384,
        "{before:?} {after:?}"
    );
    format!("{calls} calls, {crashes} crashes: {before:?} before, {after:?} after")
}

fn script(era: &str) -> Value {
    json!({
        "calls": { "die": [{ "die": 1 }], "say": [{ "text": "said" }] },
        "era": era,
        "tools": [tool("die"), tool("say")],
    })
}

/// Makes calls, some of them two at once, and returns how many crashed.
async fn crashes_among(calls: usize, servers: &[Scripted; 3], random: &mut TestRunner) -> usize {
    let mut crashes = 0;
    for _ in 0..calls {
        let chosen = (0..servers.len(), 0..4_u8, 0..3_u8).new_tree(random);
        let (server, kind, pair) = chosen.unwrap().current();
        let server = &servers[server];
        let name = if kind == 0 { "die" } else { "say" };
        let (one, other) = (run(name, json!({})), run("say", json!({})));
        let ends = if pair == 0 {
            let ends = tokio::join!(server.end(&one), server.end(&other));
            vec![ends.0, ends.1]
        } else {
            vec![server.end(&one).await]
        };
        for failure in ends.into_iter().filter_map(Result::err) {
            let is_crash = matches!(
                failure.kind,
                // Over HTTP, a crash is a stream that ends too soon.
                ToolFailureKind::Crashed
                    | ToolFailureKind::ProtocolViolation
                    | ToolFailureKind::Unavailable
            );
            assert!(is_crash, "{failure:?}");
            crashes += 1;
        }
    }
    crashes
}

/// What this process holds while its servers are stopped.
#[derive(Debug)]
struct Held {
    children: usize,
    descriptors: usize,
    memory_kb: u64,
}

impl Held {
    async fn now(servers: &[Scripted; 3]) -> Self {
        for server in servers {
            soon(server.toolbox.stop()).await;
        }
        let settled = async {
            while children() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        soon(settled).await;
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mut lines = status.lines();
        let memory = lines.find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.unwrap().trim().trim_end_matches(" kB");
        Self {
            children: children(),
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
            memory_kb: memory.parse().unwrap(),
        }
    }
}

/// The number of child processes, with those that have ended and were not waited for.
fn children() -> usize {
    let own = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_child = |folder: &Path| {
        let stat = std::fs::read_to_string(folder.join("stat")).ok();
        let parent = stat.and_then(|stat| {
            let (_, rest) = stat.rsplit_once(") ")?;
            rest.split(' ').nth(1).map(str::to_owned)
        });
        parent.as_deref() == Some(&*own)
    };
    processes
        .filter(|process| is_child(&process.path()))
        .count()
}

/// Set in the process that makes the calls.
const ALONE: &str = "JACKFIELD_CRASH_ALONE";

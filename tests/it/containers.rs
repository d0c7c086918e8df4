//! Servers in containers: a `docker` that does what Docker does, and says what it says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Jackfield, McpServer, jackfield, kept};

/// Ends as Docker 28 does, by the name of the image or the container; any other runs its program here.
const DOCKER: &str = r#"#!/bin/sh
verb=$1; shift
input=/dev/null
while :; do
    case $1 in
        -i) input= ;;
        -t) echo 'the input device is not a TTY' >&2; exit 1 ;;
        --rm) ;;
        *) break ;;
    esac
    shift
done
name=$1; shift
fail() {
    if [ "$verb" = run ]; then
        printf 'docker: %s\n\nRun '"'docker run --help'"' for more information\n' "$2" >&2
    else
        printf '%s\n' "$2" >&2
    fi
    exit "$1"
}
answered='Error response from daemon:'
case $verb-$name in
    run-daemonless) fail 125 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?' ;;
    exec-daemonless) fail 1 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?' ;;
    run-imageless) fail 125 "$answered pull access denied for imageless, repository does not exist" ;;
    run-empty) fail 127 "$answered failed to create task for container: exec: \"$1\": executable file not found in \$PATH" ;;
    exec-stopped) fail 1 "$answered container 6f1a is not running" ;;
    exec-improper) fail 125 'Error: can only create exec sessions on running containers: container state improper' ;;
    exec-unknown) fail 1 "$answered No such container: unknown" ;;
esac
if [ "$input" ]; then exec "$@" <"$input"; fi
exec "$@"
"#;

/// A folder with that `docker`, to be put before all others in `PATH`.
fn docker() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("docker");
    fs::write(&program, DOCKER).expect("a file can be written");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&program, mode).expect("a file can be made a program");
    folder
}

/// The binary where that `docker` is.
fn with_docker<const N: usize>(docker: &TempDir, arguments: [&str; N]) -> Jackfield {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [docker.path().to_owned()].into_iter();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&path)));
    jackfield(arguments).env("PATH", path.expect("no folder has a colon"))
}

/// A server that docker runs so.
fn contained(arguments: &[&str], server: &McpServer) -> Value {
    let entry = server.entry();
    let mut all = json!(arguments);
    if let Some(all) = all.as_array_mut() {
        all.push(entry["command"].clone());
        all.extend(entry["args"].as_array().into_iter().flatten().cloned());
    }
    json!({ "command": "docker", "args": all, "trust": true })
}

#[tokio::test]
async fn s2_04_a_server_in_a_container_is_a_server_like_others() {
    let docker = docker();
    let weather = McpServer::of("get_weather", &json!([{ "text": "Cloudy" }]));
    for how in [
        ["run", "-i", "--rm", "weather"],
        ["exec", "-i", "--rm", "weather"],
    ] {
        let claude = ScriptedClaude::start([
            ScriptTurn::call("weather__get_weather", &json!({})),
            ScriptTurn::text("It is cloudy.").when("Cloudy"),
        ])
        .await;
        let ask = with_docker(&docker, ["ask", "Weather?"]).at(&claude.base_url());
        let servers = [("weather", contained(&how, &weather))];
        ask.servers(servers).run().await.answers("It is cloudy.\n");
        kept(&claude);
    }
    weather.kept_and_gone().await;
}

#[tokio::test]
async fn s2_04_not_running_and_failed_to_start_are_told_apart() {
    let docker = docker();
    let server = McpServer::of("read", &json!([]));
    let no_daemon = (
        "`docker` does not reach its daemon",
        "start it, and see that `docker ps` works for you",
    );
    for (how, (reason, advice)) in [
        (vec!["run", "-i", "daemonless"], no_daemon),
        (vec!["exec", "-i", "daemonless"], no_daemon),
        (
            vec!["run", "-i", "--rm", "imageless"],
            (
                "its container failed to start: docker: Error response from daemon: pull access denied",
                "correct the options and the image in its `args`",
            ),
        ),
        (
            vec!["run", "-i", "empty"],
            (
                "its container has no such program: docker: Error response from daemon: failed to create",
                "correct what comes after the image",
            ),
        ),
        (
            vec!["exec", "-i", "stopped"],
            (
                "its container is not running",
                "start it with `docker start`, or use `docker run -i`",
            ),
        ),
        (
            vec!["exec", "-i", "improper"],
            (
                "its container is not running",
                "start it with `docker start`, or use `docker run -i`",
            ),
        ),
        (
            vec!["exec", "-i", "unknown"],
            (
                "there is no such container",
                "`docker ps --all` shows those that there are",
            ),
        ),
        (
            vec!["run", "--rm", "weather"],
            (
                "it ended at once: its container has no input",
                "give `docker run` the argument `-i`",
            ),
        ),
        (
            vec!["run", "-i", "-t", "weather"],
            (
                "`docker` wants a terminal, and there is none",
                "take `-t` out of its `args`",
            ),
        ),
    ] {
        let test = with_docker(&docker, ["mcp", "list", "--json"]);
        let ran = test
            .servers([("box", contained(&how, &server))])
            .run()
            .await;
        let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let said = |field: &str| list[0][field].as_str().unwrap_or_default().to_owned();
        assert!(said("reason").starts_with(reason), "{how:?}: {}", ran.out);
        assert!(said("advice").contains(advice), "{how:?}: {}", ran.out);
        // What help there is by the option is no news.
        assert!(!said("reason").contains("--help"), "{how:?}: {}", ran.out);
    }
}

#[tokio::test]
async fn s2_04_a_server_that_fails_in_its_container_is_the_servers_own_doing() {
    let docker = docker();
    for (how, words, code) in [
        ("run", "no database", 3),
        // What a daemon would say of itself, a server may say of something else.
        ("run", "Cannot connect to the database at db:5432", 1),
        ("exec", "Cannot connect to the database at db:5432", 1),
        ("exec", "PostgreSQL is not running", 1),
        ("run", "no such container: shelf 7 of the storage", 2),
    ] {
        let line = format!("echo '{words}' >&2; exit {code}");
        let failing = json!({
            "command": "docker", "args": [how, "-i", "weather", "sh", "-c", line],
        });
        let ran = with_docker(&docker, ["mcp", "list", "--json"])
            .servers([("box", failing)])
            .run()
            .await;
        let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let reason = list[0]["reason"].as_str().unwrap_or_default();
        let own = format!(
            "it ended before it had answered: it ended with code {code} (it said: {words})"
        );
        assert_eq!(reason, own, "{}", ran.out);
    }
}

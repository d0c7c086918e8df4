//! The scripted MCP server, in plain lines.
#![expect(clippy::expect_used, reason = "a test ends where its world fails")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Says these lines to a server with this script, and ends its input: what it said, and what it wrote
/// down.
fn said(mut script: Value, lines: &[Value]) -> (Vec<Value>, Vec<String>) {
    let name = format!(
        "scripted-mcp-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let log = std::env::temp_dir().join(name);
    script["log"] = json!(log);
    let mut program = Command::new(env!("CARGO_BIN_EXE_scripted-mcp"))
        .arg(script.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = program.stdin.take().expect("its input is piped");
    for line in lines {
        writeln!(input, "{line}").expect("it reads");
    }
    drop(input);
    let output = program.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let output = String::from_utf8(output.stdout).expect("it says UTF-8");
    let said = output
        .lines()
        .map(|line| serde_json::from_str(line).expect("it says JSON"));
    let written = std::fs::read_to_string(&log).expect("it writes down what happens");
    std::fs::remove_file(&log).expect("the log can be removed");
    (said.collect(), written.lines().map(str::to_owned).collect())
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn violations(log: &[String]) -> usize {
    log.iter()
        .filter(|line| line.starts_with("violation"))
        .count()
}

#[test]
fn it_speaks_without_a_handshake_to_whoever_says_who_asks() {
    let (said, log) = said(
        json!({ "era": "modern", "tools": [{ "name": "one" }] }),
        &[
            json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta() } }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": { "_meta": meta() } }),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {} }),
            json!({ "jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {},
            } }),
        ],
    );
    assert_eq!(
        said[0]["result"]["supportedVersions"],
        json!(["2026-07-28"])
    );
    assert_eq!(said[1]["result"]["tools"], json!([{ "name": "one" }]));
    assert_eq!(said[1]["result"]["resultType"], "complete");
    assert_eq!(said[2]["error"]["code"], -32602);
    assert_eq!(said[3]["error"]["code"], -32601);
    assert_eq!(violations(&log), 1, "{log:?}");
}

#[test]
fn it_speaks_after_a_handshake_and_not_before() {
    let hello = json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {},
    } });
    let (said, log) = said(
        json!({ "era": "legacy", "version": "2025-03-26", "many": 3, "page": 2 }),
        &[
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }),
            hello,
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }),
            json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": { "cursor": "2" } }),
        ],
    );
    assert_eq!(said[0]["error"]["code"], -32602);
    assert_eq!(said[1]["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(said[2]["result"]["tools"].as_array().map(Vec::len), Some(2));
    assert_eq!(said[2]["result"]["nextCursor"], "2");
    assert_eq!(said[3]["result"]["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(said[3]["result"].get("nextCursor"), None);
    assert_eq!(violations(&log), 1, "{log:?}");
}

#[test]
fn it_writes_down_what_no_client_may_do() {
    let (_, log) = said(
        json!({ "calls": { "last": [{ "wait": true }] }, "tools": [{ "name": "last" }] }),
        &[
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "last", "_meta": meta() } }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "_meta": meta() } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } }),
        ],
    );
    assert_eq!(violations(&log), 2, "{log:?}");
}

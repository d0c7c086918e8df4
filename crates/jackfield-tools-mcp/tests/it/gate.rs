//! Somebody decides which definitions may be used: what the server sent is shown, and the word holds.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::Toolbox as _;
use jackfield_tools_mcp::{DefinitionGate, McpToolbox, Review};
use serde_json::{Value, json};

use crate::harness::{Scripted, config, run, settings, soon, through_shell, tool};

/// Refuses the tools of these names, and keeps what it was shown.
#[derive(Default)]
struct Refusing {
    names: Mutex<Vec<&'static str>>,
    shown: Mutex<Vec<Vec<Arc<Value>>>>,
}

impl DefinitionGate for Refusing {
    fn review(&self, definitions: &[Arc<Value>]) -> Review {
        let names = self.names.lock().unwrap().clone();
        assert!(!names.contains(&"!"), "it falls over");
        self.shown.lock().unwrap().push(definitions.to_vec());
        let refused: BTreeMap<Arc<str>, String> = names
            .iter()
            .map(|name| (Arc::from(*name), format!("nobody wants `{name}`")))
            .collect();
        let problems = refused.values().cloned().collect();
        Review { problems, refused }
    }
}

fn refusing(names: &[&'static str]) -> Arc<Refusing> {
    let gate = Refusing::default();
    gate.names.lock().unwrap().extend(names);
    Arc::new(gate)
}

/// The same server with somebody who decides.
fn gated(mut server: Scripted, gate: &Arc<Refusing>) -> Scripted {
    let none = McpToolbox::new(config(&json!({})), settings());
    let toolbox = std::mem::replace(&mut server.toolbox, Arc::new(none));
    let toolbox = Arc::into_inner(toolbox).unwrap();
    server.toolbox = Arc::new(toolbox.gated(Arc::clone(gate) as _));
    server
}

#[tokio::test]
async fn what_is_refused_is_neither_offered_nor_called() {
    let gate = refusing(&["b"]);
    let server = gated(
        Scripted::new(json!({ "tools": [tool("a"), tool("b")] })),
        &gate,
    );
    let failure = server.failure("b").await;
    assert_eq!(failure.disposition, Disposition::NotSent);
    assert_eq!(failure.kind, ToolFailureKind::UnknownTool);
    assert_eq!(failure.message, "nobody wants `b`");
    assert_eq!(server.names().await, ["a"]);
    assert_eq!(server.toolbox.problems(), ["nobody wants `b`"]);
    server.result("a", json!({})).await;
    assert_eq!(server.count("call b"), 0);
    server.kept();
}

#[tokio::test]
async fn what_was_refused_is_looked_at_again_with_the_next_list() {
    let gate = refusing(&["b"]);
    let script = json!({ "tools": [tool("a"), tool("b")], "list_changed": true });
    let server = gated(Scripted::new(script), &gate);
    assert_eq!(server.names().await, ["a"]);
    gate.names.lock().unwrap().clear();
    assert_eq!(server.names().await, ["a", "b"]);
    assert!(server.toolbox.problems().is_empty());
    server.result("b", json!({})).await;
    let looks = gate.shown.lock().unwrap().len();
    assert_eq!(server.names().await, ["a", "b"]);
    assert_eq!(gate.shown.lock().unwrap().len(), looks, "it is settled");
}

#[tokio::test]
async fn a_definition_is_shown_as_the_server_sent_it_whoever_is_trusted() {
    let all = json!({
        "name": "a",
        "title": "",
        "description": "Does it.",
        "inputSchema": { "properties": {} },
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true, "title": "A", "x": [1] },
    });
    let mut sent = all.clone();
    sent["icons"] = json!([]);
    for trusted in [false, true] {
        let gate = refusing(&[]);
        let script = json!({ "tools": [sent, { "name": "b" }] });
        let server = Scripted::with(script, |config, _| config.trusted = trusted);
        let server = gated(server, &gate);
        server.list().await;
        let shown = gate.shown.lock().unwrap().clone();
        assert_eq!(
            shown,
            [[Arc::new(all.clone()), Arc::new(json!({ "name": "b" }))]]
        );
        assert_eq!(server.toolbox.remembered().unwrap().definitions, shown[0]);
    }
}

#[tokio::test]
async fn what_is_remembered_is_looked_at_before_it_is_offered() {
    let script = json!({ "tools": [tool("a"), tool("b")] });
    let before = Scripted::new(script.clone());
    before.list().await;
    let remembered = before.toolbox.remembered().unwrap();
    let gate = refusing(&["a"]);
    let after = McpToolbox::new(config(&script), settings());
    let after = after.remembering(remembered).gated(Arc::clone(&gate) as _);
    let tools = soon(after.list()).await.unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(after.problems(), ["nobody wants `a`"]);
    let failure = soon(after.call(&run("a", json!({})), &CallContext::default(), &mut ())).await;
    let failure = failure.unwrap_err().failure;
    assert_eq!(failure.disposition, Disposition::NotSent);
}

#[tokio::test]
async fn whoever_falls_over_while_looking_lets_nothing_pass() {
    let gate = refusing(&["!"]);
    let server = gated(Scripted::new(json!({ "tools": [tool("a")] })), &gate);
    assert!(server.names().await.is_empty());
    let failure = server.failure("a").await;
    assert_eq!(failure.disposition, Disposition::NotSent);
    assert_eq!(server.toolbox.problems().len(), 1);
    assert_eq!(server.count("call"), 0);
}

#[tokio::test]
async fn what_cannot_be_looked_at_is_not_called() {
    let gate = refusing(&[]);
    let server = Scripted::with(json!({ "tools": [tool("a")] }), |config, settings| {
        settings.list_limit = Duration::from_millis(300);
        // It says that it has tools, and does not list them.
        through_shell(config, "grep --line-buffered -v tools/list | \"$0\" \"$1\"");
    });
    let server = gated(server, &gate);
    let failure = server.failure("a").await;
    assert_eq!(failure.disposition, Disposition::NotSent);
    assert_eq!(failure.kind, ToolFailureKind::Unavailable);
    assert!(
        failure.message.contains("did not list its tools"),
        "{failure:?}"
    );
    assert_eq!(server.count("call"), 0);
}

#[tokio::test]
async fn there_is_nothing_new_to_remember_after_a_call() {
    let script = json!({ "tools": [tool("a")], "calls": { "a": [{ "text": "done" }] } });
    let server = Scripted::new(script);
    assert_eq!(server.toolbox.times_listed(), 0);
    server.list().await;
    assert_eq!(server.toolbox.times_listed(), 1);
    for _ in 0..2 {
        soon(
            server
                .toolbox
                .call(&run("a", json!({})), &CallContext::default(), &mut ()),
        )
        .await
        .unwrap();
        assert_eq!(server.toolbox.times_listed(), 1);
    }
    server.list().await;
    assert_eq!(server.toolbox.times_listed(), 2);
}

#[tokio::test]
async fn what_is_remembered_is_what_was_sent() {
    let script = json!({ "tools": [{
        "name": "a",
        "title": "A",
        "description": "Does it.",
        "inputSchema": { "required": [] },
        "outputSchema": { "type": "object" },
        "annotations": { "title": "Other", "readOnlyHint": true },
        "_meta": { "jackfield/icon": "🧮", "other": 1 },
    }] });
    let before = Scripted::new(script.clone());
    before.list().await;
    let remembered = before.toolbox.remembered().unwrap();
    let after = McpToolbox::new(config(&script), settings()).remembering(remembered.clone());
    assert_eq!(after.remembered(), Some(remembered));
}

//! Both eras of the protocol, and how a server's own is found.

use std::time::Duration;

use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::Toolbox as _;
use jackfield_tools_mcp::{Era, McpToolbox, ServerState};
use serde_json::{Value, json};

use crate::harness::{Scripted, config, script, settings, soon, through_shell};

fn with(mut script: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        script[key] = value.clone();
    }
    script
}

fn greeting(more: &Value) -> Value {
    with(script("greet", &json!([{ "text": "hello" }])), more)
}

#[track_caller]
fn era(server: &Scripted) -> (Era, String) {
    match server.toolbox.state() {
        ServerState::Ready { era, protocol, .. } => (era, protocol),
        other @ (ServerState::Failed { .. } | ServerState::Starting | ServerState::Stopped) => {
            panic!("{other:?}")
        }
    }
}

async fn met(more: Value) -> (Scripted, Era, String) {
    let server = Scripted::new(greeting(&more));
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    server.kept();
    let (era, protocol) = era(&server);
    (server, era, protocol)
}

#[tokio::test]
async fn a_new_server_is_spoken_to_without_a_handshake() {
    let (server, era, protocol) = met(json!({ "era": "modern" })).await;
    assert_eq!((era, &*protocol), (Era::Stateless, "2026-07-28"));
    assert_eq!(server.count("said initialize"), 0);
}

#[tokio::test]
async fn an_old_server_is_greeted_in_each_of_its_revisions() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (server, era, protocol) = met(json!({ "era": "legacy", "version": version })).await;
        assert_eq!((era, &*protocol), (Era::Handshake, version));
        assert_eq!(server.count("said notifications/initialized"), 1);
    }
}

#[tokio::test]
async fn a_server_that_knows_both_ways_is_spoken_to_in_the_new_one() {
    let (_, era, _) = met(json!({})).await;
    assert_eq!(era, Era::Stateless);
}

#[tokio::test]
async fn a_server_that_dies_of_the_probe_is_started_again_without_it() {
    let (server, era, _) = met(json!({ "era": "legacy", "probe": "die" })).await;
    assert_eq!(era, Era::Handshake);
    assert_eq!(server.count("start"), 2);
}

#[tokio::test]
async fn a_server_that_dies_of_the_probe_may_be_slow_to_start() {
    let script = greeting(&json!({ "era": "legacy", "probe": "die" }));
    let server = Scripted::with(script, |config, settings| {
        settings.probe = Duration::from_millis(1);
        through_shell(config, "sleep 0.3; exec \"$0\" \"$1\"");
    });
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    assert_eq!(server.count("start"), 2);
}

#[tokio::test]
async fn a_silent_old_server_costs_its_probe_once() {
    let script = greeting(&json!({ "era": "legacy", "probe": "silent" }));
    let first = Scripted::new(script.clone());
    first.list().await;
    let remembered = first.toolbox.remembered().unwrap();
    assert_eq!(remembered.era, Era::Handshake);

    let mut settings = settings();
    settings.probe = Duration::from_secs(3600);
    let again = McpToolbox::new(config(&script), settings).remembering(remembered);
    soon(again.start()).await.unwrap();
}

#[tokio::test]
async fn an_answer_to_the_probe_counts_when_it_comes_late() {
    // The probe is over long before such a server listens.
    let server = Scripted::with(greeting(&json!({ "era": "modern" })), |config, settings| {
        settings.probe = Duration::from_millis(1);
        through_shell(config, "sleep 0.3; exec \"$0\" \"$1\"");
    });
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    assert_eq!(era(&server).0, Era::Stateless);
    assert_eq!(server.count("said initialize"), 1);
}

#[tokio::test]
async fn a_server_that_was_replaced_by_a_new_one_is_met_all_the_same() {
    let old = Scripted::new(greeting(&json!({ "era": "legacy" })));
    old.list().await;
    let remembered = old.toolbox.remembered().unwrap();
    let script = greeting(&json!({ "era": "modern" }));
    let new = McpToolbox::new(config(&script), settings()).remembering(remembered);
    soon(new.start()).await.unwrap();
    assert!(matches!(
        new.state(),
        ServerState::Ready {
            era: Era::Stateless,
            ..
        }
    ));
}

#[tokio::test]
async fn a_revision_that_nobody_knows_is_named() {
    let server = Scripted::new(json!({ "era": "legacy", "version": "1999-01-01" }));
    let fault = soon(server.toolbox.start()).await.unwrap_err();
    assert!(fault.reason.contains("1999-01-01"), "{fault}");
}

#[tokio::test]
async fn remembered_tools_are_offered_and_the_first_call_starts_the_server() {
    let script = greeting(&json!({}));
    let before = Scripted::new(script.clone());
    let tools = before.list().await;
    let remembered = before.toolbox.remembered().unwrap();

    let after = McpToolbox::new(config(&script), settings()).remembering(remembered);
    assert_eq!(soon(after.list()).await.unwrap(), tools);
    assert_eq!(after.state(), ServerState::Stopped);
    let run = crate::harness::run("greet", json!({}));
    soon(after.call(&run, &CallContext::default(), &mut ()))
        .await
        .unwrap();
    assert!(matches!(after.state(), ServerState::Ready { .. }));
}

#[tokio::test]
async fn servers_start_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let begun = folder.path().join("begun");
    // Each goes on when all of them have begun.
    let line = format!(
        "echo begun >> {begun}; while [ $(wc -l < {begun}) -lt 8 ]; do sleep 0.05; done; exec \"$0\" \"$1\"",
        begun = begun.display()
    );
    let slow = || {
        Scripted::with(greeting(&json!({})), |config, _| {
            through_shell(config, &line);
        })
    };
    let servers: Vec<_> = (0..8).map(|_| slow()).collect();
    let mut starts = tokio::task::JoinSet::new();
    for server in &servers {
        let toolbox = std::sync::Arc::clone(&server.toolbox);
        starts.spawn(async move { toolbox.start().await });
    }
    while let Some(started) = starts.join_next().await {
        started.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_picture_of_a_server_has_its_bytes_with_it() {
    let png = "data:image/png;base64,iVBORw0KGgo=";
    let long = format!("data:image/png;base64,{}", "A".repeat(16 << 10));
    let svg = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E";
    for era in ["legacy", "modern"] {
        for (sources, shown) in [
            (
                vec!["https://example.com/a.png", &long, png, svg],
                Some(png),
            ),
            (vec![svg], Some(svg)),
            (
                vec![
                    "data:text/html,a",
                    "data:image/gif;base64,R0lG",
                    "data:image/pngx,a",
                ],
                None,
            ),
            (
                vec![
                    "javascript:alert(1)",
                    "data:image/png",
                    "DATA:image/png,a",
                    "",
                ],
                None,
            ),
            (vec!["data:image/png,\u{202e}", "data:image/png,\n"], None),
            (vec![], None),
        ] {
            let icons: Vec<_> = sources.iter().map(|src| json!({ "src": src })).collect();
            let server = Scripted::new(greeting(&json!({ "era": era, "icons": icons })));
            let listed = server.list().await;
            let ServerState::Ready { icon, name, .. } = server.toolbox.state() else {
                panic!("it is not ready");
            };
            assert_eq!(
                (icon.as_deref(), name.as_deref()),
                (shown, Some("scripted-mcp 1.0"))
            );
            // It is no part of what a model, a pin or the journal gets.
            assert!(!format!("{listed:?}").contains("data:image"));
            let remembered = server.toolbox.remembered().expect("it ran");
            assert!(!format!("{remembered:?}").contains("data:image"));
        }
    }
}

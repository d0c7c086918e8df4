//! Watches of resources, in both eras and over both transports.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_ports::context_source::{
    ContextChange, ContextChanges, ContextErrorKind, ContextSource as _,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::harness::{Scripted, soon, tool};

/// Passes changes on to the test.
pub(crate) struct ChangeSender(pub(crate) mpsc::UnboundedSender<ContextChange>);

#[async_trait]
impl ContextChanges for ChangeSender {
    async fn changed(&mut self, change: ContextChange) {
        self.0.send(change).unwrap();
    }
}

/// A server that announces this when its tool `change` is called.
fn announcing(era: &str, announcements: &[(&str, Value)]) -> Value {
    let steps = announcements.iter().map(|(method, params)| {
        let method = format!("notifications/{method}");
        json!({ "announce": { "method": method, "params": params } })
    });
    json!({
        "era": era,
        "http": { "listens": true },
        "tools": [tool("change"), tool("die")],
        "calls": { "change": steps.collect::<Vec<_>>(), "die": [{ "die": 1 }] },
        "resources": [{ "uri": "note://a", "name": "a" }],
        "subscribe": true,
    })
}

fn servers(script: impl Fn(&str) -> Value) -> Vec<(String, Scripted)> {
    let eras = ["legacy", "modern"].into_iter();
    let both = eras.flat_map(|era| {
        [
            (format!("{era} over pipes"), Scripted::new(script(era))),
            (format!("{era} over HTTP"), Scripted::over_http(script(era))),
        ]
    });
    both.collect()
}

fn updated(uri: &str) -> (&'static str, Value) {
    ("resources/updated", json!({ "uri": uri }))
}

fn resource(uri: &str) -> ContextChange {
    ContextChange::Resource(uri.into())
}

/// Why a watch of these resources does not begin.
async fn refusal(server: &Scripted, uris: &[Arc<str>]) -> (ContextErrorKind, String) {
    let (sender, _changes) = mpsc::unbounded_channel();
    let ended = soon(server.toolbox.watch(uris, &mut ChangeSender(sender))).await;
    (ended.kind, ended.message)
}

#[tokio::test]
async fn a_watch_reports_its_resources_with_their_parts_and_the_lists() {
    let announced = [
        updated("note://b"),
        updated("note://a"),
        updated("note://a/part"),
        updated("note://another"),
        ("resources/list_changed", json!({})),
        ("prompts/list_changed", json!({})),
    ];
    for (name, server) in servers(|era| announcing(era, &announced)) {
        let (sender, mut changes) = mpsc::unbounded_channel();
        let (uris, mut sink) = (["note://a".into()], ChangeSender(sender));
        let watching = server.toolbox.watch(&uris, &mut sink);
        let reported = async {
            assert_eq!(
                changes.recv().await,
                Some(ContextChange::Watching),
                "{name}"
            );
            server.result("change", json!({})).await;
            let mut reported = Vec::new();
            while reported.last() != Some(&ContextChange::Prompts) {
                reported.push(changes.recv().await.unwrap());
            }
            reported
        };
        let reported = soon(async {
            tokio::select! {
                ended = watching => panic!("{name}: {ended}"),
                reported = reported => reported,
            }
        });
        let wanted = [
            resource("note://a"),
            resource("note://a"),
            ContextChange::Resources,
            ContextChange::Prompts,
        ];
        assert_eq!(reported.await, wanted, "{name}");
        server.kept();
    }
}

#[tokio::test]
async fn a_watch_ends_with_its_server_and_begins_again_with_the_next_one() {
    let servers = servers(|era| announcing(era, &[updated("note://a")]));
    // Over HTTP, the server goes on without the connection.
    let servers = servers
        .into_iter()
        .filter(|(_, server)| server.http.is_none());
    for (name, server) in servers {
        for _ in 0..2 {
            let (sender, mut changes) = mpsc::unbounded_channel();
            let (uris, mut sink) = (["note://a".into()], ChangeSender(sender));
            let mut watching = pin!(server.toolbox.watch(&uris, &mut sink));
            let dying = async {
                assert_eq!(
                    changes.recv().await,
                    Some(ContextChange::Watching),
                    "{name}"
                );
                server.failure("die").await;
            };
            let dying = async {
                tokio::select! {
                    ended = &mut watching => ended,
                    () = dying => watching.await,
                }
            };
            let ended = soon(dying).await;
            assert_eq!(ended.kind, ContextErrorKind::Unavailable, "{name}: {ended}");
            assert!(ended.message.contains("code 1"), "{name}: {ended}");
        }
    }
}

#[tokio::test]
async fn the_last_of_several_watches_ends_the_subscription() {
    for (name, server) in servers(|era| announcing(era, &[updated("note://a")])) {
        let uris = ["note://a".into()];
        let (sender, mut changes) = mpsc::unbounded_channel();
        let mut first_sink = ChangeSender(sender.clone());
        let mut second_sink = ChangeSender(sender);
        let mut first = Box::pin(server.toolbox.watch(&uris, &mut first_sink));
        let begun = async {
            tokio::select! {
                ended = &mut first => panic!("{name}: {ended}"),
                change = changes.recv() => change,
            }
        };
        assert_eq!(soon(begun).await, Some(ContextChange::Watching), "{name}");
        let mut second = Box::pin(server.toolbox.watch(&uris, &mut second_sink));
        let begun = async {
            tokio::select! {
                ended = &mut second => panic!("{name}: {ended}"),
                change = changes.recv() => change,
            }
        };
        assert_eq!(soon(begun).await, Some(ContextChange::Watching), "{name}");
        drop(first);
        // The second one still has the subscription.
        let reported = async {
            server.result("change", json!({})).await;
            tokio::select! {
                ended = &mut second => panic!("{name}: {ended}"),
                change = changes.recv() => change,
            }
        };
        assert_eq!(soon(reported).await, Some(resource("note://a")), "{name}");
        drop(second);
        if name.starts_with("legacy") {
            server.until("resources/unsubscribe \"note://a\"", 1).await;
            let requests = ["resources/subscribe", "resources/unsubscribe"];
            assert_eq!(requests.map(|begin| server.count(begin)), [1, 1], "{name}");
        } else if server.http.is_none() {
            server.until("said notifications/cancelled", 2).await;
        }
        server.kept();
    }
}

#[tokio::test]
async fn a_server_that_announces_nothing_is_named() {
    let silent = |era: &str| {
        let mut script = announcing(era, &[]);
        script["subscribe"] = json!(false);
        script
    };
    for (name, server) in servers(silent) {
        let refused = refusal(&server, &["note://a".into()]).await;
        let message = "the server `scripted`: it announces no changes of resources";
        assert_eq!(
            refused,
            (ContextErrorKind::Unsupported, message.to_owned()),
            "{name}"
        );
        let refused = refusal(&server, &[]).await;
        let message = "the server `scripted`: it announces no changes of its lists";
        assert_eq!(
            refused,
            (ContextErrorKind::Unsupported, message.to_owned()),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_subscription_that_a_server_does_not_take_is_named() {
    let refusing = |era: &str| {
        let mut script = announcing(era, &[]);
        script["no_subscriptions"] = json!(true);
        script
    };
    for (name, server) in servers(refusing) {
        let (kind, message) = refusal(&server, &["note://a".into()]).await;
        let wanted = match name.starts_with("legacy") {
            true => (
                ContextErrorKind::InvalidArguments,
                "the server `scripted`: it refuses: no such resource (-32602)",
            ),
            false => (
                ContextErrorKind::Unsupported,
                "the server `scripted`: it announces no changes of `note://a`",
            ),
        };
        assert_eq!((kind, &*message), wanted, "{name}");
    }
}

#[tokio::test]
async fn a_server_of_the_older_era_without_a_stream_is_named() {
    let mut script = announcing("legacy", &[]);
    script["http"]["listens"] = json!(false);
    let server = Scripted::over_http(script);
    let refused = refusal(&server, &["note://a".into()]).await;
    let message = "the server `scripted`: it opens no stream for announcements";
    assert_eq!(refused, (ContextErrorKind::Unsupported, message.to_owned()));
    assert_eq!(server.count("resources/subscribe"), 0);
}

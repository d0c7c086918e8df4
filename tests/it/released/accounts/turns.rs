//! Turns that a released version left open, at a gateway of today: taken up, or waiting as before.

use std::time::Duration;

use serde_json::{Value, json};

use super::world::{MODEL, World};
use super::{AccountsJournal, maker, secrets};
use crate::harness::Gateway;

/// A client of a gateway.
struct TurnClient<'a> {
    gateway: &'a Gateway,
    secret: &'a str,
}

/// What was at work is taken up, what waits goes on with its answer, and each is its user's alone.
pub(crate) async fn turns_go_on(journal: &AccountsJournal, text: &str) {
    let (world, secrets) = (World::new(None).await, secrets(text));
    let keys = world.done(journal, &["keys", "list", "--user", "ann", "--json"], "");
    let keys: Value = serde_json::from_str(&keys.await.out).expect("JSON");
    let mut keys = keys.as_array().expect("a list").iter();
    let tight = keys.find(|key| key["label"] == "ann-tight");
    let tight = tight.expect("the key")["id"].as_str().expect("an id");
    // Where its month is over, it has room without this.
    let raise = ["keys", "limit", tight, "--tokens-per-month", "1000000"];
    world.done(journal, &raise, "").await;

    let gateway = world.gateway(journal).await;
    let client = |name: &str| TurnClient {
        gateway: &gateway,
        secret: &secrets[name],
    };
    let (ann, carl) = (client("ann-laptop"), client("carl"));
    let stalled = carl.turn("Stall.").await;
    carl.ends(&stalled, "It was worth the wait.").await;
    let tight = ann.turn("Weather, at little cost?").await;
    ann.ends(&tight, "It rains.").await;

    let asked = ann.turn("What is 2 * 21?").await;
    let waiting = ann.get(&asked).await;
    assert_eq!(waiting["status"], "waiting", "{waiting}");
    carl.gets(&asked).await.is(404);
    client("root").get(&asked).await;
    let open = ann.get("/api/v1/approvals").await;
    let open = open["approvals"].as_array().expect("a list");
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["tool"], "calculator", "{open:?}");
    let id = open[0]["id"].as_str().expect("an id");
    let allow = format!("/api/v1/approvals/{id}/allow");
    gateway
        .api(ann.secret, "POST", &allow, json!({}))
        .await
        .is(200);
    ann.ends(&asked, "It is 42.").await;

    let asked = ann.turn("Ask my side.").await;
    let waiting = ann.get(&asked).await;
    assert_eq!(waiting["status"], "waiting", "{waiting}");
    let call = &waiting["waits"][0]["call"];
    let given = json!({ "results": [{ "call": call, "text": "done by the client" }] });
    let results = format!("{asked}/results");
    gateway
        .api(ann.secret, "POST", &results, given)
        .await
        .is(200);
    ann.ends(&asked, "Thank you.").await;

    let dan = client("dan");
    let first = dan.turn(maker::TITLE).await;
    let (turns, _) = first.rsplit_once('/').expect("a path");
    let next = json!({ "message": "And now?", "model": MODEL, "server_tools": [] });
    let next = gateway.api(dan.secret, "POST", turns, next).await.is(200);
    assert_eq!(next["answer"], "Thank you.", "{next}");
    let sent = world.claude.requests();
    let sent = sent.last().expect("a request").to_string();
    assert!(sent.contains(&maker::long()), "{sent}");
    world.end(gateway).await;
}

impl TurnClient<'_> {
    async fn gets(&self, path: &str) -> crate::harness::Answer {
        self.gateway.api(self.secret, "GET", path, json!({})).await
    }

    async fn get(&self, path: &str) -> Value {
        self.gets(path).await.is(200)
    }

    /// The path of the only turn of the session with this title.
    async fn turn(&self, title: &str) -> String {
        let listed = self.get("/api/v1/sessions").await;
        let mut rows = listed["sessions"].as_array().expect("a list").iter();
        let row = rows.find(|row| row["title"] == title);
        let row = row.unwrap_or_else(|| panic!("no {title:?}: {listed}"));
        let session = format!("/api/v1/sessions/{}", row["id"].as_str().expect("an id"));
        let turns = self.get(&format!("{session}/turns")).await;
        let id = turns["turns"][0]["id"].as_str().expect("an id");
        format!("{session}/turns/{id}")
    }

    /// Waits until the turn has ended, with this answer.
    async fn ends(&self, path: &str, answer: &str) {
        let ended = tokio::time::timeout(TIME_LIMIT, async {
            loop {
                let turn = self.get(path).await;
                if turn["status"] == "ended" {
                    return turn;
                }
                tokio::task::yield_now().await;
            }
        });
        let turn = ended.await.expect("the turn ends");
        assert_eq!(turn["answer"], answer, "{turn}");
    }
}

/// How long a turn may take: another process may own it for a while.
const TIME_LIMIT: Duration = Duration::from_secs(60);

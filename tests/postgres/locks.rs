//! A table that is locked for a minute under two gateways, as by `VACUUM FULL` or a migration.

use std::time::{Duration, Instant};

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptRequest, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Gateway, McpServer, kept};
use crate::outages::{LIMIT, LOCK};
use crate::world::Database;

/// Pays the bill that the question names, once.
fn answer(asked: &ScriptRequest<'_>) -> Option<ScriptTurn> {
    let messages = asked.body["messages"].as_array()?;
    if messages.len() > 1 {
        return Some(ScriptTurn::text("It is settled."));
    }
    let question = messages.first()?["content"].to_string();
    let nth = question.chars().find(char::is_ascii_digit)?;
    Some(ScriptTurn::call(
        "bank__pay",
        &json!({ "nth": nth.to_string() }),
    ))
}

/// The gateways have no more connections than they may, their turns end after the lock, and nothing is paid twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_a_minute_costs_neither_connections_nor_a_second_payment() {
    let database = Database::new("locked");
    let folder = tempfile::tempdir().expect("a folder");
    let effects = folder.path().join("effects");
    let pay = json!({
        "name": "pay", "description": "Pays.", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": false, "idempotentHint": false },
    });
    let bank = McpServer::new(json!({
        "tools": [pay], "calls": { "pay": [{ "sleep": 1_500 }] }, "effects": effects,
    }));
    let claude = ScriptedClaude::start(Script::by(answer)).await;
    let more = format!(
        "[policy.tools]\n\"bank/*\" = \"allow\"\n[journal]\nlease = \"2s\"\nconnections = {CONNECTIONS}\n"
    );
    let start = async || {
        let serve = database.gateway().at_with(&claude.base_url(), &more);
        Gateway::listening(serve.servers([("bank", bank.trusted())]).start()).await
    };
    let gateways = [start().await, start().await];
    let mut sessions = Vec::new();
    for nth in 0..BILLS {
        let gateway = &gateways[nth % 2];
        let made = gateway.raw("POST", "/api/v1/sessions").answered().await;
        let id = made.is(201)["id"].as_str().expect("an id").to_owned();
        let session = format!("/api/v1/sessions/{id}");
        let body = json!({ "message": format!("Pay bill {nth}."), "mode": "background" });
        let begun = gateway.post(&format!("{session}/turns"), &body);
        begun.answered().await.is(202);
        sessions.push(session);
    }
    let paid = || {
        let effects = std::fs::read_to_string(&effects).unwrap_or_default();
        let lines = effects
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        lines.collect::<Vec<Value>>()
    };
    let began = Instant::now();
    while paid().len() < BILLS {
        assert!(began.elapsed() < LIMIT, "only {:?} are paid", paid());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let locked = database.clone();
    let locking = std::thread::spawn(move || locked.inside(LOCK));
    let mut most = 0;
    let mut asking = tokio::task::JoinSet::new();
    while !locking.is_finished() {
        for (nth, gateway) in gateways.iter().enumerate() {
            let (made, read) = (
                gateway.raw("POST", "/api/v1/sessions"),
                gateway.get(&sessions[nth]),
            );
            // One of two clients loses patience.
            asking.spawn(async move { drop(made.answered().await) });
            asking.spawn(async move {
                let patience = Duration::from_millis(20);
                drop(tokio::time::timeout(patience, read.answered()).await);
            });
        }
        let has = database.inside(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
               AND backend_type = 'client backend'",
        );
        most = most.max(has.trim().parse::<usize>().expect("a number"));
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    locking.join().expect("it was locked");
    // Beside them one for the lease and one for notifications of each gateway, and the lock's own.
    assert!(most <= 2 * (CONNECTIONS + 2) + 1, "{most} connections");
    while asking.join_next().await.is_some() {}
    for session in &sessions {
        let told = gateways[1].get(&format!("{session}/events?until=rest"));
        let told = told.answered().await;
        assert!(told.body.contains("It is settled."), "{}", told.body);
    }
    let mut bills: Vec<String> = paid()
        .iter()
        .map(|effect| effect["arguments"]["nth"].to_string())
        .collect();
    bills.sort();
    bills.dedup();
    assert_eq!((paid().len(), bills.len()), (BILLS, BILLS));
    kept(&claude);
    for gateway in gateways {
        gateway.end().await;
    }
}

/// How many turns pay one.
const BILLS: usize = 6;
const CONNECTIONS: usize = 4;

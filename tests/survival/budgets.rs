//! The gateway is killed while a call is reserved and settled: what it used is counted once, and the counters are what
//! the records say.

use serde_json::{Value, json};

use crate::served::{Asking, Gateway};
use crate::world::World;

#[tokio::test]
async fn killed_in_reservation_and_settlement_the_gateway_counts_each_call_once() {
    for (place, nth) in PLACES {
        let world = World::serving("").await;
        let secret = key(&world).await;
        let ask = || {
            let body = json!({
                "model": "claude/claude-sonnet-5", "max_tokens": 1000,
                "messages": [{ "role": "user", "content": "Pay the three bills." }],
            });
            let asking = Asking::post("/v1/messages", &body).header("x-api-key", &secret);
            let asking = asking.header("anthropic-version", "2023-06-01");
            let asking = asking.header("idempotency-key", "bills");
            asking.header("x-jackfield-tools", "all")
        };
        let crash = format!("{place}:{nth}");
        let mut first = started(&world, Some(&crash)).await;
        first.ask(&ask(), None).await;
        assert!(first.has_died().await, "{crash}: it was not killed");
        first.end().await;
        let mut second = started(&world, None).await;
        let answer = second.ask(&ask(), None).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.contains(" 200 OK"), "{crash}: {answer}");
        second.end().await;
        let report = told(&world, &["usage", "--verify", "--json"]).await;
        let [check] = report["budgets"].as_array().expect("a list").as_slice() else {
            panic!("{crash}: {report:#}");
        };
        assert_eq!(check["equal"], true, "{crash}: {check:#}");
        assert_eq!(check["reservations"], 0, "{crash}: {check:#}");
        // Facts and budgets know the same calls: none is missing, and none counts twice.
        let usage = told(&world, &["usage", "--json"]).await;
        let number = |name: &str| usage["total"][name].as_u64().expect("a number");
        let tokens = number("input_tokens") + number("output_tokens");
        let counted = check["counted"]["day"]["tokens"].as_u64();
        let counted = counted.expect("a number");
        if place == "after-settle" {
            // The record has what the provider counted, and the fact of the lost call an estimate, which is larger here.
            assert!(
                (1..tokens).contains(&counted),
                "{crash}: {counted} of {tokens}"
            );
        } else {
            assert_eq!(counted, tokens, "{crash}");
        }
    }
}

/// The secret of a key with a budget.
async fn key(world: &World) -> String {
    printed(world, &["users", "add", "ann"]).await;
    let create = [
        "keys",
        "create",
        "ann",
        "--json",
        "--tokens-per-day",
        "1000000",
    ];
    let made = told(world, &create).await;
    made["secret"].as_str().expect("text").to_owned()
}

/// The document that the program prints.
async fn told(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_slice(&printed(world, arguments).await).expect("JSON")
}

/// What the program prints.
async fn printed(world: &World, arguments: &[&str]) -> Vec<u8> {
    let mut program = world.program(arguments, None);
    let ran = program.env("JACKFIELD_DB", world.database()).output();
    let ran = ran.await.expect("the program runs");
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{arguments:?}: {err}");
    ran.stdout
}

async fn started(world: &World, crash: Option<&str>) -> Gateway {
    match Gateway::start(world, crash).await {
        Ok(gateway) => gateway,
        Err(life) => panic!("{life:?}"),
    }
}

/// The places, in the first round and in a later one.
const PLACES: [(&str, u64); 6] = [
    ("reserved", 1),
    ("reserved", 2),
    ("before-settle", 1),
    ("before-settle", 2),
    ("after-settle", 1),
    ("after-settle", 2),
];

//! Budgets of keys, users and teams, with real processes: what is left, what is refused, and what a kill leaves.

use std::time::Duration;

use jackfield_domain::usage::Usage;
use jackfield_testkit::server::{Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::{Answer, Gateway, Kept, early_in_a_day};

/// The price of the model of these slices.
const PRICE: &str = "[prices.\"claude/claude-opus-5-5\"]\ninput = 1\noutput = 10\ndate = \"2026-11-01\"\nsource = \"a test\"\n";

/// A key of Ann, with these limits; its id and its secret.
async fn key(files: &Kept, limits: &[&str]) -> (String, String) {
    early_in_a_day().await;
    files.done(&["users", "add", "ann"]).await;
    files.key(&[&["ann"], limits].concat()).await
}

/// What `usage --verify` says of the only budget, which has to be equal.
async fn verified(files: &Kept) -> Value {
    let ran = files.done(&["usage", "--verify", "--json"]).await;
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let [check] = report["budgets"].as_array().expect("a list").as_slice() else {
        panic!("{report:#}");
    };
    assert_eq!(check["equal"], true, "{check:#}");
    check.clone()
}

#[tokio::test]
async fn two_gateways_share_the_tokens_of_a_minute_and_say_what_is_left() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").again()]).await;
    let (_, secret) = key(&files, &["--tokens-per-minute", "100"]).await;
    let mut gateways = Vec::new();
    for _ in 0..2 {
        let running = files.gateway().at(&claude.base_url()).start();
        gateways.push(Gateway::listening(running).await);
    }
    let ask = async |gateway: &Gateway, path: &str| {
        let body = json!({
            "model": "claude/claude-opus-4-8",
            "max_tokens": 100,
            "messages": [{ "role": "user", "content": "hi" }],
        });
        let asking = gateway.post(path, &body).header("x-api-key", &secret);
        asking.answered().await
    };
    let first = ask(&gateways[0], "/v1/chat/completions").await;
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(first.header("x-ratelimit-limit-tokens"), "100");
    assert_eq!(first.header("x-ratelimit-remaining-tokens"), "100");
    assert!(
        !first.headers.contains_key("x-jackfield-budget"),
        "{first:?}"
    );
    // The turn used 120.
    let second = ask(&gateways[1], "/v1/messages").await;
    assert_eq!(second.is(429)["error"]["type"], "rate_limit_error");
    let wait: u64 = second.header("retry-after").parse().expect("seconds");
    assert!((1..=120).contains(&wait), "{wait}");
    for gateway in gateways {
        gateway.end().await;
    }
    assert_eq!(claude.requests().len(), 1);
}

#[tokio::test]
async fn requests_that_are_passed_through_count_and_are_refused_by_the_budget() {
    let (files, openai) = (Kept::new(), TestServer::start().await);
    let (id, secret) = key(&files, &["--tokens-per-day", "12"]).await;
    let config = format!(
        "[serve]\nbudget_warning = 0.5\n\n[providers.openai]\nbase_url = \"{}/v1\"\n",
        openai.base_url()
    );
    let gateway = files.gateway().configured(config);
    let gateway = gateway.env("OPENAI_API_KEY", "sk-of-openai-0123").start();
    let gateway = Gateway::listening(gateway).await;
    let budget = async || {
        let seen = gateway.get("/api/v1/budgets");
        let seen = seen.header("x-api-key", &secret).answered().await.is(200);
        assert_eq!(seen["more"], false);
        assert_eq!(seen["budgets"].as_array().map(Vec::len), Some(1), "{seen}");
        seen["budgets"][0].clone()
    };
    let next = async || {
        // What the request before used is counted when its reply has ended, a moment later.
        let settled = async {
            while budget().await["reserved"] != "0" {
                tokio::task::yield_now().await;
            }
        };
        let settled = timeout(Duration::from_secs(60), settled).await;
        settled.expect("what was used is counted");
        let body = json!({ "model": "openai/gpt", "max_tokens": 1,
            "messages": [{ "role": "user", "content": "hi" }] });
        let asking = gateway.post("/v1/chat/completions", &body);
        let asking = asking.header("x-jackfield-tools", "none");
        asking.header("x-api-key", &secret).answered().await
    };
    let reply = r#"{"model":"gpt","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
    openai.answer(Response::json(200, reply));
    openai.answer(Response::json(200, reply));
    let first = next().await;
    first.is(200);
    assert_eq!(first.header("x-jackfield-path"), "passthrough");
    let left = |answer: &Answer| {
        ["", "-limit", "-remaining"].map(|part| {
            let name = format!("x-jackfield-budget{part}");
            answer.header(&name).to_owned()
        })
    };
    let name = format!("key:{id}");
    assert_eq!(left(&first), [&name, "12 tokens per day", "12 tokens"]);
    assert!(!first.headers.contains_key("x-jackfield-budget-warning"));
    // Ten of twelve are spent: the next call still begins.
    let second = next().await;
    second.is(200);
    assert_eq!(left(&second), [&name, "12 tokens per day", "2 tokens"]);
    assert_eq!(
        second.header("x-jackfield-budget-warning"),
        "83 % are spent"
    );
    let refused = next().await;
    assert_eq!(refused.is(429)["error"]["code"], "insufficient_quota");
    assert_eq!(left(&refused), [&name, "12 tokens per day", "0 tokens"]);
    assert!(refused.headers.contains_key("retry-after"), "{refused:?}");
    assert_eq!(openai.requests().len(), 2);
    let check = verified(&files).await;
    assert_eq!(check["counted"]["day"]["tokens"], 20);
    // Its owner sees it, and no check of the installation.
    let budget = budget().await;
    let ends = budget["ends"].as_str().expect("a time");
    assert!(ends.ends_with("T00:00:00.000Z"), "{ends}");
    let expected = json!({
        "of": "key", "name": id, "period": "day", "ends": ends, "unit": "tokens", "limit": "12",
        "spent": "20", "reserved": "0", "percent": 166,
    });
    assert_eq!(budget, expected);
    let checking = gateway.post("/api/v1/doctor", &json!(null));
    let checking = checking.header("x-api-key", &secret).answered().await;
    assert_eq!(checking.status, 403, "{checking:?}");
    // A raise by the command line holds while the gateway runs.
    let limit = ["keys", "limit", &id, "--tokens-per-day", "30"];
    let raised = files.done(&limit).await;
    assert!(raised.err.contains("30 tokens per day"), "{}", raised.err);
    openai.answer(Response::json(200, reply));
    next().await.is(200);
    let ended = gateway.running;
    ended.terminate();
    let ended = ended.end().await;
    assert_eq!(
        ended.err.matches("is 83 % spent").count(),
        1,
        "{}",
        ended.err
    );
    let listed = files.done(&["keys", "list"]).await;
    assert!(listed.out.contains("30 tokens per day"), "{}", listed.out);
    assert_eq!(verified(&files).await["counted"]["month"]["tokens"], 30);
}

/// The gateway dies between the reservation of a call and its settlement; the next one recovers the turn.
#[tokio::test]
async fn what_a_killed_gateway_reserved_is_settled_by_the_next_one() {
    let used = Usage {
        input: 1000,
        output: 100,
        ..Usage::default()
    };
    let claude = ScriptedClaude::start([
        ScriptTurn::text("The first try is never told to its end. ".repeat(10)).stall_after(2_000),
        ScriptTurn::text("The second one is.").using(used),
    ])
    .await;
    let files = Kept::new();
    let limits = ["--tokens-per-month", "1000000", "--cost-per-day", "10"];
    let (_, secret) = key(&files, &limits).await;
    let serve = || {
        let gateway = files.gateway();
        gateway.at_with(&claude.base_url(), PRICE).start()
    };
    let first = Gateway::listening(serve()).await;
    let asked = json!({
        "model": "claude-opus-5-5", "input": "hi", "background": true, "stream": true,
    });
    let asking = first.post("/v1/responses", &asked);
    let mut sent = asking.header("x-api-key", &secret).sent().await;
    sent.until("first").await;
    let id = sent.so_far();
    let id = id.split("\"resp_").nth(1).expect("an id");
    let id = format!("resp_{}", id.split('"').next().expect("an end"));
    first.running.kill();
    first.running.end().await;
    // The call has reserved what it may use, and is in no record.
    let check = verified(&files).await;
    assert_eq!(check["reservations"], 1);
    assert_eq!(check["counted"]["day"], Value::Null);

    let second = Gateway::listening(serve()).await;
    let path = format!("/v1/responses/{id}?stream=true");
    let whole = second.get(&path).header("x-api-key", &secret);
    let whole = whole.answered().await;
    assert!(whole.body.contains("The second one is."), "{whole:?}");
    second.end().await;
    let check = verified(&files).await;
    assert_eq!(check["reservations"], 0, "{check:#}");
    let tokens = check["counted"]["day"]["tokens"]
        .as_u64()
        .expect("a number");
    // The lost call is an estimate.
    assert!(tokens > 1100 && tokens < 2200, "{tokens}");
    // Reports have the calls of the session once.
    let usage = files.done(&["usage", "--json"]).await;
    let usage: Value = serde_json::from_str(&usage.out).expect("JSON");
    let total = &usage["total"];
    let number = |key: &str| total[key].as_u64().expect("a number");
    assert_eq!(number("input_tokens") + number("output_tokens"), tokens);
}

/// A turn of the API that runs out of budget in its middle waits; its gateway dies, the budget is raised while none runs,
/// and the next gateway goes on with the turn.
#[tokio::test]
async fn a_turn_over_budget_waits_for_a_raise() {
    let used = Usage {
        input: 1000,
        output: 100,
        ..Usage::default()
    };
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })).using(used),
        ScriptTurn::text("It is 42.").using(used),
    ])
    .await;
    let files = Kept::new();
    let (id, secret) = key(&files, &["--tokens-per-day", "1100"]).await;
    let serve = || {
        let gateway = files.gateway();
        gateway.at_with(&claude.base_url(), PRICE).start()
    };
    let first = Gateway::listening(serve()).await;
    let created = first.post("/api/v1/sessions", &json!({}));
    let created = created.header("x-api-key", &secret).answered().await;
    let session = created.is(201)["id"].as_str().expect("an id").to_owned();
    let session = format!("/api/v1/sessions/{session}");
    let asked = json!({ "message": "What is 6*7?" });
    let turn = first.post(&format!("{session}/turns"), &asked);
    let turn = turn.header("x-api-key", &secret).answered().await.is(200);
    assert_eq!(turn["status"], "waiting", "{turn:#}");
    assert_eq!(turn["waits"][0]["kind"], "budget");
    let why = turn["waits"][0]["question"].as_str().expect("words");
    let says =
        format!("the budget of the key `{id}`, 1100 tokens per day, is used up: 1100 tokens");
    assert!(why.starts_with(&says), "{why}");
    let open = first.get("/api/v1/approvals").header("x-api-key", &secret);
    let open = open.answered().await.is(200);
    assert_eq!(open["approvals"][0]["question"], why, "{open:#}");
    let listed = files.done(&["approvals", "list"]).await;
    assert!(listed.out.contains("1100 tokens per day"), "{}", listed.out);
    let path = format!("{session}/turns/{}", turn["id"].as_str().expect("an id"));
    first.running.kill();
    first.running.end().await;

    let raise = ["keys", "limit", &id, "--tokens-per-day", "10000"];
    files.done(&raise).await;
    let second = Gateway::listening(serve()).await;
    let ends = async {
        loop {
            let turn = second.get(&path);
            let turn = turn.header("x-api-key", &secret).answered().await.is(200);
            if turn["status"] == "ended" {
                return turn;
            }
            tokio::task::yield_now().await;
        }
    };
    let turn = timeout(TIME_LIMIT, ends).await.expect("the turn ends");
    assert_eq!(turn["answer"], "It is 42.", "{turn:#}");
    second.end().await;
    assert_eq!(verified(&files).await["counted"]["day"]["tokens"], 2200);
}

/// How long a turn may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

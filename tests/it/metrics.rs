//! Metrics at `/metrics`, with the real binary.

use std::collections::BTreeMap;

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{Gateway, Kept, kept};

const ON: &str = "[serve]\nmetrics = true\n";

/// A whole page of metrics: the samples by name, without those of buckets.
type Page = BTreeMap<String, f64>;

async fn page(gateway: &Gateway) -> Page {
    let answer = gateway.get("/metrics").answered().await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.header("content-type"), kind);
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let samples = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    samples
        .filter(|(name, _)| !name.contains("_bucket{"))
        .collect()
}

/// The page once it is like this.
async fn until(gateway: &Gateway, is: impl Fn(&Page) -> bool + Send + Sync) -> Page {
    let limit = std::time::Duration::from_secs(60);
    let found = tokio::time::timeout(limit, async {
        loop {
            let page = page(gateway).await;
            if is(&page) {
                return page;
            }
            tokio::task::yield_now().await;
        }
    });
    found.await.expect("the page never was like this")
}

/// The sum of the samples whose name has all of these parts.
fn sum(page: &Page, parts: &[&str]) -> f64 {
    let matching = page
        .iter()
        .filter(|(name, _)| parts.iter().all(|part| name.contains(part)));
    matching.map(|(_, value)| value).sum()
}

/// Begins a turn in a session of its own; it is over in the mode `wait`.
async fn turn(gateway: &Gateway, mode: &str) {
    let made = gateway.post("/api/v1/sessions", &json!({})).answered();
    let session = made.await.is(201)["id"].clone();
    let session = session.as_str().expect("an id");
    let path = format!("/api/v1/sessions/{session}/turns");
    let body = json!({ "message": "calculate", "mode": mode });
    let answer = gateway.post(&path, &body).answered().await;
    assert!(answer.status < 300, "{}", answer.text());
}

#[tokio::test]
async fn metrics_are_off_unless_they_are_asked_for() {
    let (files, claude) = (Kept::new(), ScriptedClaude::start([]).await);
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    gateway.get("/metrics").answered().await.is(404);
    gateway.end().await;
}

#[tokio::test]
async fn metrics_are_for_administrators() {
    let (files, claude) = (Kept::new(), ScriptedClaude::start([]).await);
    let more = format!(
        "{ON}[serve.tokens.ann]\nenv = \"ANN\"\n[serve.tokens.root]\nenv = \"ROOT\"\nadmin = true\n"
    );
    let (ann, root) = ("ann-0123456789abcdef", "root-0123456789abcdef");
    let run = files.gateway().at_with(&claude.base_url(), &more);
    let run = run.env("ANN", ann).env("ROOT", root);
    let gateway = Gateway::listening(run.start()).await;
    for (token, status) in [("", 401), (ann, 403), (root, 200)] {
        let asking = gateway.get("/metrics");
        let asking = asking.header("authorization", &format!("Bearer {token}"));
        let answer = asking.answered().await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    gateway.end().await;
}

#[tokio::test]
async fn a_turn_is_counted_with_its_failures_and_tools() {
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } });
    let claude = ScriptedClaude::start([
        ScriptTurn::status(529, &overloaded),
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    let files = Kept::new();
    let gateway = files.gateway().at_with(&claude.base_url(), ON);
    let gateway = Gateway::listening(gateway.start()).await;
    turn(&gateway, "wait").await;
    let page = until(&gateway, |page| {
        sum(page, &["invoke_agent", "_count"]) > 0.0
    })
    .await;
    let count = |parts: &[&str]| sum(&page, &[parts, &["_count"]].concat());
    let call = "gen_ai_client_operation_duration_seconds";
    assert_eq!(count(&[call, "error_type=\"overloaded\""]), 1.0);
    assert_eq!(count(&[call, "error_type=\"\""]), 2.0);
    let tool = "gen_ai_execute_tool_duration_seconds";
    let calculator = "gen_ai_tool_name=\"builtin/calculator\"";
    assert_eq!(count(&[tool, calculator, "error_type=\"\""]), 1.0);
    assert_eq!(count(&["gen_ai_invoke_agent", "end=\"answered\""]), 1.0);
    let route = "http_route=\"/api/v1/sessions/{session}/turns\"";
    assert_eq!(count(&["http_server_request", route]), 1.0, "{page:#?}");
    gateway.end().await;
    kept(&claude);
}

/// What a process had spent and not shown when it was killed is in the ledger of the next one.
#[tokio::test]
async fn the_ledger_is_the_usage_report_also_after_a_kill() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("One."),
        ScriptTurn::text("Two.").pause_after(0, &gate),
        ScriptTurn::text("Two again."),
    ])
    .await;
    let files = Kept::new();
    let price = "[prices.\"claude/claude-opus-5-5\"]\ninput = 1.25\noutput = 10\n";
    let config = format!("{ON}{price}");
    let start = || files.gateway().at_with(&claude.base_url(), &config).start();
    let first = Gateway::listening(start()).await;
    turn(&first, "wait").await;
    turn(&first, "background").await;
    gate.reached().await;
    first.running.kill();
    first.running.end().await;
    gate.open();
    let second = Gateway::listening(start()).await;
    let page = until(&second, |page| {
        sum(page, &["jackfield_resumed_turns_total"]) > 0.0
            && sum(page, &["jackfield_ledger_tokens_total"]) > 0.0
    })
    .await;
    let usage = second.get("/api/v1/usage").answered().await.is(200);
    let used = &usage["total"]["usage"];
    let tokens = |kind: &str| sum(&page, &["jackfield_ledger_tokens", &format!("\"{kind}\"")]);
    let reported = |field: &str| used[field].as_f64().expect("a number");
    let input = tokens("input_uncached") + tokens("cache_read") + tokens("cache_write");
    assert_eq!(
        (input, tokens("output")),
        (reported("input_tokens"), reported("output_tokens")),
        "{usage:#}"
    );
    assert_eq!(usage["total"]["turns"], 2, "{usage:#}");
    let cost = sum(&page, &["jackfield_ledger_cost_total", "currency=\"USD\""]);
    let amount = usage["total"]["cost"][0]["amount"]
        .as_str()
        .expect("a cost");
    assert_eq!(Ok(cost), amount.parse(), "{usage:#}");
    second.end().await;
}

/// The tokens and the cost of all ledgers that are shown.
fn shown(pages: &[&Page]) -> (f64, f64) {
    let sum = |name| pages.iter().map(|page| sum(page, &[name])).sum();
    (
        sum("jackfield_ledger_tokens_total"),
        sum("jackfield_ledger_cost_total"),
    )
}

/// The tokens and the cost that the usage report of the journal has.
async fn reported(gateway: &Gateway) -> (f64, f64) {
    let usage = gateway.get("/api/v1/usage").answered().await.is(200);
    let total = &usage["total"];
    let tokens = |field: &str| total["usage"][field].as_f64().expect("a number");
    let cost = total["cost"][0]["amount"].as_str().expect("a cost");
    let tokens = tokens("input_tokens") + tokens("output_tokens");
    (tokens, cost.parse().expect("a number"))
}

/// Of two gateways with one journal one shows the ledger: what both wrote, and what a command beside them wrote. When it
/// is killed, the other one goes on with its turn, and shows the ledger.
#[tokio::test]
async fn the_sum_over_gateways_is_the_usage_report_also_after_a_kill() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("One."),
        ScriptTurn::text("Two."),
        ScriptTurn::text("Three."),
        ScriptTurn::text("Four.").pause_after(0, &gate),
        ScriptTurn::text("Four again."),
    ])
    .await;
    let files = Kept::new();
    let price = "[prices.\"claude/claude-opus-5-5\"]\ninput = 1.25\noutput = 10\n";
    let config = format!("{ON}{price}");
    let start = || files.gateway().at_with(&claude.base_url(), &config).start();
    let first = Gateway::listening(start()).await;
    until(&first, |page| shown(&[page]).0 == 0.0).await;
    turn(&first, "wait").await;
    let own = until(&first, |page| shown(&[page]).0 > 0.0).await;
    let second = Gateway::listening(start()).await;
    turn(&second, "wait").await;
    let both = until(&first, |page| shown(&[page]).0 > shown(&[&own]).0).await;
    let ask = files.run(&["ask", "Well?"]);
    let ask = ask.at_with(&claude.base_url(), price).run().await;
    assert_eq!(ask.code, Some(0), "{}", ask.err);
    let all = until(&first, |page| shown(&[page]).0 > shown(&[&both]).0).await;
    let other = page(&second).await;
    assert_eq!(shown(&[&all, &other]), reported(&first).await);
    assert_eq!(shown(&[&other]), (0.0, 0.0));
    turn(&first, "background").await;
    gate.reached().await;
    first.running.kill();
    first.running.end().await;
    gate.open();
    let alone = until(&second, |page| {
        sum(page, &["jackfield_resumed_turns_total"]) > 0.0 && shown(&[page]).0 > shown(&[&all]).0
    })
    .await;
    assert_eq!(shown(&[&alone]), reported(&second).await);
    second.end().await;
    kept(&claude);
}

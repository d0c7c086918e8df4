//! What was used and what it cost, over runs of the real program, and who decided about what.

use std::path::Path;

use jackfield_domain::usage::Usage;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Jackfield, Ran, jackfield, kept};

/// A price at which an input token is a millionth, and everything else a multiple of that.
const PRICE: &str = "[prices.\"claude/claude-opus-5-5\"]\ninput = 1\noutput = 10\ncache_read = 0.1\n\
                     [policy.tools]\n\"builtin/*\" = \"allow\"\n";

/// The program with these arguments, before this provider, on this file.
fn run<const N: usize>(arguments: [&str; N], claude: &ScriptedClaude, home: &Path) -> Jackfield {
    jackfield(arguments)
        .at_with(&claude.base_url(), PRICE)
        .env("JACKFIELD_DB", home.join("sessions.db"))
}

fn used(input: u64, cache_read: u64, output: u64) -> Usage {
    Usage {
        cache_read,
        input,
        output,
        ..Usage::default()
    }
}

#[track_caller]
fn read(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("JSON")
}

#[tokio::test]
async fn s4_04_tokens_and_cost_are_told_by_model_day_tool_and_reply() {
    let home = tempfile::tempdir().expect("a folder");
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "17*4" })).using(used(1000, 600, 20)),
        ScriptTurn::text("It is 68.").using(used(1100, 0, 30)),
        // A server that does not count.
        ScriptTurn::text("Nothing to count.").using(Usage::default()),
    ])
    .await;
    let ran = run(["ask", "17*4?"], &claude, home.path()).run().await;
    ran.answers("It is 68.\n");
    // 400 fresh, 600 from the cache, 1100 fresh, and 50 out: 400 + 60 + 1100 + 500 millionths.
    ran.says("2100 tokens in, 50 out · 600 (28%) from cache · 0.0021 USD");
    let ran = run(["ask", "hm"], &claude, home.path()).run().await;
    ran.answers("Nothing to count.\n");
    ran.says("tokens in, ~");
    kept(&claude);

    let told = read(
        &run(["usage", "--by", "model", "--json"], &claude, home.path())
            .run()
            .await,
    );
    let line = &told["lines"][0];
    assert_eq!(line["model"], "claude/claude-opus-5-5");
    assert_eq!((&line["turns"], &line["replies"]), (&json!(2), &json!(3)));
    let number = |key: &str| line[key].as_u64().expect("a number");
    assert_eq!(
        number("input_tokens") - number("estimated_input_tokens"),
        2100
    );
    assert_eq!(
        number("output_tokens") - number("estimated_output_tokens"),
        50
    );
    assert!(number("estimated_input_tokens") > 0 && number("estimated_output_tokens") > 0);
    assert_eq!(line["unpriced_tokens"], 0);
    let estimated = number("estimated_input_tokens") + 10 * number("estimated_output_tokens");
    let picos = |part: &Value| {
        let text = part.as_str().expect("an amount");
        jackfield_domain::price::Money::parse(text)
            .expect("an amount")
            .as_picos()
    };
    assert_eq!(picos(&line["cost"][0]["estimated"]), estimated * 1_000_000);
    assert_eq!(
        picos(&line["cost"][0]["amount"]),
        (2060 + estimated) * 1_000_000
    );
    assert_eq!(told["total"]["cost"], line["cost"]);

    let told = read(
        &run(["usage", "--by", "tool", "--json"], &claude, home.path())
            .run()
            .await,
    );
    let [tool] = told["lines"].as_array().expect("lines").as_slice() else {
        panic!("{told:#}");
    };
    assert_eq!(
        (&tool["tool"], &tool["calls"], &tool["errors"]),
        (&json!("builtin/calculator"), &json!(1), &json!(0))
    );
    let told = read(
        &run(["usage", "--by", "reply", "--json"], &claude, home.path())
            .run()
            .await,
    );
    assert_eq!(told["lines"].as_array().map(Vec::len), Some(3), "{told:#}");

    let ran = run(["usage", "--since", "1h"], &claude, home.path())
        .run()
        .await;
    assert!(
        ran.out.contains("~") && ran.out.contains("USD"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ran.out
    );
    let ran = run(["usage", "--since", "never"], &claude, home.path())
        .run()
        .await;
    ran.fails(2, "neither a day nor a length of time", "2026-11-01");
}

#[tokio::test]
async fn a_budget_of_money_ends_a_turn_with_its_last_round() {
    let home = tempfile::tempdir().expect("a folder");
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })).using(used(3000, 0, 50)),
        ScriptTurn::text("So far it is 2.").using(used(3100, 0, 50)),
    ])
    .await;
    // Two rounds of about 3000 in and 100 out, at 1 and 10 millionths: the third cannot be paid.
    let more = "settings.max_output_tokens = 100\n".to_owned() + PRICE;
    let ran = jackfield(["ask", "--max-cost", "0.0115", "count"])
        .at_with(&claude.base_url(), &more)
        .env("JACKFIELD_DB", home.path().join("sessions.db"))
        .run()
        .await;
    ran.answers("So far it is 2.\n");
    ran.says("the money of the turn does not suffice: one last round without tools");
    kept(&claude);
}

#[tokio::test]
async fn a_budget_of_money_on_a_model_without_a_price_begins_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let claude = ScriptedClaude::start(Vec::<ScriptTurn>::new()).await;
    let ran = jackfield(["ask", "--max-cost", "1", "hi"])
        .at(&claude.base_url())
        .env("JACKFIELD_DB", home.path().join("sessions.db"))
        .run()
        .await;
    let line = "prices.\"claude/claude-opus-5-5\" = { input = 1.00, output = 5.00 }";
    ran.fails(3, "no price is known for claude/claude-opus-5-5", line);
    assert_eq!(claude.requests().len(), 0);
}

#[tokio::test]
async fn the_line_of_the_refusal_is_a_price() {
    let home = tempfile::tempdir().expect("a folder");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").using(used(1000, 0, 20))]).await;
    let line = "prices.\"claude/claude-opus-5-5\" = { input = 1.00, output = 5.00 }\n";
    let ran = jackfield(["ask", "--max-cost", "1", "--json", "hi"])
        .at_with(&claude.base_url(), line)
        .env("JACKFIELD_DB", home.path().join("sessions.db"))
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("\"0.0011\""), "{}", ran.out);
    kept(&claude);
}

#[tokio::test]
async fn an_unpriced_model_is_called_where_the_budget_allows_it_and_counted_as_unpriced() {
    let home = tempfile::tempdir().expect("a folder");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").using(used(1000, 0, 20))]).await;
    let allowed = "[budget]\ncost = 0.01\nunpriced = \"allow\"\n";
    let ran = jackfield(["ask", "hi"])
        .at_with(&claude.base_url(), allowed)
        .env("JACKFIELD_DB", home.path().join("sessions.db"))
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = jackfield(["usage", "--json"])
        .env("JACKFIELD_DB", home.path().join("sessions.db"))
        .run()
        .await;
    let usage: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(usage["total"]["unpriced_tokens"], 1020, "{usage}");
    kept(&claude);
}

#[tokio::test]
async fn what_was_used_adds_up_after_kill_and_resume() {
    let home = tempfile::tempdir().expect("a folder");
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "17*4" })).using(used(1000, 0, 20)),
        ScriptTurn::text("It is ").stall_after(700),
        ScriptTurn::text("It is 68.").using(used(1100, 0, 30)),
    ])
    .await;
    let mut running = run(["ask", "17*4?"], &claude, home.path()).start();
    running.err.until("calculator").await;
    while claude.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    running.kill();
    running.end().await;
    let ran = run(["sessions", "resume", "last"], &claude, home.path())
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = read(
        &run(["usage", "last", "--json"], &claude, home.path())
            .run()
            .await,
    );
    let total = &told["total"];
    let number = |key: &str| total[key].as_u64().expect("a number");
    // What was counted, and an estimate of the reply that was lost.
    assert_eq!((number("turns"), number("replies")), (1, 3), "{told:#}");
    assert_eq!(
        number("input_tokens") - number("estimated_input_tokens"),
        2100
    );
    assert_eq!(
        number("output_tokens") - number("estimated_output_tokens"),
        50
    );
    assert!(number("estimated_input_tokens") > 1000, "{told:#}");
}

#[tokio::test]
async fn a_reply_that_breaks_off_costs_what_its_provider_had_counted() {
    let home = tempfile::tempdir().expect("a folder");
    let claude = ScriptedClaude::start([ScriptTurn::text(
        "What is said before the end. ".repeat(40),
    )
    .using(used(1000, 600, 200))
    .cut_after(1200)])
    .await;
    let ran = run(["ask", "go on"], &claude, home.path()).run().await;
    assert_eq!(ran.code, Some(6), "{}", ran.err);
    kept(&claude);
    let told = read(
        &run(["usage", "last", "--json"], &claude, home.path())
            .run()
            .await,
    );
    let total = &told["total"];
    let number = |key: &str| total[key].as_u64().expect("a number");
    // The input was counted when the reply began; what came of it was not.
    assert_eq!(number("input_tokens"), 1000, "{told:#}");
    assert_eq!(number("cache_read_tokens"), 600, "{told:#}");
    assert_eq!(number("estimated_input_tokens"), 0, "{told:#}");
    assert!(number("estimated_output_tokens") > 0, "{told:#}");
}

#[tokio::test]
async fn s4_03_every_call_can_be_audited() {
    let home = tempfile::tempdir().expect("a folder");
    let claude = ScriptedClaude::start([
        ScriptTurn::call(
            "calculator",
            &json!({ "expression": "17*4\u{202e}\u{1b}[2J" }),
        )
        .and_call("current_datetime", &json!({})),
        ScriptTurn::text("Done."),
    ])
    .await;
    run(
        ["ask", "--deny", "current_datetime", "go"],
        &claude,
        home.path(),
    )
    .run()
    .await
    .answers("Done.\n");
    kept(&claude);
    let told = read(&run(["audit", "--json"], &claude, home.path()).run().await);
    let [first, second] = told.as_array().expect("entries").as_slice() else {
        panic!("{told:#}");
    };
    let (ran, denied) = if first["tool"] == "calculator" {
        (first, second)
    } else {
        (second, first)
    };
    assert_eq!(
        (&ran["server"], &ran["who"]),
        (&json!("builtin"), &json!(["policy"]))
    );
    assert_eq!(ran["attempts"].as_array().map(Vec::len), Some(1));
    assert!(
        ran["arguments"]
            .as_str()
            .is_some_and(|text| text.contains("17*4")),
        "{ran:#}"
    );
    assert!(
        ran["idempotency_key"]
            .as_str()
            .is_some_and(|key| !key.is_empty())
    );
    assert_eq!(
        (&denied["outcome"], &denied["permission"]["verdict"]),
        (&json!("denied"), &json!("deny"))
    );

    let told = read(
        &run(
            ["audit", "--json", "--outcome", "denied", "--who", "POLICY"],
            &claude,
            home.path(),
        )
        .run()
        .await,
    );
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{told:#}");
    let told = read(
        &run(
            ["audit", "--json", "--tool", "builtin/calc*"],
            &claude,
            home.path(),
        )
        .run()
        .await,
    );
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{told:#}");
    let told = read(
        &run(["audit", "--json", "--most", "1"], &claude, home.path())
            .run()
            .await,
    );
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{told:#}");
    // Nothing of what somebody else wrote is obeyed by a terminal.
    let shown = run(["audit"], &claude, home.path()).run().await;
    assert!(
        shown.out.contains("calculator") && !shown.out.contains(['\u{1b}', '\u{202e}']),
        "{:?}",
        shown.out
    );
}

//! The gateway's own API: the timeline of a turn, the facts behind it, and its replay.

use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::api::{gateway, is_problem, post, session};
use crate::harness::{Kept, kept};

fn strings<'a>(spans: &'a [Value], field: &str) -> Vec<&'a str> {
    let spans = spans.iter();
    spans
        .map(|span| span[field].as_str().unwrap_or_default())
        .collect()
}

#[tokio::test]
async fn a_turn_is_told_in_spans_with_the_facts_behind_them_and_is_decided_the_same_way_again() {
    let files = Kept::new();
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let (gateway, claude) = gateway(
        &files,
        [
            ScriptTurn::status(529, &overloaded),
            ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
            ScriptTurn::text("It is 42."),
        ],
    )
    .await;
    let session = session(&gateway).await;
    let turn = post(&gateway, &session, &json!({ "message": "What is 6*7?" })).await;
    let path = turn.header("location").to_owned();
    let turn = turn.is(200);
    let timeline = gateway.get(&format!("{path}/timeline")).answered().await;
    let timeline = timeline.is(200);
    assert_eq!(timeline["turn"], turn["id"]);
    assert!(timeline["duration_ms"].is_u64(), "{timeline}");
    let spans = timeline["spans"].as_array().expect("spans");
    assert_eq!(
        strings(spans, "kind"),
        ["model", "backoff", "model", "call", "model"],
        "{timeline:#}"
    );
    assert_eq!(
        strings(spans, "end"),
        ["failed", "", "replied", "done", "replied"]
    );
    assert_eq!(strings(spans, "tool")[3], "calculator");
    assert_eq!(
        (
            &spans[0]["attempt"],
            &spans[2]["attempt"],
            &spans[4]["round"]
        ),
        (&json!(1), &json!(2), &json!(2))
    );
    // Only a reply has a first piece.
    assert_eq!(spans[0].get("first_token_ms"), None);
    assert!(spans[4]["first_token_ms"].is_u64(), "{timeline:#}");
    // The facts of the steps in which the call began and ended.
    for (step, fact) in [("first_step", "call_started"), ("last_step", "call_closed")] {
        let step = spans[3][step].as_u64().expect("a step");
        let step = gateway.get(&format!("{session}/steps/{step}")).answered();
        let step = step.await.is(200);
        assert!(step["facts"].to_string().contains(fact), "{step:#}");
    }
    let replay = gateway.get(&format!("{path}/replay")).answered().await;
    let replay = replay.is(200);
    assert_eq!(
        (&replay["differs"], &replay["not_rebuilt"], &replay["steps"]),
        (&json!(0), &json!(0), &json!([])),
        "{replay}"
    );
    assert!(replay["same"].as_u64() > Some(4), "{replay}");
    for missing in [
        "steps/1000",
        "steps/x",
        "turns/turn_none/timeline",
        "turns/turn_none/replay",
    ] {
        let answer = gateway.get(&format!("{session}/{missing}")).answered();
        is_problem(&answer.await, 404, "not_found");
    }
    // Both are in the usage: how many calls failed, and how long the first piece took.
    let usage = gateway.get("/api/v1/usage?by=provider").answered().await;
    let usage = usage.is(200);
    let line = &usage["lines"][0];
    assert_eq!(
        (
            &line["about"],
            &line["attempts"],
            &line["failures"],
            &line["turns"]
        ),
        (&json!("claude"), &json!(3), &json!(1), &json!(1)),
        "{usage}"
    );
    assert!(line["first_token_p50_ms"].is_u64(), "{usage}");
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn usage_is_a_table_to_download_and_a_chart() {
    let files = Kept::new();
    let (gateway, claude) = gateway(&files, [ScriptTurn::text("Good day").again()]).await;
    let first = session(&gateway).await;
    post(&gateway, &first, &json!({ "message": "=cmd(), \"a\" <b>" }))
        .await
        .is(200);
    let user = json!({ "message": "Hello", "user": "мария" });
    post(&gateway, &first, &user).await.is(200);
    let table = gateway
        .get("/api/v1/usage?by=session&format=csv")
        .answered()
        .await;
    assert_eq!(
        (table.status, table.header("content-type")),
        (200, "text/csv; charset=utf-8")
    );
    let lines: Vec<&str> = table.body.split("\r\n").collect();
    assert!(
        lines[0].starts_with("about,title,turns,replies,attempts,failures,input_tokens"),
        "{table:?}"
    );
    // What a spreadsheet would take for a formula is a text.
    assert!(
        lines[1].contains(",\"'=cmd(), \"\"a\"\" <b>\",2,2,2,0,"),
        "{table:?}"
    );
    assert_eq!((lines.len(), lines[2]), (3, ""));
    let users = gateway
        .get("/api/v1/usage?by=user")
        .answered()
        .await
        .is(200);
    let users = users["lines"].as_array().expect("lines").len();
    assert_eq!(users, 2);
    for by in ["day", "model", "provider", "session", "tool", "user"] {
        for of in ["tokens", "cost", "failures", "first_token"] {
            let path = format!("/api/v1/usage?by={by}&format=svg&of={of}");
            let chart = gateway.get(&path).answered().await;
            assert_eq!(
                (chart.status, chart.header("content-type")),
                (200, "image/svg+xml"),
                "{path}"
            );
            assert!(
                chart.body.starts_with("<svg ") && chart.body.ends_with("</svg>"),
                "{chart:?}"
            );
            assert!(!chart.body.contains("<b>"), "{chart:?}");
        }
    }
    let later = gateway
        .get("/api/v1/usage?until=2020-01-01")
        .answered()
        .await;
    assert_eq!(later.is(200)["lines"], json!([]));
    let wrong = gateway.get("/api/v1/usage?until=now").answered().await;
    is_problem(&wrong, 400, "invalid");
    kept(&claude);
    gateway.end().await;
}

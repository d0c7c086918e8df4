//! Patterns in schemas: those that people have are kept, and none holds up anybody else for long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_engine::Engine;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedCall, ScriptedToolbox};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fixture::options;

/// A toolbox of tools with these schemas, each of which runs at most so often.
fn toolbox(id: &str, schemas: Vec<Value>, (limit, times): (u64, usize)) -> ScriptedToolbox {
    let toolbox = ScriptedToolbox::new(ToolboxId::parse(id).expect("a valid id"));
    for (nth, schema) in schemas.into_iter().enumerate() {
        let name = format!("act{nth}");
        toolbox.spec(ToolSpec {
            description: "Takes what its schema says.".into(),
            icon: None,
            input: InputFormat::Json(Arc::new(schema)),
            name: name.as_str().into(),
            output: None,
            safety: Safety::Unknown,
            time_limit: Some(Duration::from_millis(limit)),
            title: None,
        });
        for _ in 0..times {
            toolbox.push_call(&name, ScriptedCall::text("ran"));
        }
    }
    toolbox
}

fn engine(toolboxes: &[&ScriptedToolbox]) -> Arc<Engine> {
    let builder = Engine::builder(Arc::new(MemoryJournal::default()));
    let builder = toolboxes
        .iter()
        .fold(builder, |builder, one| builder.toolbox(one.port()));
    Arc::new(builder.build())
}

async fn call(engine: &Engine, tool: &str, arguments: &Value) -> ToolResult {
    let arguments = arguments.as_object().expect("an object").clone();
    let called = engine.call_tool(&options(), tool, arguments).await;
    called.expect("a tool that is there")
}

/// What a call comes to, and that it comes to it soon.
async fn said(schema: Value, arguments: Value) -> String {
    let toolbox = toolbox("box", vec![schema], (5000, 1));
    let engine = engine(&[&toolbox]);
    // A tool that no call could ever reach is not offered.
    if let [problem] = engine.tools(&options()).await.skipped.as_slice() {
        return problem.message.clone();
    }
    let begun = Instant::now();
    let result = call(&engine, "box__act0", &arguments).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{result:?}");
    result.to_text()
}

fn text(pattern: &str) -> Value {
    json!({ "type": "object", "properties": { "t": { "type": "string", "pattern": pattern } } })
}

#[tokio::test]
async fn patterns_that_people_have_are_kept_and_a_wrong_text_is_told() {
    // As a popular library for TypeScript writes them, among others.
    let email = "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$";
    let long = format!("data:text/plain,{}", "x".repeat(2 << 20));
    for (pattern, right, wrong) in [
        (email, "someone@example.org", "some..one@example.org"),
        ("^[a-z0-9-]{1,64}$", "a-b-1", "A"),
        ("^(?!.*\\.\\.)[^\\s]+$", "/home/me/file", "/home/../me"),
        ("^\\d{4}-\\d{2}-\\d{2}$", "2026-11-22", "22.11.2026"),
        ("^\\p{L}{1,100}$", "Привет", "1"),
        ("^(.)\\1$", "aa", "ab"),
        ("^data:[a-z]+/[a-z]+,", &long, "https://x"),
    ] {
        let ran = said(text(pattern), json!({ "t": right })).await;
        assert_eq!(ran, "ran", "{pattern}");
        let told = said(text(pattern), json!({ "t": wrong })).await;
        assert!(told.contains("`/t`"), "{pattern}: {told}");
        assert!(told.contains("does not match"), "{pattern}: {told}");
    }
    let named = json!({ "type": "object", "additionalProperties": false,
        "patternProperties": { "^x-": { "type": "string" }, "^(?!x-)[a-z]+$": { "type": "integer" } } });
    assert_eq!(
        said(named.clone(), json!({ "x-1": "a", "b": 1 })).await,
        "ran"
    );
    let told = said(named.clone(), json!({ "x-1": 1 })).await;
    assert!(told.contains("`/x-1`"), "{told}");
    let told = said(named, json!({ "B": 1 })).await;
    assert!(told.contains("'B' was unexpected"), "{told}");
}

/// Each of these matches would hold its thread for hours, and one of them for longer than anybody lives.
#[tokio::test]
async fn no_match_takes_longer_than_can_be_told() {
    let long = "01".repeat(1 << 20);
    for pattern in [
        "^(?:(?=[01]*1[01]{500}$)[01])*2",
        "^[01]*1[01]{30000}2",
        "(?:(?=.*x)[01])*2",
    ] {
        let told = said(text(pattern), json!({ "t": long })).await;
        assert!(
            told.contains("a text is too long for one of its patterns"),
            "{pattern}: {told}"
        );
        let named = json!({ "type": "object", "patternProperties": { pattern: false } });
        let told = said(named, json!({ (long.clone()): 1 })).await;
        assert!(
            told.contains("a text is too long for one of its patterns"),
            "{pattern}: {told}"
        );
    }
    // Many names with many patterns, between which nothing is looked at.
    let patterns: serde_json::Map<String, Value> = (0..1000)
        .map(|nth| (format!("[01]*1[01]{{{nth}}}2$"), json!(false)))
        .collect();
    let names: serde_json::Map<String, Value> = (0..10_000)
        .map(|nth| (format!("{nth:0>40b}"), json!(1)))
        .collect();
    let many = json!({ "type": "object", "patternProperties": patterns });
    let told = said(many, Value::Object(names)).await;
    assert!(told.contains("cannot be used"), "{told}");
}

#[tokio::test]
async fn patterns_take_no_more_memory_than_there_is_for_them() {
    let large: Vec<Value> = (0..500)
        .map(|nth| json!({ "pattern": format!("^\\p{{L}}{{{}}}$", 100 + nth % 50) }))
        .collect();
    let told = said(
        json!({ "type": "object", "properties": { "t": { "anyOf": large } } }),
        json!({}),
    )
    .await;
    let ends = ["more patterns than there is room for", "takes too long"];
    assert!(ends.iter().any(|end| told.contains(end)), "{told}");
}

/// A match has no end that can be told before, so it is never made where it holds up a turn.
#[tokio::test]
async fn a_pattern_is_never_matched_on_the_spot() {
    // It looks at the whole rest of the text from each of its places.
    let toolbox = toolbox("box", vec![text("^(?:(?![01]*2)[01])*$")], (30_000, 2));
    let engine = engine(&[&toolbox]);
    let known = call(&engine, "box__act0", &json!({ "t": "0" })).await;
    assert_eq!(known.to_text(), "ran");
    let slow = json!({ "t": "01".repeat(1500) });
    let called = tokio::spawn(async move { call(&engine, "box__act0", &slow).await });
    let mut others = 0;
    while !called.is_finished() {
        others += 1;
        tokio::task::yield_now().await;
    }
    assert_eq!(called.await.expect("no crash").to_text(), "ran");
    assert!(others > 1000, "{others} turns of others meanwhile");
}

/// 2^40 ways to look at one value.
fn hostile(nth: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
        defs.insert(level.to_string(), json!({ "allOf": [next.clone(), next] }));
    }
    defs.insert("40".to_owned(), json!({ "type": "object" }));
    json!({ "title": format!("number {nth}"), "type": "object", "$ref": "#/$defs/0", "$defs": defs })
}

/// However many tools of one toolbox are hostile, those of another are checked meanwhile.
#[tokio::test]
async fn a_hostile_toolbox_holds_up_none_but_itself() {
    let bad = toolbox("bad", (0..20).map(hostile).collect(), (4000, 0));
    let good = toolbox("good", vec![text("^[a-z]+$")], (1000, 1));
    let engine = engine(&[&bad, &good]);
    let mut hostile = JoinSet::new();
    for nth in 0..40 {
        let engine = Arc::clone(&engine);
        let name = format!("bad__act{}", nth % 20);
        hostile.spawn(async move { call(&engine, &name, &json!({})).await });
    }
    // All of them have begun.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let result = call(&engine, "good__act0", &json!({ "t": "abc" })).await;
    assert_eq!(result.to_text(), "ran");
    while let Some(result) = hostile.join_next().await {
        let told = result.expect("no crash").to_text();
        assert!(told.contains("too long"), "{told}");
    }
}

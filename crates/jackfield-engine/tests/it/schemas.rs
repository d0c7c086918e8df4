//! Schemas that strangers wrote: within bounds they are used, and none holds anything up.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::tool::{InputFormat, ToolSpec};
use jackfield_engine::Engine;
use jackfield_store_memory::MemoryJournal;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::fixture::{Log, Logged, OneTool, options};

/// An engine with one tool of these schemas, which gives this.
pub(crate) fn tool(input: Value, output: Option<Value>, gives: ToolResult) -> (Engine, Log) {
    tool_within(Duration::from_secs(2), input, output, gives)
}

fn tool_within(
    limit: Duration,
    input: Value,
    output: Option<Value>,
    gives: ToolResult,
) -> (Engine, Log) {
    let log = Log::default();
    let mut tool = OneTool::new(&log, move |_| {
        let gives = gives.clone();
        async move { gives }
    });
    tool.spec = ToolSpec {
        input: InputFormat::Json(Arc::new(input)),
        output: output.map(Arc::new),
        time_limit: Some(limit),
        ..tool.spec
    };
    let builder = Engine::builder(Arc::new(MemoryJournal::default()));
    (builder.toolbox(Arc::new(tool)).build(), log)
}

/// What a call of a tool of this schema comes to, and whether the tool ran.
pub(crate) async fn called(input: Value, arguments: Value) -> (String, bool) {
    called_within(Duration::from_secs(2), input, arguments).await
}

/// The same where it is not the time that ends it, however busy the machine is.
async fn called_at_leisure(input: Value, arguments: Value) -> (String, bool) {
    called_within(Duration::from_secs(60), input, arguments).await
}

async fn called_within(limit: Duration, input: Value, arguments: Value) -> (String, bool) {
    let (engine, log) = tool_within(limit, input, None, ToolResult::text("it ran"));
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let begun = Instant::now();
    let offered = engine.tools(&options()).await;
    if let [problem] = offered.skipped.as_slice() {
        // A tool that no call could ever reach is not offered.
        assert!(offered.catalog.is_empty(), "{problem:?}");
        return (problem.message.clone(), false);
    }
    let result = call(&engine, arguments).await;
    let took = begun.elapsed();
    assert!(took < limit * 2, "{took:?}: {result:?}");
    let ran = log
        .all()
        .iter()
        .any(|one| matches!(one, Logged::ToolCalled(_)));
    assert_eq!(ran, !result.is_error, "{result:?}");
    (result.to_text(), ran)
}

pub(crate) async fn call(engine: &Engine, arguments: Map<String, Value>) -> ToolResult {
    let called = engine.call_tool(&options(), "box__act", arguments).await;
    called.expect("a tool that is there")
}

/// Arguments of this many levels.
fn deep(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }))
}

/// So many levels, each of which leads to the next one twice.
pub(crate) fn doubling(levels: usize, keyword: &str) -> Value {
    let mut defs = Map::new();
    for level in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
        defs.insert(level.to_string(), json!({ keyword: [next.clone(), next] }));
    }
    defs.insert(levels.to_string(), json!({ "type": "object" }));
    json!({ "type": "object", "$ref": "#/$defs/0", "$defs": defs })
}

/// References one after another, each below so many levels, and the last one leads back to the first
/// for the value below.
fn chain(references: usize, levels: usize) -> Value {
    let mut defs = Map::new();
    for nth in 0..references {
        let next = json!({ "$ref": format!("#/$defs/{}", nth + 1) });
        let next = (0..levels).fold(next, |inner, _| json!({ "not": inner }));
        defs.insert(nth.to_string(), json!({ "allOf": [next] }));
    }
    let last = json!({ "properties": { "a": { "$ref": "#" } } });
    defs.insert(references.to_string(), last);
    json!({ "type": "object", "$ref": "#/$defs/0", "$defs": defs })
}

#[tokio::test]
async fn what_is_out_of_bounds_is_left_out_whatever_toolbox_it_is_of() {
    let nested = |levels: usize| {
        let inner = (2..levels).fold(json!({}), |inner, _| json!({ "not": inner }));
        json!({ "type": "object", "not": inner })
    };
    let references = |count: usize| {
        let all: Vec<Value> = (0..count).map(|_| json!({ "$ref": "#/$defs/x" })).collect();
        json!({ "type": "object", "anyOf": all, "$defs": { "x": {} } })
    };
    let large = |bytes: usize| {
        let empty = json!({ "type": "object", "description": "" })
            .to_string()
            .len();
        json!({ "type": "object", "description": "d".repeat(bytes - empty) })
    };
    let cases = [
        (nested(64), None),
        (nested(65), Some("is nested deeper than 64 levels")),
        (nested(500), Some("is nested deeper than 64 levels")),
        (references(256), None),
        (references(257), Some("has 257 references, and at most 256")),
        (large(64 << 10), None),
        (
            large((64 << 10) + 1),
            Some("has 65537 bytes, and at most 65536"),
        ),
    ];
    for (schema, refused) in cases {
        for as_output in [false, true] {
            let object = json!({ "type": "object" });
            let (input, output) = if as_output {
                (object, Some(schema.clone()))
            } else {
                (schema.clone(), None)
            };
            let (engine, _) = tool(input, output, ToolResult::text("it ran"));
            let offered = engine.tools(&options()).await;
            let told: Vec<&str> = offered.skipped.iter().map(|one| &*one.message).collect();
            assert_eq!(
                offered.catalog.iter().len(),
                usize::from(refused.is_none()),
                "{told:?}"
            );
            let which = if as_output { "output" } else { "input" };
            let expected =
                refused.map(|why| format!("skipped tool `act`: its {which} schema {why}"));
            match (expected, told.as_slice()) {
                (None, []) => {}
                (Some(expected), [told]) => assert!(told.starts_with(&expected), "{told}"),
                (expected, told) => panic!("{expected:?}: {told:?}"),
            }
        }
    }
}

#[tokio::test]
async fn references_that_lead_back_end() {
    let old = |draft: &str, more: Value| {
        let mut schema = json!({ "$schema": draft, "type": "object" });
        for (key, value) in more.as_object().into_iter().flatten() {
            schema[key] = value.clone();
        }
        schema
    };
    let d4 = "http://json-schema.org/draft-04/schema#";
    let d19 = "https://json-schema.org/draft/2019-09/schema";
    for schema in [
        json!({ "type": "object", "$ref": "#" }),
        json!({ "type": "object", "$ref": "#/$defs/a", "$defs": {
            "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        json!({ "type": "object", "allOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "type": "object", "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "type": "object", "if": { "$ref": "#" }, "then": { "$ref": "#" } }),
        json!({ "type": "object", "$dynamicAnchor": "n", "$dynamicRef": "#n" }),
        json!({ "type": "object", "$dynamicAnchor": "n", "allOf": [
            { "$dynamicRef": "#n" }, { "$dynamicRef": "#n" }] }),
        json!({ "type": "object", "$ref": "#a", "$defs": {
            "x": { "$anchor": "a", "$ref": "#b" },
            "y": { "$anchor": "b", "allOf": [{ "$ref": "#a" }] } } }),
        old(d4, json!({ "allOf": [{ "$ref": "#" }] })),
        old(
            d19,
            json!({ "$recursiveAnchor": true, "allOf": [{ "$recursiveRef": "#" }] }),
        ),
        json!({ "type": "object", "$id": "http://x.invalid/a", "allOf": [{ "$ref": "http://x.invalid/a" }] }),
    ] {
        let (said, ran) = called(schema.clone(), deep(3)).await;
        assert!(ran, "{schema}: {said}");
    }
    let (said, ran) = called(
        json!({ "type": "object", "not": { "$ref": "#" } }),
        json!({}),
    )
    .await;
    // What is not itself is nothing.
    assert!(!ran && said.contains("is not allowed for"), "{said}");
    assert!(!said.contains("jackfield"), "{said}");
}

#[tokio::test]
async fn schemas_of_every_draft_are_used() {
    let drafts = [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ];
    for draft in drafts {
        let schema = json!({
            "$schema": draft, "type": "object", "additionalProperties": false,
            "properties": { "n": { "$ref": "#/definitions/n" }, "enum": { "enum": [{ "x": 1 }] } },
            "definitions": { "n": { "type": "integer" } },
        });
        let (said, ran) = called(schema.clone(), json!({ "n": 1, "enum": { "x": 1 } })).await;
        assert!(ran, "{draft}: {said}");
        let (said, _) = called(schema.clone(), json!({ "n": "1" })).await;
        assert!(said.contains("`/n`"), "{draft}: {said}");
        let (said, _) = called(schema, json!({ "m": 1 })).await;
        assert!(said.contains("'m' was unexpected"), "{draft}: {said}");
    }
    assert!(called(json!(true), json!({})).await.1);
    let (said, _) = called(json!(false), json!({})).await;
    assert!(said.contains("The call was not run"), "{said}");
}

#[tokio::test]
async fn nothing_is_ever_fetched() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.set_nonblocking(true).expect("a port");
    let address = format!(
        "http://{}/schema.json",
        listener.local_addr().expect("a port")
    );
    let file = format!("file://{}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
    for schema in [
        json!({ "type": "object", "$ref": address }),
        json!({ "type": "object", "$schema": address }),
        json!({ "type": "object", "$id": address, "$ref": "other.json" }),
        json!({ "type": "object", "$ref": file }),
        json!({ "type": "object", "$ref": "Cargo.toml" }),
    ] {
        let (said, ran) = called(schema.clone(), json!({})).await;
        assert!(ran, "{schema}: {said}");
    }
    let asked = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(asked, Err(std::io::ErrorKind::WouldBlock));
}

#[tokio::test]
async fn patterns_and_values_of_any_size_end() {
    let text = format!("{}!", "a".repeat(50_000));
    for pattern in [
        "^(a+)+$",
        "^(a+)+\\1b$",
        "^(?=(a+)+$)(a|aa)+$",
        "(?!x)(a|a)*(?!x)(a|a)*(?!x)(a|a)*b",
        "a*a*a*a*a*(?=b)c",
    ] {
        let schema = json!({ "type": "object", "properties": { "t": { "pattern": pattern } } });
        let (said, ran) = called(schema, json!({ "t": text })).await;
        assert!(!ran && said.len() < 1000, "{pattern}: {}", said.len());
        let schema =
            json!({ "type": "object", "patternProperties": { pattern: { "type": "null" } } });
        called(schema, json!({ (text.clone()): 1 })).await;
    }
    let many: Vec<Value> = (0..50_000).map(|n| json!({ "n": n })).collect();
    let unique = json!({ "type": "object", "properties": { "t": { "uniqueItems": true } } });
    assert!(called(unique, json!({ "t": many })).await.1);
    let choice: Vec<Value> = (0..4000).map(|n| json!({ "n": -n - 1 })).collect();
    let of_choice =
        json!({ "type": "object", "properties": { "t": { "items": { "enum": choice } } } });
    let (said, ran) = called(of_choice, json!({ "t": many })).await;
    assert!(!ran && said.len() < 4000, "{}", said.len());
}

#[tokio::test]
async fn what_goes_deep_ends_before_the_stack_does() {
    // Every one of these would end the process.
    for (references, levels, arguments) in [
        (250, 0, 20),
        (250, 0, 120),
        (100, 50, 1),
        (100, 50, 120),
        (250, 20, 120),
    ] {
        let (said, ran) = called_at_leisure(chain(references, levels), deep(arguments)).await;
        assert!(
            !ran && said.contains("goes deeper into itself"),
            "{references} {levels}: {said}"
        );
    }
    // Schemas that people have go as deep as their arguments do.
    let tree = json!({ "type": "object", "properties": { "a": { "$ref": "#" } }, "additionalProperties": false });
    assert!(called_at_leisure(tree.clone(), deep(100)).await.1);
    let mixed = json!({ "type": "object", "allOf": [{ "anyOf": [{ "oneOf": [{ "$ref": "#/$defs/n" }] }] }],
        "$defs": { "n": { "properties": { "a": { "$ref": "#" } }, "unevaluatedProperties": false } } });
    let (said, ran) = called_at_leisure(mixed, deep(60)).await;
    assert!(ran, "{said}");
    let (said, _) = called_at_leisure(tree, json!({ "a": { "a": { "b": 1 } } })).await;
    assert!(
        said.contains("`/a/a`") && said.contains("'b' was unexpected"),
        "{said}"
    );
}

#[tokio::test]
async fn what_doubles_and_doubles_ends_in_time() {
    let looks = |mut schema: Value| {
        schema["unevaluatedProperties"] = json!(false);
        schema
    };
    for (schema, arguments) in [
        (doubling(30, "allOf"), json!({})),
        (doubling(60, "allOf"), json!({})),
        // All that is wrong with it would not fit into any memory.
        (doubling(30, "oneOf"), json!({})),
        (looks(doubling(30, "anyOf")), json!({ "a": 1 })),
        (
            json!({ "type": "object", "properties": { "a": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } } }),
            deep(40),
        ),
    ] {
        // Some are no burden for the library, and are answered.
        let (said, _) = called(schema, arguments).await;
        let ends = [
            "it ran",
            "takes too long",
            "unfolds into more",
            "The call was not run",
        ];
        assert!(ends.iter().any(|end| said.contains(end)), "{said}");
    }
    assert!(called(doubling(8, "allOf"), json!({})).await.1);
    assert!(called(looks(doubling(6, "allOf")), json!({})).await.1);
}

#[test]
fn fifty_hostile_calls_leave_no_thread_behind_and_hold_up_no_other() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let (engine, _) = tool(doubling(40, "allOf"), None, ToolResult::text("never"));
        let engine = Arc::new(engine);
        let mut hostile = JoinSet::new();
        for _ in 0..50 {
            let engine = Arc::clone(&engine);
            hostile.spawn(async move { call(&engine, Map::new()).await });
        }
        tokio::task::yield_now().await;
        // Another schema of the same process, and of the same engine's kind.
        let (said, ran) = called(doubling(4, "allOf"), json!({})).await;
        assert!(ran, "{said}");
        while let Some(result) = hostile.join_next().await {
            let said = result.expect("no crash").to_text();
            assert!(said.contains("take") && said.contains("too long"), "{said}");
        }
        // Its turn comes again: nothing of the fifty is still at work.
        let said = call(&engine, Map::new()).await.to_text();
        assert!(
            said.contains("against the schema of `box__act` takes too long"),
            "{said}"
        );
    });
    // A thread that works for ever would hold this up for ever.
    let begun = Instant::now();
    drop(runtime);
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

/// What a call gives whose tool declares this schema of its answer, and answers so.
async fn given(output: Option<Value>, content: &[&str], structured: Option<Value>) -> ToolResult {
    let gives = ToolResult {
        content: content
            .iter()
            .map(|text| OutcomePart::Text((*text).into()))
            .collect(),
        is_error: false,
        structured: structured.map(Arc::new),
    };
    let (engine, log) = tool(json!({ "type": "object" }), output, gives);
    let result = call(&engine, Map::new()).await;
    // Whatever it answers, it runs once.
    assert_eq!(log.all().len(), 1, "{:?}", log.all());
    result
}

#[tokio::test]
async fn an_answer_that_fits_or_promises_nothing_stays_as_it_is() {
    let degrees = json!({ "type": "object", "required": ["degrees"] });
    let answer = json!({ "degrees": 15 });
    for (schema, structured) in [
        (Some(degrees.clone()), Some(answer.clone())),
        (None, Some(answer)),
        (Some(degrees), None),
        (Some(json!({ "type": "array" })), Some(json!([1]))),
    ] {
        let result = given(schema, &["15 degrees"], structured.clone()).await;
        let expected = ToolResult {
            structured: structured.map(Arc::new),
            ..ToolResult::text("15 degrees")
        };
        assert_eq!(result, expected);
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_given_as_text_with_a_note() {
    let degrees = json!({ "type": "object", "properties": { "degrees": { "type": "number" } } });
    let answer = json!({ "degrees": "fifteen" });
    for content in [&["15 degrees"][..], &["{\"degrees\":\"fifteen\"}"]] {
        let result = given(Some(degrees.clone()), content, Some(answer.clone())).await;
        assert_eq!((result.is_error, &result.structured), (false, &None));
        let texts: Vec<&str> = result
            .content
            .iter()
            .filter_map(OutcomePart::as_text)
            .collect();
        let (note, kept) = texts.split_last().expect("a note");
        assert!(kept.starts_with(content), "{texts:?}");
        assert_eq!(kept.last(), Some(&"{\"degrees\":\"fifteen\"}"));
        assert!(
            note.starts_with("[the structured answer is not what the tool says"),
            "{note}"
        );
        assert!(note.contains("`/degrees`"), "{note}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_checked_stays_with_a_note() {
    let answer = json!({ "a": {} });
    for (schema, why) in [
        (doubling(40, "allOf"), "too long"),
        (json!({ "type": "no such type" }), "is not"),
        (
            json!({ "$ref": "https://nowhere.invalid/x" }),
            "nowhere.invalid",
        ),
    ] {
        let result = given(Some(schema), &["text"], Some(answer.clone())).await;
        assert_eq!(result.structured.as_deref(), Some(&answer));
        let note = result
            .content
            .last()
            .and_then(OutcomePart::as_text)
            .unwrap_or_default();
        assert!(
            note.starts_with("[the structured answer could not be checked"),
            "{note}"
        );
        assert!(note.contains(why), "{note}");
    }
}

#[tokio::test]
async fn a_failure_need_not_look_like_what_the_tool_gives() {
    let gives = ToolResult {
        structured: Some(Arc::new(json!({ "error": "no such city" }))),
        ..ToolResult::error("no such city")
    };
    let schema = json!({ "type": "object", "required": ["degrees"] });
    let (engine, _) = tool(json!({ "type": "object" }), Some(schema), gives.clone());
    assert_eq!(call(&engine, Map::new()).await, gives);
}

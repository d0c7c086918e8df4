//! Schemas: which of them are checked on the spot, and that the others hold up nobody.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::CallEnd;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_engine::{Engine, TurnReport};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox};
use serde_json::{Value, json};

use crate::fixture::{message, options};

/// A tool that takes what nearly all tools take.
fn plain() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "minLength": 1 },
            "days": { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }] },
            "unit": { "enum": ["c", "f"] },
        },
        "required": ["city"],
        "additionalProperties": false,
    })
}

/// 2^levels ways to look at one value, where there is a `slow` in it.
fn hostile(nth: usize, levels: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
        defs.insert(level.to_string(), json!({ "allOf": [next.clone(), next] }));
    }
    defs.insert(levels.to_string(), json!({ "type": "object" }));
    json!({
        "title": format!("number {nth}"),
        "type": "object",
        "if": { "required": ["slow"] },
        "then": { "$ref": "#/$defs/0" },
        "$defs": defs,
    })
}

/// Runs a turn with these rounds of calls over these tools, of which so many of a tool run, and leaves
/// threads that are held behind.
fn turn(
    tools: &[(&str, Value)],
    rounds: Vec<Vec<(&str, &str)>>,
    (tool, run): (&str, usize),
) -> TurnReport {
    let toolbox = ScriptedToolbox::new(ToolboxId::parse("box").expect("a valid id"));
    for (name, schema) in tools {
        toolbox.spec(ToolSpec {
            description: "Takes what its schema says.".into(),
            icon: None,
            input: InputFormat::Json(Arc::new(schema.clone())),
            name: (*name).into(),
            output: None,
            safety: Safety::Unknown,
            time_limit: Some(Duration::from_millis(if name.starts_with("bad") {
                2000
            } else {
                1000
            })),
            title: None,
        });
    }
    let model = ScriptedModel::new();
    for _ in 0..run {
        toolbox.push_call(tool, ScriptedCall::text("ran"));
    }
    for calls in rounds {
        model.push_reply(ScriptedReply::calls(calls));
    }
    model.push_reply(ScriptedReply::text("done"));
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", model.port())
        .toolbox(toolbox.port())
        .build();
    let mut options = options();
    options.limits.parallel_calls = 20;
    options.limits.repeats = 100;
    options.limits.rounds = 100;
    options.limits.tool_call = Duration::from_secs(60);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let report = runtime.block_on(engine.send(message(options), &mut ()));
    runtime.shutdown_background();
    report.expect("a report")
}

fn ends(report: &TurnReport) -> Vec<CallEnd> {
    report.calls.iter().map(|call| call.end).collect()
}

#[test]
fn a_plain_schema_is_kept_the_first_time_and_every_time() {
    let right = [
        "{\"city\":\"Paris\"}",
        "{\"city\":\"x\",\"days\":null,\"unit\":\"c\"}",
    ];
    let wrong = [
        "{}",
        "{\"city\":\"\"}",
        "{\"city\":\"Paris\",\"days\":0}",
        "{\"city\":\"Paris\",\"unit\":\"k\"}",
        "{\"city\":\"Paris\",\"more\":1}",
    ];
    let rounds = (0..3).flat_map(|_| right.iter().chain(&wrong));
    let rounds = rounds.map(|arguments| vec![("box__act", *arguments)]);
    let report = turn(&[("act", plain())], rounds.collect(), ("act", 6));
    let once: Vec<CallEnd> = [CallEnd::Ran; 2]
        .into_iter()
        .chain([CallEnd::NotRun; 5])
        .collect();
    assert_eq!(ends(&report), once.repeat(3));
}

/// What refers to something ends by its time, however well it is known by now.
#[test]
fn a_known_schema_that_takes_too_long_ends_by_its_time() {
    let (fine, slow) = (("box__bad", "{}"), ("box__bad", SLOW));
    // For some seconds at least, which would hold up everything.
    let tools = [("bad", hostile(0, 26))];
    let report = turn(&tools, vec![vec![fine], vec![slow]], ("bad", 1));
    assert_eq!(ends(&report), [CallEnd::Ran, CallEnd::NotRun]);
    let said = report.calls[1].result.to_text();
    assert!(said.contains("takes too long"), "{said}");
}

#[test]
fn a_plain_schema_that_is_known_needs_no_thread() {
    let good = ("box__good", "{\"city\":\"Paris\"}");
    let names: Vec<String> = (0..8).map(|nth| format!("bad{nth}")).collect();
    let mut tools = vec![("good", plain())];
    tools.extend(
        (0..)
            .zip(&names)
            .map(|(nth, name)| (name.as_str(), hostile(nth, 40))),
    );
    // Every thread that there is for checks is held for longer than the good one may take.
    let called: Vec<String> = names.iter().map(|name| format!("box__{name}")).collect();
    let mut calls: Vec<_> = called
        .iter()
        .flat_map(|name| [(name.as_str(), SLOW); 2])
        .collect();
    calls.push(good);
    let report = turn(&tools, vec![vec![good], calls], ("good", 2));
    let mut wanted = vec![CallEnd::Ran];
    wanted.extend([CallEnd::NotRun; 16]);
    wanted.push(CallEnd::Ran);
    assert_eq!(ends(&report), wanted);
}

/// Large arguments are not looked at on the spot, however plain the schema is.
#[test]
fn large_arguments_are_checked_elsewhere() {
    let city = "x".repeat(100_000);
    let large = format!("{{\"city\":\"{city}\"}}");
    let wrong = format!("{{\"town\":\"{city}\"}}");
    let rounds = [&large, &wrong, &large].map(|arguments| vec![("box__act", arguments.as_str())]);
    let report = turn(&[("act", plain())], rounds.into(), ("act", 2));
    assert_eq!(ends(&report), [CallEnd::Ran, CallEnd::NotRun, CallEnd::Ran]);
}

/// What a hostile schema looks at for long.
const SLOW: &str = "{\"slow\":1}";

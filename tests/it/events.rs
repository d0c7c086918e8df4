//! `--json`: the events, held against docs/cli.md.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Kept, jackfield, kept};

#[tokio::test]
async fn every_line_is_a_documented_event_with_its_documented_fields() {
    let documented = documented();
    assert!(documented.len() > 10, "{documented:?}");
    let mut seen = BTreeSet::new();
    for ran in [
        tools().await,
        retry().await,
        failure().await,
        compaction().await,
    ] {
        for event in ran {
            let name = event["event"].as_str().unwrap_or_default().to_owned();
            let fields = event
                .as_object()
                .into_iter()
                .flat_map(|event| event.keys().cloned());
            let fields: BTreeSet<String> = fields.filter(|field| field != "event").collect();
            let expected = documented.get(&name);
            assert_eq!(Some(&fields), expected, "{event}");
            seen.insert(name);
        }
    }
    // These need somebody at the keyboard, or a tool that takes its time.
    let missing = documented.keys().filter(|name| !seen.contains(*name));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    assert_eq!(missing, ["remark", "tool_progress", "wait", "wait_ended"]);
}

#[tokio::test]
async fn events_come_in_the_order_in_which_things_happen() {
    let events = tools().await;
    let mut names: Vec<&str> = events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    names.retain(|name| *name != "note");
    // The pieces of a text are as many as the server makes of it.
    names.dedup_by(|next, last| next == last && *last == "text");
    let expected = [
        "turn_started",
        "round_started",
        "thinking",
        "text",
        "tool_call",
        "tool_call",
        "tool_started",
        "tool_started",
        "tool_finished",
        "tool_finished",
        "round_started",
        "text",
        "turn_ended",
    ];
    names.dedup_by(|next, last| next == last && *last == "thinking");
    assert_eq!(names, expected);
    let calls = events
        .last()
        .map(|last| last["calls"].clone())
        .unwrap_or_default();
    for (n, call) in events
        .iter()
        .filter(|event| event["event"] == "tool_call")
        .enumerate()
    {
        assert_eq!(calls[n]["id"], call["id"]);
    }
}

#[tokio::test]
async fn texts_and_calls_say_their_place_among_the_blocks_of_the_reply() {
    let events = tools().await;
    let first = events.iter().filter(|event| event["round"] == 1);
    let mut places: Vec<(&str, u64)> = first
        .filter_map(|event| Some((event["event"].as_str()?, event["block"].as_u64()?)))
        .collect();
    places.dedup();
    let expected = [
        ("thinking", 0),
        ("text", 1),
        ("tool_call", 2),
        ("tool_call", 3),
    ];
    assert_eq!(places, expected);
}

#[tokio::test]
async fn a_note_comes_once_in_a_turn_however_many_rounds_have_it() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("It is 2."),
    ])
    .await;
    let ran = jackfield(["ask", "--json", "1+1?"])
        .at_with(&claude.base_url(), "settings.seed = 1\n")
        .run()
        .await;
    kept(&claude);
    let seeds = |notes: &[Value]| {
        let seeds = notes.iter().filter(|note| note["path"] == "settings.seed");
        seeds.count()
    };
    let mut events = ran.events();
    let last = events.pop().unwrap_or_default();
    assert_eq!(last["rounds"], 2);
    let notes = last["notes"].as_array().cloned().unwrap_or_default();
    assert_eq!((seeds(&events), seeds(&notes)), (1, 1), "{}", ran.out);
}

/// A turn that thinks, speaks, calls twice and answers.
async fn tools() -> Vec<Value> {
    let thinking = ScriptPart::Thinking {
        signature: "sig".to_owned(),
        text: "Two sums.".to_owned(),
    };
    let claude = ScriptedClaude::start([
        ScriptTurn::reply([thinking, ScriptPart::Text("Let me see.".to_owned())])
            .and_call("calculator", &json!({ "expression": "1+1" }))
            .and_call("calculator", &json!({ "expression": "2+2" })),
        ScriptTurn::text("It is 2 and 4."),
    ])
    .await;
    let ran = jackfield(["ask", "--json", "1+1 and 2+2?"])
        .at(&claude.base_url())
        .run()
        .await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    kept(&claude);
    ran.events()
}

/// A turn whose request is too long, and is made again with a summary.
async fn compaction() -> Vec<Value> {
    let too_long = json!({ "type": "error", "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 250000 tokens > 200000 maximum",
    } });
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Yes."),
        ScriptTurn::status(400, &too_long),
        ScriptTurn::text("They said hello."),
        ScriptTurn::text("No."),
    ])
    .await;
    let files = Kept::new();
    let ask = |question| {
        let ask = files.run(&["ask", "--json", "--session", "talk", question]);
        ask.at(&claude.base_url()).run()
    };
    ask("A question that is longer than the next one").await;
    let ran = ask("Now?").await;
    kept(&claude);
    ran.events()
}

/// A turn whose model is overloaded once.
async fn retry() -> Vec<Value> {
    let overloaded = json!({
        "type": "error",
        "error": { "type": "overloaded_error", "message": "Overloaded" },
    });
    let claude = ScriptedClaude::start([
        ScriptTurn::status(529, &overloaded),
        ScriptTurn::text("Hello!"),
    ])
    .await;
    let ran = jackfield(["ask", "--json", "hello"])
        .at(&claude.base_url())
        .run()
        .await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    kept(&claude);
    ran.events()
}

/// A turn whose model refuses the key.
async fn failure() -> Vec<Value> {
    let refusal = json!({
        "type": "error",
        "error": { "type": "authentication_error", "message": "invalid x-api-key" },
    });
    let claude = ScriptedClaude::start([ScriptTurn::status(401, &refusal)]).await;
    let ran = jackfield(["ask", "--json", "hello"])
        .at(&claude.base_url())
        .run()
        .await;
    ran.fails(3, "invalid x-api-key", "check the key of `claude`");
    assert_eq!(
        ran.last_event()["end"]["failure"]["kind"],
        "unauthenticated"
    );
    kept(&claude);
    ran.events()
}

/// The table of events: each with its fields.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let mut events = BTreeMap::new();
    let rows = DOCUMENT
        .lines()
        .skip_while(|line| *line != "| event | when | fields |")
        .skip(2);
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let names = words(cells[0]);
        let fields = match cells[2].trim().strip_prefix("as ") {
            Some(other) => words(other)
                .first()
                .and_then(|other| events.get(other))
                .cloned(),
            None => Some(words(&without_parentheses(cells[2])).into_iter().collect()),
        };
        events.insert(names[0].clone(), fields.unwrap_or_default());
    }
    events
}

/// The words between backticks.
fn words(text: &str) -> Vec<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    let kept = text.chars().filter(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    kept.collect()
}

const DOCUMENT: &str = include_str!("../../docs/cli.md");

//! Whatever a server writes: no crash, no call that outlives its time, no more kept than is allowed.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jackfield_domain::ids::ToolboxId;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, Toolbox as _};
use jackfield_tools_mcp::{McpToolbox, ServerConfig};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::harness::{run, settings};

/// What a server says to each line that it reads, one after another.
type Talk = Vec<Vec<u8>>;

/// A conversation without a fault: the beginning, the list, the call.
fn sound(stateless: bool) -> Vec<Value> {
    let about = json!({ "tools": { "listChanged": false } });
    let server = json!({ "name": "mutant", "version": "1" });
    let meta = json!({ "io.modelcontextprotocol/serverInfo": server });
    let tool = json!({
        "name": "greet", "title": "Greet", "description": "Says hello.",
        "inputSchema": { "type": "object", "properties": { "n": { "$ref": "#/$defs/n" } }, "$defs": { "n": {} } },
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true },
    });
    let list =
        json!({ "tools": [tool], "ttlMs": 0, "cacheScope": "private", "resultType": "complete" });
    let outcome = json!({
        "content": [
            { "type": "text", "text": "hello" },
            { "type": "resource", "resource": { "uri": "x://1", "mimeType": "text/plain", "text": "a" } },
        ],
        "structuredContent": { "a": [1] }, "isError": false, "resultType": "complete", "_meta": meta,
    });
    let answer = |id: Value, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let [list, outcome] = [answer(json!(0), list), answer(json!(1), outcome)];
    if stateless {
        let known = json!({
            "supportedVersions": ["2026-07-28"], "capabilities": about, "ttlMs": 0,
            "cacheScope": "private", "resultType": "complete", "_meta": meta, "instructions": "None.",
        });
        return vec![answer(json!("probe"), known), list, outcome];
    }
    let error = json!({ "code": -32601, "message": "no such method" });
    let probe = json!({ "jsonrpc": "2.0", "id": "probe", "error": error });
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": about, "serverInfo": server,
    });
    // Nothing is said to the notification that the handshake is over.
    vec![
        probe,
        answer(json!("hello"), hello),
        Value::Null,
        list,
        outcome,
    ]
}

/// What may stand anywhere in place of what belongs there.
const ODD: &[&str] = &[
    "null",
    "true",
    "-1",
    "0.5",
    "1e300",
    "1e999",
    "123456789012345678901234567890",
    "\"\"",
    "\"\\ud800\"",
    "\"a\\u0000b\"",
    "[]",
    "{}",
    "[[[[[[[[]]]]]]]]",
    "{\"jsonrpc\":\"2.0\"}",
    "]",
    "\"",
];

/// Lines that a server may say at any time.
const ASIDE: &[&str] = &[
    "",
    "not the protocol",
    "[]",
    "[{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}]",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":\"x\",\"message\":7}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":{\"a\":1},\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":7,\"params\":7}",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\",\"params\":[]}",
    "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"elicitation/create\",\"params\":{\"mode\":1}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":null}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":7,\"data\":{}}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":\"x\"}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1e999}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":[1]}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":9}",
    "{\"id\":\"hello\"}",
    "{\"id\":\"probe\",\"result\":[]}",
];

fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{nth}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                places(field, &format!("{at}/{name}"), found);
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

/// One of very many talks that differ from a sound one.
fn talk(kind: usize, era: bool, message: usize, place: usize, odd: usize, bytes: &[u8]) -> Talk {
    let mut sound = sound(era);
    let message = message % sound.len();
    let asides = ASIDE[odd % ASIDE.len()];
    let mut lines: Talk = sound
        .iter()
        .map(|value| {
            if value.is_null() {
                Vec::new()
            } else {
                format!("{value}\n").into_bytes()
            }
        })
        .collect();
    let line = &mut lines[message];
    match kind {
        // Something else in a place.
        0..=4 => {
            let mut found = Vec::new();
            places(&sound[message], "", &mut found);
            let at = &found[place % found.len()];
            if let Some(there) = sound[message].pointer_mut(at) {
                *there = json!("@@");
            }
            let text = sound[message]
                .to_string()
                .replace("\"@@\"", ODD[odd % ODD.len()]);
            *line = format!("{text}\n").into_bytes();
        }
        // Cut, and the line never ends.
        5 => line.truncate(place % (line.len() + 1)),
        // Cut, and the line ends.
        6 => {
            line.truncate(place % (line.len() + 1));
            line.push(b'\n');
        }
        // Bytes in the middle.
        7 => {
            let at = place % (line.len() + 1);
            line.splice(at..at, bytes.iter().copied());
        }
        // Said twice, with something between.
        8 => {
            let again = line.clone();
            line.extend_from_slice(asides.as_bytes());
            line.push(b'\n');
            line.extend(again);
        }
        // Something by the way.
        9 => {
            let mut before = format!("{asides}\n").into_bytes();
            before.append(line);
            *line = before;
        }
        // Longer than anybody reads, in one of its texts.
        10 => {
            let text = String::from_utf8_lossy(line).replace("hello", &"h".repeat(300_000));
            *line = text.into_bytes();
        }
        // Deeper than anybody reads.
        11 => {
            let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
            let text = String::from_utf8_lossy(line).replace("\"2.0\"", &deep);
            *line = text.into_bytes();
        }
        // Nothing but noise.
        _ => *line = bytes.to_vec(),
    }
    lines
}

/// Has the whole conversation; whether the tool said hello, and what was kept of the server.
async fn held(talk: &Talk, limit: Duration) -> (bool, usize) {
    let folder = tempfile::tempdir().unwrap();
    for (nth, said) in talk.iter().enumerate() {
        std::fs::write(folder.path().join((nth + 1).to_string()), said).unwrap();
    }
    let line = "n=0; while read -r line; do n=$((n+1)); [ -f \"$0/$n\" ] && cat \"$0/$n\"; done";
    let id = ToolboxId::parse("mutant").unwrap();
    let config = ServerConfig {
        arguments: vec![
            "-c".to_owned(),
            line.to_owned(),
            folder.path().display().to_string(),
        ],
        call_limit: limit,
        longest_call: limit * 2,
        ..ServerConfig::new(id, "sh")
    };
    let mut settings = settings();
    settings.guard = None;
    settings.probe = limit;
    settings.start_limit = limit * 3;
    settings.list_limit = limit;
    settings.max_message = 100_000;
    settings.backoff = Duration::from_secs(3600);
    settings.longest_backoff = Duration::from_secs(3600);
    let server = McpToolbox::new(config, settings.clone());
    let listed = server.list().await;
    let greeted = match &listed {
        Ok(_) => {
            server
                .call(&run("greet", json!({})), &CallContext::default(), &mut ())
                .await
        }
        Err(error) => Err(error.failure.clone().into()),
    };
    let hello =
        matches!(greeted, Ok(ToolEnd::Finished(result)) if result.to_text().contains("hello"));
    server.stop().await;
    let kept: usize = server.log().iter().map(String::len).sum();
    assert!(kept <= settings.log_bytes);
    (hello, kept)
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_server_writes_ends_in_time_and_without_a_crash() {
    for stateless in [false, true] {
        let talk = sound(stateless)
            .iter()
            .map(|value| format!("{value}\n").into_bytes())
            .collect();
        assert!(
            held(&talk, MAX_TIME).await.0,
            "the sound one, stateless: {stateless}"
        );
    }
    // What crashes in a task of its own is seen by nobody else.
    let crashes = Arc::new(AtomicUsize::new(0));
    let (counted, before) = (Arc::clone(&crashes), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |crash| {
        counted.fetch_add(1, Ordering::SeqCst);
        before(crash);
    }));
    let mutants = (
        0..13_usize,
        proptest::bool::ANY,
        0..5_usize,
        0..200_usize,
        0..400_usize,
    );
    let mutants = (
        mutants,
        proptest::collection::vec(proptest::num::u8::ANY, 0..200),
    );
    let mut runner = TestRunner::deterministic();
    let turns = Arc::new(Semaphore::new(8));
    let mut talks = JoinSet::new();
    for _ in 0..CASES {
        let mutant = mutants.new_tree(&mut runner).unwrap().current();
        let ((kind, era, message, place, odd), bytes) = mutant;
        let turns = Arc::clone(&turns);
        talks.spawn(async move {
            let _turn = turns.acquire_owned().await;
            let talk = talk(kind, era, message, place, odd, &bytes);
            let begun = Instant::now();
            let held = tokio::time::timeout(MAX_TIME, held(&talk, LIMIT)).await;
            let what = || {
                talk.iter()
                    .map(|line| String::from_utf8_lossy(line).into_owned())
                    .collect::<Vec<_>>()
            };
            assert!(held.is_ok(), "{:?} after {:?}", what(), begun.elapsed());
            held.is_ok_and(|(hello, _)| hello)
        });
    }
    let mut hello = 0;
    while let Some(held) = talks.join_next().await {
        hello += usize::from(held.unwrap());
    }
    assert_eq!(crashes.load(Ordering::SeqCst), 0);
    // Some were harmless and some were not: otherwise nothing was tried.
    assert!(
        hello > CASES / 8 && hello < CASES * 7 / 8,
        "{hello} of {CASES}"
    );
}

/// How many talks are had.
const CASES: usize = 160;
/// How long a server has for each of its answers.
const LIMIT: Duration = Duration::from_millis(400);
/// How long a talk may take in all, on a machine that does much else.
const MAX_TIME: Duration = Duration::from_secs(60);

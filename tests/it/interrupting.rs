//! Ctrl-C, and readers that go away.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{jackfield, kept, shell};

#[tokio::test]
async fn ctrl_c_cancels_in_one_step_and_keeps_what_was_said() {
    let claude =
        ScriptedClaude::start([ScriptTurn::text(long_answer()).stall_after(BEGINNING)]).await;
    let mut running = jackfield(["ask", "tell me"]).at(&claude.base_url()).start();
    running.out.until("line 1\n").await;
    running.interrupt();
    let ran = running.end().await;
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(long_answer().starts_with(ran.out.trim_end()), "{}", ran.out);
    ran.says("cancelling; Ctrl-C again leaves at once\n");
    ran.says("! cancelled\n");
    claude.server().closed_by_client(0).await;
    kept(&claude);
}

#[tokio::test]
async fn a_cancelled_turn_ends_with_its_events_and_the_answer_so_far() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text(long_answer()).stall_after(BEGINNING),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "tell me"]).at(&claude.base_url());
    let mut running = ask.start();
    running.out.until("\"event\":\"text\"").await;
    running.interrupt();
    let ran = running.end().await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(130), ""));
    let events = ran.events();
    let last = events.last().expect("there are events");
    assert_eq!(last["event"], "turn_ended");
    assert_eq!(
        last["end"],
        json!({ "kind": "cancelled", "cause": "asked" })
    );
    assert_eq!(last["calls"][0]["result"], "42");
    let answer = last["answer"].as_str().unwrap_or_default();
    assert!(answer.starts_with("line 0"), "{answer}");
    kept(&claude);
}

#[tokio::test]
async fn ctrl_c_twice_leaves_at_once() {
    let claude =
        ScriptedClaude::start([ScriptTurn::text(long_answer()).stall_after(BEGINNING)]).await;
    let mut running = jackfield(["ask", "tell me"]).at(&claude.base_url()).start();
    running.out.until("line 1\n").await;
    running.interrupt();
    running.interrupt();
    let ran = running.end().await;
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(long_answer().starts_with(ran.out.trim_end()), "{}", ran.out);
    kept(&claude);
}

#[tokio::test]
async fn ctrl_c_ends_the_wait_for_another_try() {
    let overloaded = json!({
        "type": "error",
        "error": { "type": "overloaded_error", "message": "Overloaded" },
    });
    let claude = ScriptedClaude::start([ScriptTurn::status(529, &overloaded)]).await;
    let ask = jackfield(["ask", "hello"]).at_with(&claude.base_url(), "limits.model_retries = 9");
    let mut running = ask.start();
    running.err.until("; retrying in ").await;
    running.interrupt();
    let ran = running.end().await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""), "{}", ran.err);
    assert_eq!(claude.requests().len(), 1);
    kept(&claude);
}

#[tokio::test]
async fn a_reader_that_goes_away_cancels_the_turn_and_nothing_is_said_about_it() {
    for json in [false, true] {
        let gate = Gate::new();
        // For a moment, a program that another test starts has the reader's end of the pipe, too: what is written must not
        // fit into the pipe.
        let answer = ScriptTurn::text(long_answer()).pause_after(BEGINNING, &gate);
        let claude = ScriptedClaude::start([answer.stall_after(LONG)]).await;
        let (ask, first) = if json {
            (
                jackfield(["ask", "--json", "tell me"]),
                "\"event\":\"text\"",
            )
        } else {
            (jackfield(["ask", "tell me"]), "line 1\n")
        };
        let mut running = ask.at(&claude.base_url()).start();
        running.out.until(first).await;
        running.out.close().await;
        gate.open();
        let ran = running.end().await;
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "json: {json}");
        claude.server().closed_by_client(0).await;
        kept(&claude);
    }
}

#[tokio::test]
async fn head_takes_its_line_and_the_pipe_behind_it_ends() {
    let claude = ScriptedClaude::start([ScriptTurn::text(long_answer())]).await;
    let pipe = shell("{ \"$jackfield\" ask 'tell me'; echo \"code $?\" >&2; } | head -1");
    let ran = pipe.at(&claude.base_url()).run().await;
    ran.answers("line 0\n");
    ran.says("code 0\n");
    kept(&claude);
}

/// Longer than any buffer between a program and its reader.
fn long_answer() -> String {
    lines(10_000)
}

fn lines(count: u32) -> String {
    (0..count).map(|n| format!("line {n}\n")).collect()
}

/// As many bytes of a response as tell the first lines of its answer.
const BEGINNING: usize = 4_000;

/// A part of the body that has more text than any buffer has room for, and is not all of it.
const LONG: usize = 1_400_000;

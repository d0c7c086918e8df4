//! Timelines by example: what took time in a turn, and when no process drove it.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::limits::Limits;
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::timeline::{CallSpanEnd, ModelSpanEnd, Span, SpanKind, Timeline};
use jackfield_domain::tool_loop::{LOOP_VERSION, Restrictions};
use jackfield_domain::wait::{Answer, Approval};

use crate::scene::{It, Scene, answer, calls, finishes, says};
use crate::world::setup;

fn begin() -> Scene {
    Scene::begin(Arc::new(setup(Limits::default()))).0
}

/// The spans of the turn, one fact a step and a second: what, from when, until when.
fn spans(scene: &Scene) -> Vec<String> {
    let steps: Vec<Envelope> = (0..)
        .zip(&scene.facts)
        .map(|(step, fact)| Envelope {
            facts: vec![fact.clone()],
            input: InputKind::Began,
            now: Now {
                wall: WallTime::from_millis(i64::try_from(step).expect("few") * 1_000),
                ..Now::default()
            },
            step,
            version: LOOP_VERSION,
        })
        .collect();
    let turn = scene.facts.iter().find_map(|fact| {
        let Fact::TurnOpened { turn, .. } = fact else {
            return None;
        };
        Some(turn)
    });
    let timeline = Timeline::of_turn(turn.expect("a turn"), &steps);
    timeline
        .expect("its timeline")
        .spans
        .iter()
        .map(line)
        .collect()
}

fn line(span: &Span) -> String {
    let what = match &span.kind {
        SpanKind::Away => "away".to_owned(),
        SpanKind::Backoff => "backoff".to_owned(),
        SpanKind::Call(call) => match &call.end {
            None => format!("call {}", call.name),
            Some(CallSpanEnd::Closed { end, .. }) => format!("call {} {end:?}", call.name),
            Some(CallSpanEnd::Lost { then, .. }) => format!("call {} lost, {then:?}", call.name),
        },
        SpanKind::Compaction { .. } => "compaction".to_owned(),
        SpanKind::Model(model) => match &model.end {
            None => format!("model {}", model.attempt.round),
            Some(ModelSpanEnd::Replied(finish)) => {
                format!("model {} {finish:?}", model.attempt.round)
            }
            Some(ModelSpanEnd::Failed(why)) => format!("model {} {why:?}", model.attempt.round),
        },
        SpanKind::Wait(wait) => format!("wait {:?}", wait.end),
    };
    let ended = span
        .last_step
        .map_or_else(|| "…".to_owned(), |step| step.to_string());
    assert_eq!(span.ended.is_some(), span.last_step.is_some());
    format!("{what} {}-{ended}", span.first_step)
}

#[track_caller]
fn check(scene: &Scene, expected: &[&str]) {
    assert_eq!(spans(scene), expected, "{:#?}", scene.facts);
}

#[test]
fn a_call_waits_for_its_answer_and_then_runs() {
    let mut scene = begin();
    check(&scene, &["model 1 1-…"]);
    scene.play(calls(&["ask"]));
    check(&scene, &["model 1 ToolCalls 1-2", "wait None 3-…"]);
    let granted = Approval::Granted {
        edited: None,
        for_session: false,
    };
    scene.play(answer("ask", Answer::Approval(granted)));
    scene.play(finishes("ask", "done"));
    scene.play(says("Done."));
    check(
        &scene,
        &[
            "model 1 ToolCalls 1-2",
            "wait Some(Answered) 3-4",
            "call ask Ran 5-6",
            "model 2 Stop 7-8",
        ],
    );
}

#[test]
fn a_call_that_was_denied_takes_no_time() {
    let mut scene = begin();
    scene.play(calls(&["ask"]));
    let denied = Approval::Denied {
        reason: "no".into(),
    };
    scene.play(answer("ask", Answer::Approval(denied)));
    check(
        &scene,
        &[
            "model 1 ToolCalls 1-2",
            "wait Some(Answered) 3-4",
            "call ask Denied 5-5",
            "model 2 6-…",
        ],
    );
}

#[test]
fn a_crash_is_a_time_without_a_process_and_a_turn_that_only_waits_misses_none() {
    let mut scene = begin();
    scene.play(It::Crashes(Restrictions::default()));
    check(&scene, &["model 1 Lost 1-3", "away 2-2", "model 1 4-…"]);
    let mut scene = begin();
    scene.play(calls(&["ask"]));
    scene.play(It::Crashes(Restrictions::default()));
    check(&scene, &["model 1 ToolCalls 1-2", "wait None 3-…"]);
}

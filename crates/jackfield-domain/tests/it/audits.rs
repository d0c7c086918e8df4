//! Audits by example: who decided what about which call, and what came of it.

use std::sync::Arc;

use jackfield_domain::audit::{self, AuditEntry, AuditedCall};
use jackfield_domain::fact::{CallEnd, Envelope, Fact, InputKind};
use jackfield_domain::failure::Disposition;
use jackfield_domain::ids::DeliveryId;
use jackfield_domain::limits::Limits;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_domain::wait::{Answer, Approval, CancelCause, Delivery, DeliveryBody, WaitEnd};
use serde_json::json;

use crate::scene::{It, Scene, answer, calls, finishes, passes, says};
use crate::world::setup;

fn audited(facts: &[Fact]) -> Vec<AuditEntry> {
    audit::entries(&[step(facts)], &[])
}

fn step(facts: &[Fact]) -> Envelope {
    Envelope {
        facts: facts.to_vec(),
        input: InputKind::Began,
        now: Now::default(),
        step: 0,
        version: LOOP_VERSION,
    }
}

fn begin() -> Scene {
    Scene::begin(Arc::new(setup(Limits::default()))).0
}

fn only_call(scene: &Scene) -> AuditedCall {
    let told = audited(&scene.facts);
    let calls: Vec<_> = told
        .into_iter()
        .filter_map(|one| match one {
            AuditEntry::Call(call) => Some(*call),
            AuditEntry::Cancelled { .. } | AuditEntry::LateUsage { .. } | AuditEntry::Target(_) => {
                None
            }
        })
        .collect();
    let [call] = &calls[..] else {
        panic!("{calls:?}");
    };
    call.clone()
}

#[test]
fn a_denial_has_its_author_and_its_reason() {
    let mut scene = begin();
    scene.play(calls(&["ask"]));
    let denied = Approval::Denied {
        reason: "not today".into(),
    };
    scene.play(answer("ask", Answer::Approval(denied)));
    let call = only_call(&scene);
    assert_eq!(call.deciders(), ["somebody".into()]);
    assert!(call.attempts.is_empty());
    let closed = call.closed.expect("an end");
    assert_eq!((closed.end, closed.is_error), (CallEnd::Denied, true));
    assert!(closed.text.contains("not today"), "{}", closed.text);
}

#[test]
fn an_answer_is_a_decision_before_anybody_acts_upon_it() {
    let mut scene = begin();
    scene.play(calls(&["ask"]));
    let asked = scene.facts.len();
    let answer_to_it = Answer::Approval(Approval::Granted {
        edited: None,
        for_session: false,
    });
    scene.play(answer("ask", answer_to_it.clone()));
    let wait = only_call(&scene).questions[0].wait.id.clone();
    let given = Delivery {
        at: WallTime::from_millis(1_000),
        body: DeliveryBody::Answer {
            answer: answer_to_it.clone(),
            wait,
        },
        by: "somebody".into(),
        id: DeliveryId::parse("d1").expect("a valid id"),
    };
    let end = WaitEnd::Answered {
        answer: answer_to_it,
        by: "somebody".into(),
        delivery: given.id.clone(),
    };
    // It is told the same before it was heard and afterwards: as of when it was given.
    for facts in [&scene.facts[..asked], &scene.facts] {
        let told = audit::entries(&[step(facts)], std::slice::from_ref(&given));
        let [AuditEntry::Call(call)] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(call.deciders(), ["somebody".into()]);
        assert_eq!(call.questions[0].decided(), Some(&(given.at, end.clone())));
        assert_eq!(call.closed, None);
    }
    // Of a question that ended otherwise, nothing was decided by it.
    let mut late = given;
    late.id = DeliveryId::parse("d2").expect("a valid id");
    let told = audit::entries(&[step(&scene.facts)], &[late]);
    assert_eq!(told, audited(&scene.facts));
}

#[test]
fn an_edited_call_has_both_arguments() {
    let mut scene = begin();
    scene.play(calls(&["ask"]));
    let edited = json!({ "path": "/tmp" });
    let granted = Approval::Granted {
        edited: edited.as_object().cloned().map(Arc::new),
        for_session: false,
    };
    scene.play(answer("ask", Answer::Approval(granted)));
    scene.play(finishes("ask", "done"));
    let call = only_call(&scene);
    let raw = |input: &ToolInput| match input {
        ToolInput::Json(json) => json.raw().to_owned(),
        ToolInput::Text(text) => text.to_string(),
    };
    assert_eq!(raw(&call.call.input), "{}");
    assert_eq!(
        call.edited.as_deref().map(raw).as_deref(),
        Some("{\"path\":\"/tmp\"}")
    );
    assert_eq!(call.approval.as_ref(), Some(&call.questions[0].wait.id));
    assert_eq!(call.closed.map(|closed| closed.end), Some(CallEnd::Ran));
}

#[test]
fn an_unknown_call_says_how_it_was_lost_and_what_came_late() {
    let mut scene = begin();
    scene.play(calls(&["write"]));
    scene.play(passes(30_000));
    scene.play(It::FinishesLate("write", ToolResult::text("done")));
    scene.play(says("hm"));
    let call = only_call(&scene);
    assert_eq!(call.deciders(), [audit::POLICY.into()]);
    let lost = call.attempts[0].lost.as_ref().expect("a loss");
    assert_eq!(lost.disposition, Disposition::Unknown);
    assert_eq!(
        call.closed.map(|closed| closed.end),
        Some(CallEnd::Reported)
    );
    let late: Vec<_> = call
        .late
        .iter()
        .map(|late| (late.attempt.attempt, late.size))
        .collect();
    assert_eq!(late, [(1, 4)]);
}

#[test]
fn a_cancel_stands_after_the_calls_that_it_ended() {
    let mut scene = begin();
    scene.play(calls(&["write", "ask"]));
    scene.play(It::Cancels(CancelCause::Asked));
    let told = audited(&scene.facts);
    let ends: Vec<_> = told
        .iter()
        .map(|one| match one {
            AuditEntry::Call(call) => call.closed.as_ref().map(|closed| closed.end),
            AuditEntry::Cancelled { .. } | AuditEntry::LateUsage { .. } | AuditEntry::Target(_) => {
                None
            }
        })
        .collect();
    assert_eq!(
        ends,
        [Some(CallEnd::Reported), Some(CallEnd::Cancelled), None]
    );
    assert!(matches!(told[2], AuditEntry::Cancelled { .. }));
}

#[test]
fn a_call_under_a_grant_of_its_turn_says_whose_it_is() {
    let mut scene = begin();
    scene.play(calls(&["ask"]));
    let granted = Approval::Granted {
        edited: None,
        for_session: true,
    };
    scene.play(answer("ask", Answer::Approval(granted)));
    scene.play(finishes("ask", "done"));
    scene.play(calls(&["ask"]));
    let told = audited(&scene.facts);
    let who: Vec<_> = told
        .iter()
        .map(|one| match one {
            AuditEntry::Call(call) => (call.deciders(), call.questions.len()),
            AuditEntry::Cancelled { .. } | AuditEntry::LateUsage { .. } | AuditEntry::Target(_) => {
                panic!("{one:?}")
            }
        })
        .collect();
    // Nobody was asked again, and once is not told twice.
    assert_eq!(
        who,
        [(vec!["somebody".into()], 1), (vec!["somebody".into()], 0)]
    );
}

#[test]
fn a_call_is_found_by_its_tool_and_by_its_name_where_there_was_no_such_tool() {
    let mut scene = begin();
    scene.play(calls(&["read"]));
    let call = only_call(&scene);
    let server = call.origin.clone().expect("a tool").toolbox;
    assert!(
        call.matches_tool("read")
            && call.matches_tool(&format!("{server}/*"))
            && !call.matches_tool("other/*")
    );
    let mut scene = begin();
    scene.play(calls(&["invented"]));
    let call = only_call(&scene);
    assert!(call.origin.is_none());
    assert!(
        call.matches_tool("invented") && call.matches_tool("inv*") && !call.matches_tool("read")
    );
}

//! A recorded session, loaded in one line: two calls, one of which fails, and an overload before the answer.

use jackfield_domain::fact::Fact;
use jackfield_domain::replay::ReplayVerdict;
use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_testkit::facts::RecordedSession;

#[test]
fn the_session_of_a_report_comes_out_the_same() {
    jackfield_testkit::facts!("facts/two-calls.jsonl").assert_same();
}

#[test]
fn each_call_is_started_once() {
    let recorded = jackfield_testkit::facts!("facts/two-calls.jsonl");
    let decided = recorded
        .replay()
        .into_iter()
        .filter_map(|step| step.decided);
    let starts = decided
        .flat_map(|step| step.facts)
        .filter(|fact| matches!(fact, Fact::CallStarted { .. }));
    assert_eq!(starts.count(), 2);
    assert_eq!(recorded.session().turns(), 1);
}

#[test]
fn a_changed_record_does_not_come_out_the_same() {
    let whole = include_str!("facts/two-calls.jsonl");
    let changed = whole.replacen("\"may_repeat\":true", "\"may_repeat\":false", 1);
    assert_ne!(changed, whole);
    // As today's loop would have decided it: of what an older one decided, less can be said.
    let changed = changed.replace("\"version\":2", &format!("\"version\":{LOOP_VERSION}"));
    let replayed = RecordedSession::parse(&changed).replay();
    let first = replayed.iter().find(|step| !step.is_same());
    let verdict = first.map(|step| (step.step, &step.verdict));
    let Some((1, ReplayVerdict::Differs(difference))) = verdict else {
        panic!("{verdict:?}");
    };
    let told = "fact 1, call_started, may_repeat: recorded false, decided true";
    assert_eq!(difference.to_string(), told);
}

//! Approvers: what counts as an answer.

use jackfield_engine::Decision;
use serde_json::json;

#[test]
fn whatever_goes_wrong_with_an_approver_is_a_no() {
    let failed = Decision::failed("`may-it-run`", "it ended with code 1");
    let Decision::Deny(reason) = failed else {
        panic!("{failed:?}");
    };
    assert!(reason.contains("it ended with code 1"), "{reason}");
}

#[test]
fn what_is_no_decision_is_none() {
    for answer in [
        json!(null),
        json!("allow"),
        json!({}),
        json!({ "decision": "Allow" }),
        json!({ "decision": true }),
        json!({ "decision": "allow", "arguments": [] }),
        json!({ "decision": "deny", "reason": 7 }),
    ] {
        assert!(Decision::parse(&answer).is_err(), "{answer}");
    }
    let allowed = Decision::parse(&json!({ "decision": "allow", "arguments": null }));
    assert_eq!(allowed, Ok(Decision::Allow(None)));
    let denied = Decision::parse(&json!({ "decision": "deny", "reason": " no " }));
    assert_eq!(denied, Ok(Decision::Deny("no".into())));
    assert_eq!(
        Decision::parse(&json!({ "decision": "ask" })),
        Ok(Decision::Ask)
    );
}

#[test]
fn of_a_reason_no_more_is_kept_than_anybody_reads() {
    let long = "не ".repeat(200_000);
    let denied = Decision::parse(&json!({ "decision": "deny", "reason": long }));
    let Ok(Decision::Deny(reason)) = denied else {
        panic!("{denied:?}");
    };
    assert_eq!(reason.chars().count(), 3_999 + 1);
    assert!(long.starts_with(&*reason));
}

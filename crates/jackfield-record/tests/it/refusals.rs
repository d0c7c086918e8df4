//! What is not read says why.

use std::error::Error as _;
use std::sync::Arc;

use jackfield_domain::fact::Fact;
use jackfield_domain::wait::JobHandle;
use jackfield_record::{
    DecodeError, EncodeError, MAX_DEPTH, VERSION, decode_delivery, decode_envelope, encode_envelope,
};
use serde_json::{Value, json};

use crate::samples;

/// The record of one fact, changed.
fn changed(change: impl Fn(&mut Value)) -> Vec<u8> {
    let bytes = encode_envelope(&samples::turn_resumed()).unwrap_or_else(|e| panic!("{e}"));
    let mut record: Value = serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{e}"));
    change(&mut record);
    record.to_string().into_bytes()
}

/// The error that this record is read with, and its cause.
fn fault(bytes: &[u8]) -> (DecodeError, String) {
    match decode_envelope(bytes) {
        Err(fault) => {
            let cause = fault.source().map(ToString::to_string).unwrap_or_default();
            (fault, cause)
        }
        Ok(envelope) => panic!("read as {envelope:?}"),
    }
}

#[test]
fn a_newer_version_is_told_from_damage() {
    // However different its form is.
    for form in [
        json!({ "v": VERSION + 1, "step": {} }),
        json!({ "v": 900, "other": [] }),
    ] {
        let (newer, _) = fault(form.to_string().as_bytes());
        assert!(
            matches!(newer, DecodeError::Newer { version } if version == form["v"]),
            "{newer:?}"
        );
        let text = newer.to_string();
        assert!(
            text.contains(&form["v"].to_string()) && text.contains('1'),
            "{text}"
        );
        let delivery = decode_delivery(form.to_string().as_bytes());
        assert!(matches!(delivery, Err(DecodeError::Newer { .. })));
    }
}

#[test]
fn a_version_that_never_was_is_malformed() {
    for version in [json!(0), json!(-1), json!("1"), json!(1.5), Value::Null] {
        let (malformed, _) = fault(&changed(|record| record["v"] = version.clone()));
        assert!(
            matches!(malformed, DecodeError::Malformed { .. }),
            "{malformed:?}"
        );
    }
}

#[test]
fn an_unknown_kind_of_fact_is_told_by_name() {
    let bytes = changed(|record| {
        record["step"]["facts"] = json!([{ "turn_resumed": { "nth": 1 } }, { "turn_forked": {} }]);
    });
    let (unknown, _) = fault(&bytes);
    assert!(
        matches!(&unknown, DecodeError::UnknownFact { kind } if kind == "turn_forked"),
        "{unknown:?}"
    );
}

#[test]
fn a_known_kind_of_fact_in_another_form_is_malformed() {
    for (kind, _) in jackfield_testkit::arb::fact_kinds() {
        let bytes = changed(|record| record["step"]["facts"] = json!([{ kind: { "no": "such" } }]));
        let (malformed, _) = fault(&bytes);
        assert!(
            matches!(malformed, DecodeError::Malformed { .. }),
            "{kind}: {malformed:?}"
        );
    }
}

#[test]
fn a_field_too_many_is_malformed_and_named() {
    for place in ["", "/step", "/step/now", "/step/facts/0/turn_resumed"] {
        let bytes = changed(|record| {
            let Some(object) = record.pointer_mut(place) else {
                panic!("no {place}");
            };
            object["surprise"] = json!(true);
        });
        let (malformed, cause) = fault(&bytes);
        assert!(
            matches!(malformed, DecodeError::Malformed { .. }),
            "{place}: {malformed:?}"
        );
        assert!(cause.contains("surprise"), "{place}: {cause}");
    }
}

#[test]
fn a_field_too_few_is_malformed_and_named() {
    for (place, name) in [("", "step"), ("/step", "version"), ("/step/now", "mono")] {
        let bytes = changed(|record| {
            let object = record.pointer_mut(place).and_then(Value::as_object_mut);
            assert!(object.and_then(|object| object.remove(name)).is_some());
        });
        let (malformed, cause) = fault(&bytes);
        assert!(
            matches!(malformed, DecodeError::Malformed { .. }),
            "{place}: {malformed:?}"
        );
        assert!(cause.contains(name), "{place}: {cause}");
    }
}

#[test]
fn a_value_that_does_not_exist_is_invalid() {
    let check = |fact: Value, word: &str| {
        let (invalid, cause) = fault(&changed(|record| record["step"]["facts"] = json!([fact])));
        assert!(
            matches!(invalid, DecodeError::Invalid { .. }),
            "{fact}: {invalid:?}"
        );
        assert!(cause.contains(word), "{fact}: {cause}");
    };
    let accepted = |call: &str| json!({ "call_accepted": { "attempt": { "call": call, "attempt": 1 }, "handle": 1 } });
    check(accepted(""), "tool call id");
    check(accepted("наш"), "tool call id");
    check(accepted(&"a".repeat(41)), "tool call id");
    for time in [
        "",
        "s",
        "1",
        "1.s",
        "1.0s",
        "01s",
        "-1s",
        "+1s",
        "1.0000000001s",
        "1e3s",
        "99999999999999999999s",
    ] {
        let started = json!({ "model_call_started": {
            "attempt": { "round": 1, "attempt": 1 }, "active": time, "tools": "allowed"
        } });
        check(started, "length of time");
    }
}

#[test]
fn something_after_the_record_is_malformed() {
    let mut bytes = changed(|_| {});
    bytes.extend(b" \n");
    assert!(decode_envelope(&bytes).is_ok());
    bytes.extend(b"{}");
    let (malformed, _) = fault(&bytes);
    assert!(
        matches!(malformed, DecodeError::Malformed { .. }),
        "{malformed:?}"
    );
}

#[test]
fn a_step_is_no_delivery() {
    let bytes = changed(|_| {});
    assert!(matches!(
        decode_delivery(&bytes),
        Err(DecodeError::Malformed { .. })
    ));
}

#[test]
fn what_a_model_may_send_can_be_read_again_and_nothing_deeper_is_written() {
    let nested = |depth: usize| {
        let handle = (1..depth).fold(json!([]), |inner, _| json!([inner]));
        let mut step = samples::call_accepted();
        for fact in &mut step.facts {
            if let Fact::CallAccepted { handle: slot, .. } = fact {
                *slot = JobHandle(Arc::new(handle.clone()));
            }
        }
        step
    };
    // As deep as any JSON that came over the wire.
    let deep = nested(128);
    let bytes = encode_envelope(&deep).expect("a form");
    assert_eq!(decode_envelope(&bytes).expect("a record"), deep);

    let deeper = nested(MAX_DEPTH);
    assert!(matches!(
        encode_envelope(&deeper),
        Err(EncodeError::TooDeep)
    ));
}

#[test]
fn a_record_that_nests_too_deep_is_refused_before_it_is_read() {
    let bytes = "[".repeat(1_000_000).into_bytes();
    let (deep, _) = fault(&bytes);
    assert!(matches!(deep, DecodeError::TooDeep), "{deep:?}");
}

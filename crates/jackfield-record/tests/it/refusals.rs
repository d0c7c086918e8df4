//! What is not read says why.

use std::error::Error as _;
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::Fact;
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::Setup;
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
fn a_catalog_in_another_order_or_with_a_name_twice_is_invalid() {
    let bytes = encode_envelope(&samples::turn_opened()).expect("a form");
    let record: Value = serde_json::from_slice(&bytes).expect("JSON");
    let catalog = "/step/facts/0/turn_opened/setup/catalog";
    let arranged = |places: [usize; 3]| {
        let mut record = record.clone();
        let tools = record.pointer_mut(catalog).expect("the catalog");
        *tools = places.map(|place| tools[place].clone()).to_vec().into();
        record.to_string().into_bytes()
    };
    assert!(decode_envelope(&arranged([0, 1, 2])).is_ok());
    for places in [[1, 0, 2], [0, 1, 1]] {
        let (invalid, cause) = fault(&arranged(places));
        assert!(
            matches!(invalid, DecodeError::Invalid { .. }),
            "{invalid:?}"
        );
        assert!(
            cause.contains("two tools") || cause.contains("order"),
            "{cause}"
        );
    }
}

#[test]
fn a_digest_is_written_in_one_way() {
    let digest = Digest::of(b"catalog").to_hex();
    for text in [
        digest.to_uppercase(),
        digest[1..].to_owned(),
        format!("+{}", &digest[1..]),
    ] {
        let bytes = encode_envelope(&samples::turn_opened()).expect("a form");
        let mut record: Value = serde_json::from_slice(&bytes).expect("JSON");
        let place = "/step/facts/0/turn_opened/setup/catalog/0/digest";
        *record.pointer_mut(place).expect("a digest") = json!(text);
        let (invalid, cause) = fault(record.to_string().as_bytes());
        assert!(
            matches!(invalid, DecodeError::Invalid { .. }),
            "{text}: {invalid:?}"
        );
        assert!(cause.contains("digest"), "{text}: {cause}");
    }
}

#[test]
fn what_is_no_number_is_not_written() {
    for fraction in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut step = samples::turn_opened();
        step.facts.truncate(1);
        if let [Fact::TurnOpened { setup, .. }] = &mut step.facts[..] {
            let settings = Settings {
                top_p: Some(fraction),
                ..Settings::default()
            };
            *setup = Arc::new(Setup {
                settings: Arc::new(settings),
                ..Setup::clone(setup)
            });
        }
        let written = encode_envelope(&step);
        assert!(
            matches!(written, Err(EncodeError::Unwritable { .. })),
            "{fraction}"
        );
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

/// Whether these bytes are refused for their depth, before anything else is looked at.
fn is_too_deep(bytes: &[u8]) -> bool {
    matches!(fault(bytes).0, DecodeError::TooDeep)
}

#[test]
fn brackets_in_text_do_not_nest() {
    let text = format!("[\"{}\\\"{}\"]", "[".repeat(500), "{".repeat(500));
    assert!(!is_too_deep(text.as_bytes()));
}

#[test]
fn one_too_deep_is_too_deep() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(!is_too_deep(nested(MAX_DEPTH).as_bytes()));
    assert!(is_too_deep(nested(MAX_DEPTH + 1).as_bytes()));
}

#[test]
fn brackets_are_counted_wherever_they_stand() {
    for byte in 0..=u8::MAX {
        let opens = matches!(byte, b'[' | b'{');
        assert_eq!(is_too_deep(&[byte; 1000]), opens, "{byte}");
    }
    for blanks in 0..1000 {
        let text = " ".repeat(blanks) + &"[".repeat(MAX_DEPTH + 1);
        assert!(is_too_deep(text.as_bytes()), "after {blanks}");
    }
}

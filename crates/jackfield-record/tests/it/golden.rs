//! The form, to be looked at: one file per kind of fact and of delivery.
//!
//! A file here is what journals hold. If one changes, journals that exist can no longer be read: the
//! change is a new version of the form, beside this one.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_domain::fact::Envelope;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::wait::Delivery;
use jackfield_record::{
    decode_delivery, decode_directory_change, decode_envelope, decode_spending, encode_delivery,
    encode_directory_change, encode_envelope, encode_spending,
};
use jackfield_testkit::arb;
use serde_json::Value;

use crate::samples;

fn steps() -> Vec<(&'static str, Envelope)> {
    vec![
        ("backend_session", samples::backend_session()),
        ("call_accepted", samples::call_accepted()),
        ("call_closed", samples::call_closed()),
        ("call_lost", samples::call_lost()),
        ("call_started", samples::call_started()),
        ("compacted", samples::compacted()),
        ("late", samples::late()),
        ("model_call_ended", samples::model_call_ended()),
        ("model_call_started", samples::model_call_started()),
        ("reply_received", samples::reply_received()),
        ("session_forked", samples::session_forked()),
        ("session_imported", samples::session_imported()),
        ("turn_ended", samples::turn_ended()),
        ("turn_opened", samples::turn_opened()),
        ("turn_resumed", samples::turn_resumed()),
        ("wait_closed", samples::wait_closed()),
        ("wait_opened", samples::wait_opened()),
    ]
}

/// What facts have besides since their form was first stored: each leaves the files before it as they are.
fn additions() -> Vec<(&'static str, Envelope)> {
    vec![
        ("call_closed_cached", samples::call_closed_cached()),
        ("call_started_approved", samples::call_started_approved()),
        ("call_started_until", samples::call_started_until()),
        ("compacted_failed", samples::compacted_failed()),
        ("late_detailed", samples::late_detailed()),
        (
            "model_call_ended_at_once",
            samples::model_call_ended_at_once(),
        ),
        (
            "model_call_ended_estimated",
            samples::model_call_ended_estimated(),
        ),
        (
            "model_call_ended_request",
            samples::model_call_ended_request(),
        ),
        (
            "model_call_started_target",
            samples::model_call_started_target(),
        ),
        ("reply_received_timed", samples::reply_received_timed()),
        ("tool_search", samples::tool_search()),
        ("turn_ended_cost", samples::turn_ended_cost()),
        ("turn_ended_viewed", samples::turn_ended_viewed()),
        ("turn_opened_called", samples::turn_opened_called()),
        ("turn_opened_compacting", samples::turn_opened_compacting()),
        ("wait_opened_budget", samples::wait_opened_budget()),
        ("turn_opened_granted", samples::turn_opened_granted()),
        ("turn_opened_priced", samples::turn_opened_priced()),
        ("turn_opened_routed", samples::turn_opened_routed()),
        ("turn_opened_streamed", samples::turn_opened_streamed()),
        ("turn_opened_strict", samples::turn_opened_strict()),
        ("turn_opened_tagged", samples::turn_opened_tagged()),
        ("turn_opened_tiered", samples::turn_opened_tiered()),
        (
            "turn_resumed_restricted",
            samples::turn_resumed_restricted(),
        ),
        ("wait_closed_brought", samples::wait_closed_brought()),
        ("wait_closed_granted", samples::wait_closed_granted()),
        ("wait_opened_approval", samples::wait_opened_approval()),
        ("wait_opened_question", samples::wait_opened_question()),
    ]
}

fn deliveries() -> Vec<(&'static str, Delivery)> {
    vec![
        ("delivery_answer", samples::delivered_answer()),
        ("delivery_cancel", samples::delivered_cancel()),
        ("delivery_grant", samples::delivered_grant()),
        ("delivery_late", samples::delivered_late()),
        ("delivery_result", samples::delivered_result()),
        ("delivery_withdrawn", samples::delivered_withdrawn()),
        ("delivery_written", samples::delivered_written()),
    ]
}

#[test]
fn every_kind_of_fact_has_its_golden_file() {
    let kinds: Vec<_> = arb::fact_kinds()
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    let golden: Vec<_> = steps().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, golden);
    for (kind, step) in steps() {
        let record = json(&encode_envelope(&step).expect("a form"));
        let facts = record["step"]["facts"].as_array().expect("facts");
        assert!(
            facts.iter().all(|fact| fact.get(kind).is_some()),
            "{kind}: {record:#}"
        );
    }
}

#[test]
fn steps_have_the_form_that_is_stored() {
    for (name, step) in steps().into_iter().chain(additions()) {
        check(name, &encode_envelope(&step).expect("a form"));
        let bytes = fs::read(path(name)).expect("the golden file");
        assert_eq!(decode_envelope(&bytes).expect("a record"), step, "{name}");
    }
}

#[test]
fn deliveries_have_the_form_that_is_stored() {
    for (name, delivery) in deliveries() {
        check(name, &encode_delivery(&delivery).expect("a form"));
        let bytes = fs::read(path(name)).expect("the golden file");
        assert_eq!(
            decode_delivery(&bytes).expect("a record"),
            delivery,
            "{name}"
        );
    }
}

#[test]
fn spending_records_have_the_form_that_is_stored() {
    let spending = samples::spending();
    let tagged = SpendingRecord {
        tags: samples::tags(),
        ..spending.clone()
    };
    for (name, spending) in [("spending", spending), ("spending_tagged", tagged)] {
        check(name, &encode_spending(&spending).expect("a form"));
        let bytes = fs::read(path(name)).expect("the golden file");
        assert_eq!(decode_spending(&bytes).expect("a record"), spending);
    }
}

#[test]
fn changes_to_the_directory_have_the_form_that_is_stored() {
    for (name, change) in samples::directory_changes() {
        check(name, &encode_directory_change(&change).expect("a form"));
        let bytes = fs::read(path(name)).expect("the golden file");
        let decoded = decode_directory_change(&bytes);
        assert_eq!(decoded.expect("a record"), change, "{name}");
    }
}

/// Compares the text, so that also the order of the fields counts. A form that differs is left beside
/// the build, to be compared by eye.
fn check(name: &str, bytes: &[u8]) {
    let golden = fs::read_to_string(path(name)).unwrap_or_default();
    let actual = pretty(bytes);
    if actual != golden {
        let left = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
        let written = fs::write(&left, &actual);
        panic!(
            "the stored form of {name} has changed: see {} ({written:?})",
            left.display()
        );
    }
}

fn pretty(bytes: &[u8]) -> String {
    format!("{:#}\n", json(bytes))
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|fault| panic!("{fault}"))
}

fn path(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/v1");
    PathBuf::from(folder).join(format!("{name}.json"))
}

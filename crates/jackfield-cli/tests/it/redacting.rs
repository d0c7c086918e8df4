//! What is left of a session once it is redacted: a mark is put into every text that may have one.

use std::collections::BTreeSet;

use jackfield_domain::fact::Envelope;
use jackfield_export::{Format, document};
use jackfield_testkit::arb;
use proptest::prelude::*;
use serde_json::Value;

use crate::exporting::{session, steps};

/// Puts a mark into every text of some JSON that may have one, one after another.
fn mark(value: &mut Value, holds: &mut dyn FnMut(&[String], &str) -> bool, path: &mut Vec<String>) {
    let step = |key: String,
                inner: &mut Value,
                holds: &mut dyn FnMut(&[String], &str) -> bool,
                path: &mut Vec<String>| {
        path.push(key);
        mark(inner, holds, path);
        path.pop();
    };
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter_mut().enumerate() {
                step(place.to_string(), item, holds, path);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                step(key.clone(), field, holds, path);
            }
        }
        Value::String(text) => {
            let new = format!("{text} {MARK}");
            if holds(path, &new) {
                *text = new;
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) => {}
    }
}

/// The places of a document in which a mark is.
fn places(value: &Value, place: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| places(item, place, found)),
        Value::Object(fields) => {
            for (key, field) in fields {
                assert!(!key.contains(MARK), "{key}");
                let of = fields.get("type").and_then(Value::as_str);
                let of = of.map_or_else(String::new, |of| format!("[{of}]"));
                places(field, &format!("{place}{of}.{key}"), found);
            }
        }
        Value::String(text) => {
            if text.contains(MARK) {
                found.insert(place.to_owned());
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) => {}
    }
}

const MARK: &str = "zebra";

/// The same steps with a mark in every text that may have one.
fn with_marks(steps: &[Envelope]) -> Vec<Envelope> {
    let marked = steps.iter().map(|step| {
        let record = jackfield_record::encode_envelope(step).unwrap();
        let mut value: Value = serde_json::from_slice(&record).unwrap();
        let mut kept = value.clone();
        let holds = &mut |path: &[String], new: &str| {
            let mut tried = kept.clone();
            let path = path
                .iter()
                .map(|key| key.replace('~', "~0").replace('/', "~1"));
            let pointer: String = path.map(|key| format!("/{key}")).collect();
            *tried.pointer_mut(&pointer).unwrap() = Value::from(new);
            let bytes = serde_json::to_vec(&tried).unwrap();
            let holds = jackfield_record::decode_envelope(&bytes).is_ok();
            if holds {
                kept = tried;
            }
            holds
        };
        mark(&mut value, holds, &mut Vec::new());
        jackfield_record::decode_envelope(&serde_json::to_vec(&value).unwrap()).unwrap()
    });
    marked.collect()
}

/// Where marks are in the document of these steps once it is redacted.
fn marks_left(steps: &[Envelope]) -> BTreeSet<String> {
    let whole = document(&session(), steps, &[], Format::Json, false);
    assert!(steps.is_empty() || whole.contains(MARK), "{whole}");
    let json = document(&session(), steps, &[], Format::Json, true);
    let mut found = BTreeSet::new();
    places(&serde_json::from_str(&json).unwrap(), "", &mut found);
    found
}

#[test]
fn a_mark_in_every_text_stays_where_people_and_models_said_it_alone() {
    let steps = with_marks(&steps());
    insta::assert_debug_snapshot!(marks_left(&steps));
    // And not in what is given to people, but in quotes and as names.
    let markdown = document(&session(), &steps, &[], Format::Markdown, true);
    let lines = markdown.lines().filter(|line| line.contains(MARK));
    let others: Vec<_> = lines.filter(|line| !line.starts_with("> ")).collect();
    insta::assert_debug_snapshot!(others);
}

proptest! {
    // Each case is dear.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 3))]

    #[test]
    fn no_mark_stays_where_only_tools_said_it(steps in arb::envelopes(0, 8)) {
        let steps = with_marks(&steps);
        let whole = document(&session(), &steps, &[], Format::Json, true);
        let mut found = BTreeSet::new();
        places(&serde_json::from_str(&whole).unwrap(), "", &mut found);
        for place in &found {
            let is_said = SAID.iter().any(|said| place.ends_with(said));
            prop_assert!(is_said, "{place} in {whole}");
        }
    }
}

/// The fields of a redacted document that may have what was said, and names.
const SAID: [&str; 27] = [
    ".imported_from.source",
    "[text].text",
    "[refusal].text",
    "[tool_call].name",
    ".answer",
    ".calls.name",
    ".calls.source.server",
    ".calls.source.tool",
    ".cost.currency",
    ".questions.ended.by",
    ".questions.ended.reason",
    ".end.failure.message",
    ".failure.message",
    ".end.sequence",
    ".finish.sequence",
    ".media_type",
    ".finish",
    ".messages.model",
    ".targets.model",
    ".turns.model",
    ".turns.route",
    ".turns.tools",
    ".notes.code",
    ".notes.path",
    "[other].kind",
    ".system",
    ".turns.waits.message",
];

//! Large texts, cut out of records and put back.
#![expect(
    clippy::expect_used,
    reason = "a test ends where something is not as it should be"
)]

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::message::Message;
use jackfield_record::{Cut, DecodeError, MAX_TEXT, cut, decode_envelope, encode_envelope, join};
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::samples;

/// A step that says these texts, beside what a fork says.
fn saying(texts: &[String]) -> Envelope {
    let mut step = samples::session_forked();
    for fact in &mut step.facts {
        if let Fact::SessionForked { messages, .. } = fact {
            let said = texts.iter().map(|text| Arc::new(Message::user(&**text)));
            *messages = Arc::new(said.collect());
        }
    }
    step
}

/// The record with its parts, as a store would put it together again.
fn joined(cut: &Cut) -> Result<Vec<u8>, DecodeError> {
    let parts: HashMap<Digest, &[u8]> = cut
        .parts
        .iter()
        .map(|part| (part.digest, &*part.bytes))
        .collect();
    let joined = join(&cut.record, |digest, whole| {
        let part = parts.get(digest);
        whole.extend_from_slice(part.copied().unwrap_or_default());
        Ok::<_, Infallible>(part.is_some())
    });
    let Ok(joined) = joined;
    joined.map(std::borrow::Cow::into_owned)
}

fn check(step: &Envelope) -> Cut {
    let record = encode_envelope(step).expect("a form");
    let cut = cut(record.clone());
    assert_eq!(cut.length, record.len());
    let back = joined(&cut).expect("the record");
    assert!(back == record, "another record came back");
    assert_eq!(decode_envelope(&back).expect("a record"), *step);
    cut
}

/// A text that takes this many bytes in a record.
fn text(size: usize, piece: &str) -> String {
    let written = serde_json::to_string(piece).expect("JSON").len() - 2;
    let mut text = piece.repeat(size / written);
    text.push_str(&"x".repeat(size % written));
    text
}

#[test]
fn a_text_is_cut_out_from_the_limit_on() {
    for (size, parts) in [(MAX_TEXT - 1, 0), (MAX_TEXT, 0), (MAX_TEXT + 1, 1)] {
        for piece in ["x", "\"", "\\", "\\\\\"", "\u{1}", "图", "}\n"] {
            let step = saying(&[text(size, piece), "beside".to_owned()]);
            let cut = check(&step);
            // The fork is told of twice, and its text is kept as often as it stands there.
            assert_eq!(cut.parts.len(), 2 * parts, "{size} {piece:?}");
            let left = cut.record.len();
            assert!(parts == 0 || left < 10_000, "{left}");
            assert!(cut.parts.iter().all(|part| part.bytes.len() == size));
        }
    }
}

#[test]
fn what_is_stored_of_a_step_has_its_form() {
    let cut = check(&saying(&["x".repeat(70_000)]));
    let record = String::from_utf8(cut.record).expect("text");
    let (head, left) = record.split_once('\n').expect("two lines");
    let digest = Digest::of("x".repeat(70_000).as_bytes());
    let at = left.find("\"\"").expect("a place") + 1;
    let begin =
        format!("{{\"cut\":[{{\"at\":{at},\"bytes\":70000,\"digest\":\"{digest}\"}},{{\"at\":");
    assert!(head.starts_with(&begin), "{head}");
    assert!(left.starts_with("{\"v\":1,\"step\":{"), "{left}");
}

#[test]
fn what_looks_like_a_cut_record_is_a_text_like_any_other() {
    let large = check(&saying(&["x".repeat(70_000)]));
    let look = String::from_utf8(large.record).expect("text");
    for times in [1, 2, 1 + MAX_TEXT / look.len()] {
        let cut = check(&saying(&[look.repeat(times), look.clone()]));
        assert_eq!(cut.parts.is_empty(), times < 3);
    }
}

#[test]
fn a_part_that_is_gone_or_another_is_told() {
    let whole = check(&saying(&["x".repeat(70_000)]));
    let mut gone = whole.clone();
    gone.parts.clear();
    let mut changed = whole.clone();
    changed
        .parts
        .iter_mut()
        .for_each(|part| part.bytes[9] = b'y');
    let mut longer = whole;
    longer
        .parts
        .iter_mut()
        .for_each(|part| part.bytes.push(b'x'));
    for damaged in [gone, changed, longer] {
        let error = joined(&damaged).expect_err("damage");
        assert!(
            matches!(error, DecodeError::PartMissing { .. }),
            "{error:?}"
        );
        assert!(!error.is_newer());
    }
}

#[test]
fn nothing_is_put_where_nothing_can_have_been() {
    let digest = Digest::of(b"");
    for (at, left) in [
        (0, "\"\""),
        (2, "\"\""),
        (3, "\"\""),
        (usize::MAX, "\"\""),
        (1, "\"a\""),
        (1, ""),
    ] {
        let record =
            format!("{{\"cut\":[{{\"at\":{at},\"bytes\":0,\"digest\":\"{digest}\"}}]}}\n{left}");
        let cut = Cut {
            length: 0,
            parts: vec![jackfield_record::Part {
                bytes: Vec::new(),
                digest,
            }],
            record: record.into_bytes(),
        };
        let error = joined(&cut).expect_err("damage");
        assert!(
            matches!(error, DecodeError::Malformed { .. }),
            "{at} {left}: {error:?}"
        );
    }
}

proptest! {
    // Each case is dear.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 3))]

    #[test]
    fn every_step_comes_back(
        envelope in arb::envelope(),
        texts in vec((0_usize..4, MAX_TEXT - 3..MAX_TEXT + 4, ".{1,4}"), 0..4),
    ) {
        let texts: Vec<String> = texts
            .iter()
            .map(|(times, size, piece)| text(size * times, piece))
            .collect();
        check(&saying(&texts));
        let mut step = envelope;
        step.facts.extend(saying(&texts).facts);
        check(&step);
    }

    #[test]
    fn no_changed_byte_breaks_the_reader(
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let whole = check(&saying(&["x".repeat(70_000)]));
        let mut cut = whole.clone();
        for (place, byte) in changes {
            let place = place.index(cut.record.len().min(400));
            cut.record[place] = byte;
        }
        // It may be put together to something else, or not; it may not panic.
        if let Ok(record) = joined(&cut) {
            let _read = decode_envelope(&record).is_ok();
        }
    }
}

//! Recordings: a session in a file comes back equal, and what is no recording says so with its line.
#![expect(clippy::expect_used, reason = "a test that cannot go on should stop")]

use jackfield_domain::ids::SessionId;
use jackfield_record::{Recording, RecordingError};
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_session_comes_back_equal(
        steps in vec(arb::envelope(), 1..4),
        deliveries in vec(arb::delivery(), 0..4),
    ) {
        let recording = recording(steps, deliveries);
        let lines = recording.to_lines().expect("a form");
        prop_assert_eq!(lines.lines().count(), 1 + recording.steps.len() + recording.deliveries.len());
        prop_assert_eq!(Recording::parse(&lines).expect("a recording"), recording);
    }

    #[test]
    fn nothing_that_is_read_breaks_the_reader(text in ".{0,200}", cut in any::<prop::sample::Index>()) {
        let _none = Recording::parse(&text);
        let header = "{\"format\":\"jackfield-facts\",\"v\":1,\"session\":\"s\"}\n";
        let _none = Recording::parse(&format!("{header}{text}"));
        let _none = Recording::parse(&header[..cut.index(header.len())]);
    }
}

#[test]
fn what_is_no_recording_says_so_with_its_line() {
    let told = |text: &str| {
        Recording::parse(text)
            .expect_err("no recording")
            .to_string()
    };
    assert!(told("").starts_with("this is no recording"));
    assert!(told("# Title\n").starts_with("this is no recording"));
    assert!(told("{\"v\":1,\"step\":{}}").starts_with("this is no recording"));
    let header = "{\"format\":\"jackfield-facts\",\"v\":1,\"session\":\"s\"}";
    assert_eq!(
        told(&format!("{header}\n\n{{}}\n")),
        "line 3 cannot be read"
    );
    let newer = header.replace("\"v\":1", "\"v\":2");
    let why = "the recording has version 2, and only versions up to 1 are known";
    assert_eq!(told(&newer), why);
    let nobody = header.replace("\"s\"", "\"a b\"");
    assert_eq!(
        told(&nobody),
        "the session of the recording has no valid id"
    );
}

#[test]
fn what_was_cut_off_is_missed() {
    let steps = vec![crate::samples::turn_ended(), crate::samples::turn_resumed()];
    let told = |text: &str| Recording::parse(text).expect_err("not whole").to_string();
    let lines = recording(steps, Vec::new()).to_lines().expect("a form");
    let whole: Vec<&str> = lines.lines().collect();
    let cut = |lines: usize| whole[..lines].join("\n");
    assert_eq!(told(&cut(2)), "the recording holds 1 of its 2 steps");
    assert_eq!(told(&cut(1)), "the recording holds 0 of its 2 steps");
    let waits = lines.replacen("\"deliveries\":0", "\"deliveries\":1", 1);
    assert_eq!(told(&waits), "the recording holds 0 of its 1 deliveries");
    // The first recordings did not say how much is in them.
    let silent = lines.replacen(",\"steps\":2,\"deliveries\":0", "", 1);
    assert_ne!(silent, lines);
    assert!(Recording::parse(&silent).is_ok());
    let header = silent.lines().next().unwrap_or_default();
    assert_eq!(told(header), "the recording holds no step");
}

#[test]
fn a_step_that_is_missing_is_missed() {
    let steps = vec![crate::samples::turn_ended(), crate::samples::turn_resumed()];
    let lines = recording(steps, Vec::new()).to_lines().expect("a form");
    let mut left: Vec<&str> = lines.lines().collect();
    left.remove(1);
    let read = Recording::parse(&left.join("\n"));
    let Err(RecordingError::Misplaced {
        expected: 0,
        found: 1,
        line: 2,
    }) = read
    else {
        panic!("{read:?}");
    };
}

fn recording(
    mut steps: Vec<jackfield_domain::fact::Envelope>,
    deliveries: Vec<jackfield_domain::wait::Delivery>,
) -> Recording {
    for (number, step) in (0..).zip(&mut steps) {
        step.step = number;
    }
    Recording {
        deliveries,
        session: SessionId::parse("session").expect("a valid id"),
        steps,
    }
}

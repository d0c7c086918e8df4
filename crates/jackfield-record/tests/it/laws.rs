//! What holds for every record: nothing is lost, and nothing that is read can break the reader.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::Setup;
use jackfield_record::{
    DecodeError, EncodeError, decode_delivery, decode_directory_change, decode_envelope,
    decode_spending, decode_wait, encode_delivery, encode_directory_change, encode_envelope,
    encode_spending, encode_wait,
};
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

proptest! {
    #[test]
    fn a_step_comes_back_equal(envelope in arb::envelope()) {
        let bytes = encode_envelope(&envelope).expect("a form");
        prop_assert_eq!(decode_envelope(&bytes).expect("a record"), envelope);
    }

    #[test]
    fn a_delivery_comes_back_equal(delivery in arb::delivery()) {
        let bytes = encode_delivery(&delivery).expect("a form");
        prop_assert_eq!(decode_delivery(&bytes).expect("a record"), delivery);
    }


    #[test]
    fn a_wait_comes_back_equal(wait in arb::wait()) {
        let bytes = encode_wait(&wait).expect("a form");
        prop_assert_eq!(decode_wait(&bytes).expect("a record"), wait);
    }

    #[test]
    fn a_change_to_the_directory_comes_back_equal(change in arb::directory_change()) {
        let bytes = encode_directory_change(&change).expect("a form");
        prop_assert_eq!(decode_directory_change(&bytes).expect("a record"), change);
    }

    #[test]
    fn a_spending_record_comes_back_equal(spending in arb::spending_record()) {
        let bytes = encode_spending(&spending).expect("a form");
        prop_assert_eq!(decode_spending(&bytes).expect("a record"), spending);
    }

    #[test]
    fn the_form_is_a_function_of_the_value(envelope in arb::envelope()) {
        let bytes = encode_envelope(&envelope).expect("a form");
        let again = encode_envelope(&decode_envelope(&bytes).expect("a record")).expect("a form");
        prop_assert_eq!(bytes, again);
    }

    #[test]
    fn every_fraction_comes_back_to_the_bit(setup in arb::setup(), bits in any::<u64>()) {
        let fraction = f64::from_bits(bits);
        let settings = Settings { temperature: Some(fraction), ..Settings::default() };
        let written = encode_envelope(&opened(settings, setup));
        if fraction.is_finite() {
            let read = decode_envelope(&written.expect("a form")).expect("a record");
            let [Fact::TurnOpened { setup, .. }] = &read.facts[..] else {
                panic!("{read:?}");
            };
            prop_assert_eq!(setup.settings.temperature.map(f64::to_bits), Some(bits));
        } else {
            let refused = matches!(written, Err(EncodeError::Unwritable { .. }));
            prop_assert!(refused, "{fraction} was written");
        }
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in vec(any::<u8>(), 0..64)) {
        prop_assert!(decode_envelope(&bytes).is_err());
        prop_assert!(decode_delivery(&bytes).is_err());
    }

    #[test]
    fn no_changed_byte_breaks_the_reader(
        envelope in arb::envelope(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = encode_envelope(&envelope).expect("a form");
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        // Some changes make another valid record; none may panic.
        if let Ok(other) = decode_envelope(&bytes) {
            encode_envelope(&other).expect("what was read has a form");
        }
    }

    #[test]
    fn no_changed_value_breaks_the_reader(
        envelope in arb::envelope(),
        place in any::<Index>(),
        json in arb::json(),
    ) {
        let bytes = encode_envelope(&envelope).expect("a form");
        let mut record: Value = serde_json::from_slice(&bytes).expect("JSON");
        let mut values = Vec::new();
        pointers(&record, &mut String::new(), &mut values);
        let pointer = &values[place.index(values.len())];
        *record.pointer_mut(pointer).expect("a place") = json;
        if let Ok(other) = decode_envelope(&serde_json::to_vec(&record).expect("JSON")) {
            encode_envelope(&other).expect("what was read has a form");
        }
    }

    #[test]
    fn a_record_cut_off_is_malformed(envelope in arb::envelope(), end in any::<Index>()) {
        let bytes = encode_envelope(&envelope).expect("a form");
        let cut = decode_envelope(&bytes[..end.index(bytes.len())]);
        let malformed = matches!(cut, Err(DecodeError::Malformed { .. }));
        prop_assert!(malformed, "{cut:?}");
    }
}

/// A step that opens a turn with these settings.
fn opened(settings: Settings, setup: Setup) -> Envelope {
    let setup = Arc::new(Setup {
        settings: Arc::new(settings),
        ..setup
    });
    let mut envelope = crate::samples::turn_opened();
    envelope.facts.truncate(1);
    if let [Fact::TurnOpened { setup: slot, .. }] = &mut envelope.facts[..] {
        *slot = setup;
    }
    envelope
}

/// The places of all values in a record.
fn pointers(value: &Value, here: &mut String, found: &mut Vec<String>) {
    found.push(here.clone());
    let length = here.len();
    let mut below = |name: &str, value: &Value| {
        here.push('/');
        here.push_str(&name.replace('~', "~0").replace('/', "~1"));
        pointers(value, here, found);
        here.truncate(length);
    };
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                below(&n.to_string(), item);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                below(name, value);
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

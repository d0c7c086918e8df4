//! Whatever bytes come, they are served or refused with an error of the vendor's form.

use jackfield_dialect_kit::serve::{ServeDialect as _, ServeErrorKind};
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::profile::Profile;
use jackfield_testkit::arrays;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::super::arb;
use super::super::read::owner;
use super::super::request_laws::made;

fn check(body: &[u8]) -> Result<(), TestCaseError> {
    let dialect = ChatCompletions::new();
    let Err(error) = dialect.request(&|_| None, body, &|_| owner()) else {
        return Ok(());
    };
    let known = matches!(
        error.kind,
        ServeErrorKind::Invalid | ServeErrorKind::Unsupported
    );
    prop_assert!(known, "{error:?}");
    prop_assert!(error.param.is_some());
    let refused = dialect.error(&error, "req_1");
    prop_assert_eq!(refused.status, 400);
    let told: Value = serde_json::from_slice(&refused.body).expect("JSON");
    prop_assert!(told["error"]["message"].is_string());
    prop_assert!(refused.body.len() < 4096, "an error is short");
    Ok(())
}

fn sound() -> impl Strategy<Value = Vec<u8>> {
    arb::request().prop_map(|request| {
        let (body, _) = made(&request, &Profile::OPENAI).expect("it can be said");
        serde_json::to_vec(&body).expect("JSON")
    })
}

/// Fields that may hold anything.
const ANYTHING: [&str; 7] = [
    "arguments",
    "custom_a",
    "custom_b",
    "extra_content",
    "parameters",
    "schema",
    "video_url",
];

proptest! {
    #[test]
    fn any_bytes(body in vec(any::<u8>(), 0..200)) {
        check(&body)?;
    }

    #[test]
    fn bodies_with_bytes_changed(
        mut body in sound(),
        changes in vec((any::<Index>(), any::<u8>()), 1..8),
        end in any::<Index>(),
    ) {
        for (place, byte) in changes {
            let place = place.index(body.len());
            body[place] = byte;
        }
        check(&body)?;
        body.truncate(end.index(body.len()));
        check(&body)?;
    }

    #[test]
    fn bodies_with_an_array_where_an_object_belongs(body in sound()) {
        let whole = serde_json::from_slice(&body).expect("JSON");
        if ChatCompletions::new().request(&|_| None, &body, &|_| owner()).is_ok() {
            for (place, changed) in arrays::arrays_for_objects(&whole, &ANYTHING) {
                let body = changed.to_string();
                let read = ChatCompletions::new().request(&|_| None, body.as_bytes(), &|_| owner());
                prop_assert!(read.is_err(), "{}: {}", place, body);
                check(body.as_bytes())?;
            }
        }
    }

    #[test]
    fn bodies_with_a_value_changed(
        body in sound(),
        place in any::<Index>(),
        value in prop::sample::select(vec!["null", "[]", "{}", "\"\"", "-1", "1e400", "true", "\"\\ud800\""]),
    ) {
        // A value begins behind each of these.
        let places: Vec<usize> = body
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b':')
            .map(|(place, _)| place + 1)
            .collect();
        prop_assume!(!places.is_empty());
        let at = places[place.index(places.len())];
        let rest = &body[at..];
        let end = rest.iter().position(|byte| b",}]".contains(byte)).unwrap_or(rest.len());
        let changed = [&body[..at], value.as_bytes(), &rest[end..]].concat();
        check(&changed)?;
    }
}

#[test]
fn bodies_that_are_made_to_hurt() {
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(10_000), close.repeat(10_000));
        format!(r#"{{"model":"m","messages":[{{"role":"user","content":"a"}}],"x":{open}{close}}}"#)
    };
    let long = "a".repeat(1_000_000);
    let bodies = [
        String::new(),
        "null".to_owned(),
        "[]".to_owned(),
        deep("[", "]"),
        deep(r#"{"a":"#, "}"),
        format!(r#"{{"model":"m","messages":[{{"role":"{long}"}}]}}"#),
        format!(r#"{{"{long}":1}}"#),
        r#"{"model":"a","model":"b","messages":[]}"#.to_owned(),
        r#"{"model":"m","messages":[{"role":"user","content":"\ud800"}]}"#.to_owned(),
    ];
    for body in &bodies {
        check(body.as_bytes()).expect("it is refused in the vendor's form");
        let read = ChatCompletions::new().request(&|_| None, body.as_bytes(), &|_| owner());
        drop(read.expect_err("it is refused"));
    }
}

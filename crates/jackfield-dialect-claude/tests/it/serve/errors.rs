//! Errors: what a client is told, and that the documentation says the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_kit::serve::{ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use serde_json::{Value, json};

#[test]
fn the_table_of_the_documentation_is_what_is_told() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http.md");
    let page = fs::read_to_string(page).expect("the page of the gateway");
    let errors = page.split("\n## ").find(|part| part.starts_with("Errors"));
    let errors = errors.expect("a part about errors");
    let mut documented = BTreeMap::new();
    for line in errors.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        documented.insert(cells[1].trim_matches('`').to_owned(), (cells[3], cells[4]));
    }
    let mut told = BTreeMap::new();
    for kind in ServeErrorKind::one_of_each() {
        let later = if kind.may_pass_later() { "yes" } else { "no" };
        let code = kind.code();
        let refused = ClaudeServer.error(&ServeError::new(kind, "It failed."), "req_1");
        let body: Value = serde_json::from_slice(&refused.body).expect("JSON");
        assert_eq!(body["error"]["details"]["error_code"], code);
        let kind = body["error"]["type"].as_str().expect("a type");
        let line = (later, format!("{} `{kind}`", refused.status));
        if let Some(before) = told.insert(code.to_owned(), line.clone()) {
            assert_eq!(before, line, "one code is told in one way: {code}");
        }
    }
    let told: BTreeMap<String, (&str, &str)> = told
        .iter()
        .map(|(code, (later, line))| (code.clone(), (*later, line.as_str())))
        .collect();
    assert_eq!(documented, told);
}

#[test]
fn an_error_names_the_place_once_and_the_request() {
    let error = ServeError::new(ServeErrorKind::Invalid, "it has to be a text").at("messages.0");
    let refused = ClaudeServer.error(&error, "req_7");
    let body: Value = serde_json::from_slice(&refused.body).expect("JSON");
    let expected = json!({
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "messages.0: it has to be a text",
            "details": { "error_code": "invalid_request" },
        },
        "request_id": "req_7",
    });
    assert_eq!(body, expected);
    let named = ServeError::new(ServeErrorKind::Invalid, "messages.0: no").at("messages.0");
    let body: Value = serde_json::from_slice(&ClaudeServer.error(&named, "r").body).expect("JSON");
    assert_eq!(body["error"]["message"], "messages.0: no");
}

#[test]
fn advice_on_when_to_come_again_is_passed_on() {
    let error = |kind| ServeError::new(kind, "Later.");
    let many = ClaudeServer.error(&error(ServeErrorKind::TooMany { retry_after: 7 }), "r");
    let millis = std::time::Duration::from_millis;
    assert_eq!((many.status, many.retry_after), (429, Some(millis(7000))));
    let mut failure = ModelFailure::new(
        ModelFailureKind::Overloaded,
        Phase::BeforeFirstDelta,
        "Busy.",
    );
    failure.advice =
        jackfield_domain::failure::RetryAdvice::After(std::time::Duration::from_millis(2500));
    let kind = ServeErrorKind::Model(Box::new(failure));
    assert!(kind.may_pass_later());
    let refused = ClaudeServer.error(&error(kind), "r");
    assert_eq!(refused.retry_after, Some(millis(2500)));
}

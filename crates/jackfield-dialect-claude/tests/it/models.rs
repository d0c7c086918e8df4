//! The list of models, page after page.

use jackfield_dialect_claude::models::from_wire;
use jackfield_domain::listing::ListedModel;

#[test]
fn a_page_says_what_the_next_one_comes_after() {
    let page = br#"{"data":[{"type":"model","id":"claude-opus-5-5","display_name":"Claude Opus 5.5","created_at":"2026-08-01T00:00:00Z","max_input_tokens":1000000,"max_tokens":128000}],"has_more":true,"first_id":"claude-opus-5-5","last_id":"claude-opus-5-5"}"#;
    let (models, more) = from_wire(page).unwrap();
    let known = ListedModel {
        context: Some(1_000_000),
        // 2026-08-01
        created: Some(1_785_542_400),
        name: Some("Claude Opus 5.5".into()),
        output: Some(128_000),
        ..ListedModel::new("claude-opus-5-5")
    };
    assert_eq!(
        (models, more.as_deref()),
        (vec![known], Some("claude-opus-5-5"))
    );
    let (models, more) = from_wire(br#"{"data":[{"id":"a"}],"has_more":true}"#).unwrap();
    assert_eq!(
        (models, more.as_deref()),
        (vec![ListedModel::new("a")], Some("a"))
    );
    let (models, more) = from_wire(br#"{"data":[],"has_more":false,"last_id":"z"}"#).unwrap();
    assert_eq!((models, more), (Vec::new(), None));
}

#[test]
fn what_is_no_page_is_an_error() {
    for body in ["", "[]", "{}", r#"{"data": [{}]}"#] {
        assert!(from_wire(body.as_bytes()).is_err(), "{body}");
    }
}

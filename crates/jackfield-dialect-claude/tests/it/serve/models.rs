//! The list of models for a client.

use jackfield_dialect_claude::models::{from_wire, model_body, page};
use jackfield_dialect_kit::serve::ServeErrorKind;
use jackfield_domain::listing::ListedModel;
use serde_json::{Value, json};

fn models(count: usize) -> Vec<ListedModel> {
    (0..count)
        .map(|n| ListedModel::new(format!("m{n:02}")))
        .collect()
}

fn asked(query: &[(&str, &str)]) -> Value {
    let query = |name: &str| {
        let found = query.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    serde_json::from_slice(&page(&models(50), &query).expect("a page")).expect("JSON")
}

fn ids(page: &Value) -> Vec<&str> {
    let data = page["data"].as_array().expect("models");
    data.iter()
        .map(|model| model["id"].as_str().expect("an id"))
        .collect()
}

#[test]
fn pages_follow_each_other_in_both_directions() {
    let first = asked(&[]);
    assert_eq!((ids(&first).len(), ids(&first)[0]), (20, "m00"));
    assert_eq!(first["has_more"], true);
    assert_eq!(
        (&first["first_id"], &first["last_id"]),
        (&json!("m00"), &json!("m19"))
    );
    let last = asked(&[("after_id", "m46"), ("limit", "3")]);
    assert_eq!(ids(&last), ["m47", "m48", "m49"]);
    assert_eq!(last["has_more"], false);
    let back = asked(&[("before_id", "m05"), ("limit", "2")]);
    assert_eq!(
        (ids(&back), &back["has_more"]),
        (vec!["m03", "m04"], &json!(true))
    );
    let between = asked(&[("after_id", "m01"), ("before_id", "m04")]);
    assert_eq!(ids(&between), ["m02", "m03"]);
    let none = asked(&[("after_id", "m49")]);
    let empty = json!({ "data": [], "has_more": false, "first_id": null, "last_id": null });
    assert_eq!(none, empty);
    assert_eq!(
        ids(&asked(&[("after_id", "m04"), ("before_id", "m01")])),
        [""; 0]
    );
}

#[test]
fn a_parameter_that_is_none_is_refused_by_name() {
    for (name, value) in [
        ("limit", "0"),
        ("limit", "1001"),
        ("limit", "all"),
        ("after_id", "x"),
        ("before_id", "x"),
    ] {
        let query = |asked: &str| (asked == name).then(|| value.to_owned());
        let error = page(&models(3), &query).expect_err(name);
        assert_eq!(
            (error.kind, error.param.as_deref()),
            (ServeErrorKind::Invalid, Some(name))
        );
    }
}

#[test]
fn a_model_is_told_with_what_is_known_of_it() {
    let known = ListedModel {
        context: Some(1000),
        name: Some("Model M".into()),
        output: Some(100),
        ..ListedModel::new("m")
    };
    let told: Value = serde_json::from_slice(&model_body(&known)).expect("JSON");
    let expected = json!({
        "type": "model", "id": "m", "display_name": "Model M", "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active", "max_input_tokens": 1000, "max_tokens": 100,
    });
    assert_eq!(told, expected);
    let listed = page(std::slice::from_ref(&known), &|_| None).expect("a page");
    let (back, next) = from_wire(&listed).expect("a list");
    let back: Vec<_> = back
        .into_iter()
        .map(|model| ListedModel {
            more: serde_json::Map::new(),
            ..model
        })
        .collect();
    assert_eq!((back, next), (vec![known], None));
    let bare: Value = serde_json::from_slice(&model_body(&ListedModel::new("b"))).expect("JSON");
    assert_eq!(bare["display_name"], "b");
    let said = br#"{"data":[{"type":"model","id":"claude-opus-5-5","created_at":"2026-08-01T10:00:00Z","lifecycle":"deprecated"}]}"#;
    let (models, _) = from_wire(said).expect("a list");
    let alias = ListedModel {
        id: "opus".into(),
        ..models[0].clone()
    };
    let told: Value = serde_json::from_slice(&model_body(&alias)).expect("JSON");
    assert_eq!(told["created_at"], "2026-08-01T10:00:00Z");
    assert_eq!(told["lifecycle"], "deprecated");
}

#[test]
fn a_model_has_all_fields_of_its_provider_alone_and_in_the_list() {
    let capabilities = json!({
        "batch": { "supported": true },
        "thinking": { "supported": true, "types": { "adaptive": { "supported": true } } },
    });
    let upstream = json!({
        "type": "model", "id": "claude-opus-5-5", "display_name": "Claude Opus 5.5", "line": "opus",
        "created_at": "2026-08-01T10:00:00Z", "lifecycle": "deprecated", "deprecated_at": "2026-11-01T00:00:00Z",
        "retires_at": null, "max_input_tokens": 1000, "max_tokens": 100, "capabilities": capabilities,
    });
    let said = json!({ "data": [upstream], "has_more": false }).to_string();
    let (models, _) = from_wire(said.as_bytes()).expect("a list");
    let one: Value = serde_json::from_slice(&model_body(&models[0])).expect("JSON");
    assert_eq!(one, upstream);
    let page = page(&models, &|_| None).expect("a page");
    let page: Value = serde_json::from_slice(&page).expect("JSON");
    assert_eq!(page["data"], json!([upstream]));
    // Other vendors have fields of these names.
    let foreign = json!({ "capabilities": { "vision": true }, "line": 3, "type": "base", "description": "small" });
    let foreign = ListedModel {
        more: foreign.as_object().expect("an object").clone(),
        ..ListedModel::new("small")
    };
    let expected = json!({
        "type": "model", "id": "small", "display_name": "small", "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active", "max_input_tokens": null, "max_tokens": null, "description": "small",
    });
    let told: Value = serde_json::from_slice(&model_body(&foreign)).expect("JSON");
    assert_eq!(told, expected);
}

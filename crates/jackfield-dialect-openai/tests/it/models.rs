//! The list of models, as different servers tell it.

use jackfield_dialect_openai::models::{from_wire, one_to_wire};
use jackfield_domain::listing::ListedModel;
use serde_json::{Map, json};

#[test]
fn what_servers_tell_besides_the_name_is_understood() {
    let list = json!({ "object": "list", "models": [], "data": [
        { "id": "gpt", "object": "model", "created": 1, "owned_by": "openai" },
        { "id": "vllm", "max_model_len": 32_768, "root": "/models/x" },
        { "id": "llama", "meta": { "n_ctx_train": 4096, "n_params": 7 } },
        { "id": "mistral", "name": "mistral", "max_context_length": 131_072 },
        { "id": "router", "name": "A Router: Model", "context_length": 8192, "top_provider": { "max_completion_tokens": 1000 } },
        { "id": "groq", "context_window": 5, "max_completion_tokens": 6, "context_length": "long" },
        { "object": "model" },
        { "id": "" },
        7,
    ]});
    let listed = from_wire(list.to_string().as_bytes()).unwrap();
    let model = |id: &str, name: Option<&str>, context, output| ListedModel {
        context,
        name: name.map(Into::into),
        output,
        ..ListedModel::new(id)
    };
    let briefly = listed.into_iter().map(|listed| ListedModel {
        created: None,
        more: Map::new(),
        owner: None,
        ..listed
    });
    assert_eq!(
        briefly.collect::<Vec<_>>(),
        [
            model("gpt", None, None, None),
            model("vllm", None, Some(32_768), None),
            model("llama", None, Some(4096), None),
            model("mistral", None, Some(131_072), None),
            model("router", Some("A Router: Model"), Some(8192), Some(1000)),
            model("groq", None, Some(5), Some(6)),
        ]
    );
}

#[test]
fn what_a_provider_says_of_a_model_is_told_to_clients() {
    let said = json!({ "data": [{
        "id": "org/model", "object": "model", "created": 1_780_000_000, "owned_by": "org", "max_model_len": 32_768,
        "root": "/models/x", "permission": [{ "id": "p" }], "context_length": "long",
    }] });
    let listed = from_wire(said.to_string().as_bytes()).unwrap();
    let told = one_to_wire(
        &ListedModel {
            id: "fast".into(),
            ..listed[0].clone()
        },
        0,
    );
    assert_eq!(
        told,
        json!({
            "id": "fast", "object": "model", "created": 1_780_000_000, "owned_by": "org", "max_model_len": 32_768,
            "root": "/models/x", "permission": [{ "id": "p" }], "context_length": 32_768,
        })
    );
    // A list that is all of one entry has no use.
    let long =
        json!({ "data": [{ "id": "m", "description": "x".repeat(20_000), "owned_by": "org" }] });
    let listed = from_wire(long.to_string().as_bytes()).unwrap();
    assert_eq!(listed[0].more, Map::new());
    assert_eq!(listed[0].owner.as_deref(), Some("org"));
}

#[test]
fn what_is_no_list_is_an_error() {
    for body in ["", "[]", "{}", r#"{"data": 5}"#, r#"{"models": []}"#] {
        assert!(from_wire(body.as_bytes()).is_err(), "{body}");
    }
    assert_eq!(from_wire(br#"{"data": []}"#).unwrap(), []);
}

//! Servers that refuse fields by name: those that are ours are left out, those of clients are told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::failure::{ModelFailureKind, Phase};
use jackfield_domain::ids::ToolName;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::Extension;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_ports::call_context::{CallContext, LeasePassed};
use jackfield_ports::chat_model::ChatModel as _;
use jackfield_ports::lease::LeaseDeadline;
use jackfield_ports::upstream::Upstream as _;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_openai::config::{Api, OpenAiConfig, Profile};
use jackfield_provider_openai::upstream::upstream;
use jackfield_testkit::server::{Response, TestServer};
use serde_json::{Value, json};

use crate::harness::{MODEL, config, connect};
use crate::requests::{ask, ask_this, events, request};

const FIELD: &str = "stream_options";

/// A server that answers a body with what this says of it, or else with a reply.
async fn server(
    api: Api,
    mut refusal: impl FnMut(&Value) -> Option<Response> + Send + 'static,
) -> TestServer {
    TestServer::start_with(move |request| refusal(&request.json()).unwrap_or_else(|| events(api)))
        .await
}

fn compatible(server: &TestServer) -> OpenAiConfig {
    let mut config = config(&server.base_url(), Api::ChatCompletions);
    config.profile = ByModel::always(Profile::COMPATIBLE);
    config
}

/// Which of the requests had the field.
fn had(server: &TestServer) -> Vec<bool> {
    let requests = server.requests();
    let has = requests
        .iter()
        .map(|request| request.json().get(FIELD).is_some());
    has.collect()
}

/// The refusal of a field, as the servers of one kind say it.
fn refusals(field: &str) -> Vec<Response> {
    let openai = |message: String, param: Option<&str>| {
        json!({ "error": { "message": message, "type": "invalid_request_error", "param": param, "code": null } })
            .to_string()
    };
    let fastapi = json!({ "detail": [{ "type": "extra_forbidden", "loc": ["body", field],
        "msg": "Extra inputs are not permitted", "input": { "messages": 1, "'model'": 2 } }] });
    let go = format!("json: unknown field \"{field}\"");
    let supplied = format!("Unrecognized request argument supplied: {field}");
    let serde = format!("unknown field `{field}`, expected one of `messages`, `model`");
    vec![
        Response::json(422, fastapi.to_string()),
        Response::json(400, openai("no".to_owned(), Some(field))),
        Response::json(400, openai(supplied, None)),
        Response::json(422, openai(serde, None)),
        Response::json(400, json!({ "error": go }).to_string()),
        Response::text(400, go),
    ]
}

#[tokio::test]
async fn a_field_of_ours_that_a_server_refuses_is_sent_once_per_model() {
    for refusal in refusals(FIELD) {
        let server = server(Api::ChatCompletions, move |body| {
            body.get(FIELD).map(|_| refusal.clone())
        })
        .await;
        let model = connect(compatible(&server));
        let (deltas, end) = ask(&model, "m").await;
        assert!(!deltas.is_empty());
        let note = Note::new(NoteKind::Dropped, NoteEffect::Cost, "field_refused", FIELD);
        assert_eq!(end.unwrap().notes, [note]);
        assert_eq!(had(&server), [true, false]);
        let (same, end) = ask(&model, "m").await;
        assert_eq!(same, deltas);
        assert_eq!(end.unwrap().notes, []);
        assert_eq!(had(&server), [true, false, false]);
        // Nothing else differs.
        let requests = server.requests();
        let mut first = requests[0].json();
        first.as_object_mut().unwrap().remove(FIELD);
        assert_eq!(requests[1].json(), first);
        assert_eq!(requests[2].json(), first);
        // A router may have another server for another model.
        ask(&model, "other").await.1.unwrap();
        assert_eq!(had(&server), [true, false, false, true, false]);
    }
}

#[tokio::test]
async fn a_refusal_that_names_a_field_of_the_client_is_told() {
    let both = format!("unknown field `{FIELD}`; unknown field `max_tokens`");
    let both = Response::json(400, json!({ "error": { "message": both } }).to_string());
    for refusal in refusals("max_tokens").into_iter().chain([both]) {
        let server = server(Api::ChatCompletions, move |_| Some(refusal.clone())).await;
        let model = connect(compatible(&server));
        for nth in 1..=2 {
            let failure = ask(&model, "m").await.1.unwrap_err().failure;
            assert_eq!(failure.kind, ModelFailureKind::InvalidRequest);
            assert_eq!(failure.phase, Phase::BeforeFirstDelta);
            assert_eq!(had(&server), vec![true; nth], "{}", failure.message);
        }
    }
}

#[tokio::test]
async fn a_field_that_the_client_had_set_is_the_clients() {
    let refusal = refusals(FIELD).remove(0);
    let server = server(Api::ChatCompletions, move |_| Some(refusal.clone())).await;
    let model = connect(compatible(&server));
    let mut request = request("m");
    let extension = Extension {
        dialect: "openai-chat".into(),
        json: json!(true),
        path: "/stream_options/include_obfuscation".into(),
    };
    Arc::make_mut(&mut request.settings)
        .extensions
        .push(extension);
    ask_this(&model, &request).await.1.unwrap_err();
    assert_eq!(had(&server), [true]);
}

#[tokio::test]
async fn a_refusal_of_another_status_is_told() {
    for status in [401, 403, 404, 413, 429, 500] {
        let server = server(Api::ChatCompletions, move |_| {
            Some(Response::text(status, format!("unknown field `{FIELD}`")))
        })
        .await;
        ask(&connect(compatible(&server)), "m").await.1.unwrap_err();
        assert_eq!(had(&server), [true], "{status}");
    }
}

#[tokio::test]
async fn a_field_whose_absence_does_not_help_is_sent_again_with_the_next_request() {
    let refusal = refusals(FIELD).remove(0);
    let server = server(Api::ChatCompletions, move |_| Some(refusal.clone())).await;
    let model = connect(compatible(&server));
    let failure = ask(&model, "m").await.1.unwrap_err().failure;
    assert!(failure.message.contains(FIELD), "{}", failure.message);
    ask(&model, "m").await.1.unwrap_err();
    assert_eq!(had(&server), [true, false, true, false]);
}

#[tokio::test]
async fn a_field_whose_absence_uncovers_another_refusal_is_left_out() {
    let server = server(Api::ChatCompletions, |body| {
        let refused = if body.get(FIELD).is_some() {
            FIELD
        } else {
            "max_tokens"
        };
        Some(refusals(refused).remove(0))
    })
    .await;
    let model = connect(compatible(&server));
    for sent in [vec![true, false], vec![true, false, false]] {
        let failure = ask(&model, "m").await.1.unwrap_err().failure;
        assert!(failure.message.contains("max_tokens"));
        assert_eq!(had(&server), sent);
    }
}

#[tokio::test]
async fn a_request_that_is_strict_about_cost_is_not_sent_without_a_field() {
    let refusal = refusals(FIELD).remove(0);
    let server = server(Api::ChatCompletions, move |_| Some(refusal.clone())).await;
    let request = ModelRequest {
        strict: Some(NoteEffect::Cost),
        ..request("m")
    };
    let model = connect(compatible(&server));
    let failure = ask_this(&model, &request).await.1.unwrap_err().failure;
    assert_eq!(failure.kind, ModelFailureKind::InvalidRequest);
    assert_eq!(had(&server), [true]);
}

#[tokio::test]
async fn a_request_is_not_sent_again_after_its_lease() {
    let lease = LeaseDeadline::at(Instant::now() + Duration::from_secs(600));
    let call = CallContext::new(lease.clone());
    let server = server(Api::ChatCompletions, move |_| {
        lease.end_now();
        Some(refusals(FIELD).remove(0))
    })
    .await;
    let model = connect(compatible(&server));
    let reply = model.reply(&request("m"), &call, &mut Vec::new()).await;
    let failure = reply.unwrap_err().failure;
    assert_eq!(failure.message, LeasePassed.to_string());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn each_field_of_ours_can_be_left_out() {
    let tool = ToolDefinition {
        description: "Adds".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
        name: ToolName::parse("add").unwrap(),
        output: None,
        strict: None,
    };
    let with_tool = ModelRequest {
        tools: Arc::new(vec![Arc::new(tool)]),
        ..request(MODEL)
    };
    for (api, message, pointer) in [
        (
            Api::ChatCompletions,
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model.",
            "/reasoning_effort",
        ),
        (
            Api::Responses,
            "Unknown parameter: 'tools[0].strict'.",
            "/tools/0/strict",
        ),
        (Api::Responses, "Unknown parameter: 'include'.", "/include"),
    ] {
        let server = server(api, move |body| {
            let error = json!({ "error": { "message": message } }).to_string();
            let field = body.pointer(pointer);
            field.map(|_| Response::json(400, error))
        })
        .await;
        let model = connect(config(&server.base_url(), api));
        for count in [2, 3] {
            let end = ask_this(&model, &with_tool).await.1;
            end.unwrap();
            assert_eq!(server.requests().len(), count, "{pointer}");
        }
    }
}

#[tokio::test]
async fn a_model_and_its_upstream_know_the_same_refusals() {
    let refusal = refusals(FIELD).remove(0);
    let server = server(Api::ChatCompletions, move |body| {
        body.get(FIELD).map(|_| refusal.clone())
    })
    .await;
    let config = compatible(&server);
    let transport = Transport::new(TransportSettings::default()).unwrap();
    let upstream = upstream(&config, transport).unwrap();
    assert!(upstream.takes_field("m", FIELD));
    let model = connect(config);
    ask(&model, "m").await.1.unwrap();
    assert!(!upstream.takes_field("m", FIELD));
    assert!(upstream.takes_field("other", FIELD));
    upstream.field_refused("other", FIELD);
    ask(&model, "other").await.1.unwrap();
    assert_eq!(had(&server), [true, false, false]);
}

#[tokio::test]
async fn an_upstream_takes_what_its_profile_says() {
    for (profile, takes, states_cost) in [
        (Profile::MISTRAL, false, false),
        (Profile::COMPATIBLE, true, false),
        (Profile::OPENROUTER, true, true),
    ] {
        let mut config = config("http://127.0.0.1:1", Api::ChatCompletions);
        config.profile = ByModel::always(profile);
        let transport = Transport::new(TransportSettings::default()).unwrap();
        let upstream = upstream(&config, transport).unwrap();
        assert_eq!(upstream.takes_field("m", FIELD), takes);
        assert!(upstream.takes_field("m", "another"));
        assert_eq!(upstream.states_cost("m"), states_cost);
    }
}

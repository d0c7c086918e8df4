//! The stop sequence that was met: asked for, and read.

use std::sync::Arc;

use jackfield_dialect_kit::decode::DecodeReply as _;
use jackfield_domain::opaque::Extension;
use jackfield_domain::reply::FinishReason;
use jackfield_provider_bedrock::profile::ModelProfile;
use jackfield_provider_bedrock::reply::Decoder;
use jackfield_provider_bedrock::request::to_wire;
use serde_json::{Value, json};

use crate::harness::MODEL;
use crate::reading::owner;
use crate::requests::request;

/// The fields of the model's own reply that a request asks for.
fn asked(model: &str, stops: &[&str], own: Option<Value>) -> Value {
    let mut request = request();
    let settings = Arc::make_mut(&mut request.settings);
    settings.stop = stops.iter().map(|stop| (*stop).into()).collect();
    settings.extensions = own
        .map(|json| Extension {
            dialect: "bedrock".into(),
            path: "/additionalModelResponseFieldPaths".to_owned(),
            json,
        })
        .into_iter()
        .collect();
    let (body, notes) = to_wire(&request, &owner(), &ModelProfile::of(model)).unwrap();
    assert!(notes.iter().all(|note| note.code != "extension_path"));
    let body = serde_json::to_string(&body).unwrap();
    let count = body.matches("additionalModelResponseFieldPaths").count();
    let body: Value = serde_json::from_str(&body).unwrap();
    let paths = body["additionalModelResponseFieldPaths"].clone();
    assert_eq!(count, usize::from(!paths.is_null()), "{body}");
    paths
}

#[test]
fn claude_is_asked_for_the_stop_sequence_that_it_meets() {
    let nova = "us.amazon.nova-pro-v1:0";
    let both = json!(["/stop_sequence", "/delta/stop_sequence"]);
    assert_eq!(asked(MODEL, &["END"], None), both);
    for (model, stops) in [(MODEL, &[][..]), (MODEL, &[" "]), (nova, &["END"])] {
        assert_eq!(asked(model, stops, None), Value::Null, "{model} {stops:?}");
    }
    let own = json!(["/container"]);
    assert_eq!(asked(MODEL, &["END"], Some(own.clone())), own);
}

#[test]
fn a_reply_says_which_stop_sequence_it_met() {
    let met = |text: &str| FinishReason::StopSequence(text.into());
    for (reason, fields, finish) in [
        (
            "stop_sequence",
            json!({ "stop_sequence": "END" }),
            met("END"),
        ),
        (
            "stop_sequence",
            json!({ "delta": { "stop_sequence": "END" } }),
            met("END"),
        ),
        ("stop_sequence", json!({ "stop_sequence": 1 }), met("")),
        ("stop_sequence", json!("END"), met("")),
        ("stop_sequence", Value::Null, met("")),
        (
            "end_turn",
            json!({ "stop_sequence": null }),
            FinishReason::Stop,
        ),
        (
            "end_turn",
            json!({ "stop_sequence": "END" }),
            FinishReason::Stop,
        ),
    ] {
        let stop = json!({ "stopReason": reason, "additionalModelResponseFields": fields });
        let mut decoder = Decoder::new(owner());
        decoder
            .push(Some("messageStop"), &stop.to_string())
            .unwrap();
        decoder.push(Some("metadata"), "{}").unwrap();
        assert_eq!(decoder.finish().unwrap().finish, finish, "{stop}");
        let mut whole = stop;
        whole["output"] = json!({ "message": { "content": [{ "text": "so far" }] } });
        let read = Decoder::new(owner()).read_whole(whole.to_string().as_bytes());
        assert_eq!(read.unwrap().1.finish, finish, "{whole}");
    }
}

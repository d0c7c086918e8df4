//! The headers of a request over HTTP: what a client accepts, and what repeats the body.

use std::sync::Arc;

use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_mcp_server::HttpReply;
use jackfield_testkit::fakes::{ScriptedCall, ScriptedToolbox};
use serde_json::{Value, json};

use crate::harness::{request, toolbox};
use crate::streamable::{BOTH, Client, whole};

/// The headers of a call, beside others.
const CALL: [(&str, &str); 2] = [
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "tools/call"),
];

fn reading(schema: Value, call: ScriptedCall) -> ScriptedToolbox {
    let tools = toolbox("ours");
    tools.spec(ToolSpec {
        description: "Scripted.".into(),
        icon: None,
        input: InputFormat::Json(Arc::new(schema)),
        name: "read".into(),
        output: None,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: None,
    });
    tools.set_default_call("read", call);
    tools
}

/// The status of a call with these headers, and whether it is answered with a stream.
async fn called(call: ScriptedCall, headers: &[(&str, &str)], params: Value) -> (u16, bool) {
    let client = Client::of(&reading(json!({ "type": "object" }), call));
    let headers = [&CALL[..], headers].concat();
    let body = request(1, "tools/call", params);
    match client.post(&headers, &body).await {
        HttpReply::Message { status, .. } => (status, false),
        HttpReply::Stream(_) => (200, true),
        reply @ (HttpReply::Accepted | HttpReply::Ended | HttpReply::MethodNotAllowed) => {
            panic!("{reply:?}")
        }
    }
}

#[tokio::test]
async fn a_client_gets_what_its_header_says_that_it_accepts() {
    for (accept, whole, with_progress) in [
        (Some(BOTH), (200, false), (200, true)),
        (Some("*/*"), (200, false), (200, true)),
        (Some("TEXT/Event-Stream;q=0.5"), (200, true), (200, true)),
        (Some("application/json"), (200, false), (200, false)),
        (Some("text/html"), (406, false), (406, false)),
        (None, (200, false), (200, false)),
    ] {
        let mut headers = vec![("mcp-name", "read")];
        headers.extend(accept.map(|accept| ("accept", accept)));
        let done = || ScriptedCall::text("done");
        let meta = json!({ "progressToken": "p" });
        let params = json!({ "name": "read", "arguments": {}, "_meta": meta });
        let at_once = called(done(), &headers, params.clone()).await;
        assert_eq!(at_once, whole, "{accept:?}");
        let progressing = done().progressed(1.0, None, None);
        let at_last = called(progressing, &headers, params).await;
        assert_eq!(at_last, with_progress, "{accept:?}");
    }
}

#[tokio::test]
async fn a_header_is_decoded_before_it_is_compared() {
    let check = async |names: &[&str], name: &str, status: u16, code: i64| {
        let client = Client::of(&toolbox("ours"));
        let mut headers = CALL.to_vec();
        headers.extend(names.iter().map(|name| ("mcp-name", *name)));
        let body = request(1, "tools/call", json!({ "name": name }));
        let (is, error) = whole(client.post(&headers, &body).await);
        let found = (is, &error["error"]["code"]);
        assert_eq!(found, (status, &json!(code)), "{names:?}: {error}");
    };
    // There is no such tool, but the header agrees.
    check(&["=?base64?5aSp5rCU?="], "天气", 200, -32602).await;
    for wrong in ["=?base64?!?=", "天气x", "=?base64?5aSp?="] {
        check(&[wrong], "天气", 400, -32020).await;
    }
    check(&["a"], "a", 200, -32602).await;
    check(&["a", "a"], "a", 400, -32020).await;
}

#[tokio::test]
async fn arguments_are_compared_as_deep_as_the_schema_goes() {
    let schema = json!({ "type": "object", "properties": {
        "place": { "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
        } },
        "days": { "type": "integer", "x-mcp-header": "Days" },
    } });
    let client = Client::of(&reading(schema, ScriptedCall::text("done")));
    let both = json!({ "place": { "region": "eu" }, "days": 3 });
    let (region, days) = (("mcp-param-region", "eu"), ("mcp-param-days", "3"));
    for (arguments, repeated, status) in [
        (&both, &[region, days][..], 200),
        (&both, &[region], 400),
        (&both, &[("mcp-param-region", "us"), days], 400),
        (&json!({}), &[days], 400),
    ] {
        let headers = [&CALL[..], &[("mcp-name", "read")], repeated].concat();
        let params = json!({ "name": "read", "arguments": arguments });
        let body = request(1, "tools/call", params);
        let reply = client.post(&headers, &body).await;
        assert_eq!(whole(reply).0, status, "{repeated:?}");
    }
}

//! What is sent, and what is known of a call that has no outcome.

use std::time::Duration;

use http::Method;
use jackfield_domain::failure::{Disposition, ToolFailureKind as Kind};
use jackfield_domain::tool::Safety;
use jackfield_ports::toolbox::Toolbox as _;
use jackfield_testkit::server::{Framing, RecordedRequest, RefusingPort, Response, TestServer};
use jackfield_tools_web::{BodyForm, Header, ParameterPlace, ToolConfig, header_name};
use serde_json::{Value, json};

use crate::world::{call, none, ran, run, tool, toolbox};

/// The request that comes of these arguments.
async fn asked(
    path: &str,
    schemas: &Value,
    arguments: &Value,
    change: impl FnOnce(&mut ToolConfig),
) -> RecordedRequest {
    let server = TestServer::start_with(|_| Response::new(200)).await;
    let tool = tool(&format!("{}{path}", server.base_url()), schemas, change);
    call(tool, arguments).await.unwrap();
    server.request(0).await
}

#[tokio::test]
async fn each_parameter_goes_to_its_place_by_template_and_method() {
    let schemas = json!({ "id": {}, "q": {}, "more": { "type": "integer" }, "unused": {} });
    let arguments = json!({ "id": "7", "q": "x", "more": 3 });
    let get = asked("/a/{id}?q={q}", &schemas, &arguments, |_| {}).await;
    assert_eq!((&*get.path, &*get.text()), ("/a/7?q=x&more=3", ""));
    assert_eq!(get.header("content-type"), None);
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let change = |config: &mut ToolConfig| config.method = method.clone();
        let post = asked("/a/{id}?q={q}", &schemas, &arguments, change).await;
        assert_eq!((&*post.method, &*post.path), (method.as_str(), "/a/7?q=x"));
        assert_eq!(post.json(), json!({ "more": 3 }));
        assert_eq!(post.header("content-type"), Some("application/json"));
    }
    let (schemas, arguments) = (json!({ "id": {} }), json!({ "id": "1" }));
    let bare = asked("/a/{id}", &schemas, &arguments, |config| {
        config.method = Method::POST;
    });
    let bare = bare.await;
    assert_eq!((&*bare.text(), bare.header("content-type")), ("", None));
}

#[tokio::test]
async fn a_place_and_a_name_can_be_said() {
    let schemas = json!({ "a": {}, "b": { "type": "array" }, "c": {} });
    let arguments = json!({ "a": "1", "b": ["x", "y"], "c": "3" });
    let request = asked("/", &schemas, &arguments, |config| {
        config.method = Method::POST;
        let places = [
            (ParameterPlace::Query, "page"),
            (ParameterPlace::Header, "X-Tags"),
            (ParameterPlace::Body, "field"),
        ];
        for (parameter, (part, wire)) in config.parameters.iter_mut().zip(places) {
            (parameter.part, parameter.wire) = (Some(part), Some(wire.into()));
        }
    });
    let request = request.await;
    assert_eq!(request.path, "/?page=1");
    assert_eq!(request.header("x-tags"), Some("x,y"));
    assert_eq!(request.json(), json!({ "field": "3" }));
}

#[tokio::test]
async fn a_form_is_a_form() {
    let schemas = json!({ "a": {}, "b": { "type": "array" } });
    let arguments = json!({ "a": "1&2=я", "b": [1, true] });
    let request = asked("/", &schemas, &arguments, |config| {
        (config.method, config.body) = (Method::POST, BodyForm::Form);
    });
    let request = request.await;
    assert_eq!(request.text(), "a=1%262%3D%D1%8F&b=1&b=true");
    assert_eq!(
        request.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
}

#[tokio::test]
async fn a_default_is_sent_where_nothing_is_said() {
    let schemas = json!({ "units": { "default": "metric" }, "city": { "default": "北京" } });
    let request = asked("/{city}", &schemas, &none(), |_| {}).await;
    assert_eq!(request.path, "/%E5%8C%97%E4%BA%AC?units=metric");
    let chosen = asked(
        "/{city}",
        &schemas,
        &json!({ "units": "k", "city": "x" }),
        |_| {},
    )
    .await;
    assert_eq!(chosen.path, "/x?units=k");
}

#[tokio::test]
async fn configured_headers_win_over_chosen_ones() {
    let server = TestServer::start_with(|_| Response::new(200)).await;
    let schemas = json!({ "X-Key": {} });
    let tool = tool(&server.base_url(), &schemas, |config| {
        config.parameters[0].part = Some(ParameterPlace::Header);
    });
    let header = Header::new(header_name("x-key").unwrap(), " configured ", []).unwrap();
    call(tool.with_headers([header]), &json!({ "X-Key": "chosen" }))
        .await
        .unwrap();
    assert_eq!(server.request(0).await.header("x-key"), Some("configured"));
}

#[tokio::test]
async fn a_key_is_sent_where_it_is_wanted() {
    let with = asked("/", &none(), &none(), |config| {
        config.idempotency_key = true;
    })
    .await;
    let key = run("tool", &none()).key.to_string();
    assert_eq!(with.header("idempotency-key"), Some(&*key));
    let without = asked("/", &none(), &none(), |_| {}).await;
    assert_eq!(without.header("idempotency-key"), None);
}

#[tokio::test]
async fn arguments_that_cannot_be_sent_are_not() {
    let server = TestServer::start_with(|_| Response::new(200)).await;
    let schemas = json!({ "id": {}, "h": {}, "q": { "type": ["array", "object"] } });
    let url = format!("{}/{{id}}", server.base_url());
    for (arguments, part) in [
        (json!({}), "`id` is missing"),
        (json!({ "id": null }), "`id` is missing"),
        (json!({ "id": "1", "other": 1 }), "no parameter `other`"),
        (
            json!({ "id": "1", "h": "a\r\nx-evil: 1" }),
            "`h` goes into a header",
        ),
        (json!({ "id": "1", "h": "я" }), "`h` goes into a header"),
        (
            json!({ "id": "1", "h": "x".repeat(10_000_000) }),
            "`h` goes into a header, which takes 4096 bytes at most",
        ),
        (json!({ "id": "1", "q": { "a": 1 } }), "`q` is a text"),
        (json!({ "id": "1", "q": [[1]] }), "`q` is a text"),
    ] {
        let tool = tool(&url, &schemas, |config| {
            config.parameters[1].part = Some(ParameterPlace::Header);
        });
        let failure = call(tool, &arguments).await.unwrap_err();
        assert_eq!(
            (failure.kind, failure.disposition),
            (Kind::InvalidArguments, Disposition::NotSent)
        );
        assert!(failure.message.contains(part), "{}", failure.message);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn what_was_not_sent_is_proved_and_what_may_have_been_is_unknown() {
    let nobody = RefusingPort::reserve();
    for url in [
        nobody.base_url(),
        "http://169.254.169.254/latest".to_owned(),
        format!("http://{}.example/", "a".repeat(64)),
    ] {
        let failure = call(tool(&url, &none(), |_| {}), &none())
            .await
            .unwrap_err();
        assert_eq!(
            (failure.kind, failure.disposition),
            (Kind::Unavailable, Disposition::NotSent),
            "{url}"
        );
    }
    for read_only in [false, true] {
        for response in [
            Response::raw().cut_off(),
            Response::text(200, "words").cut_at(2),
        ] {
            let server = TestServer::start().await;
            server.answer(response);
            let tool = tool(&server.base_url(), &none(), |config| {
                config.read_only = read_only;
            });
            match call(tool, &none()).await {
                Ok(result) => {
                    assert!(read_only && result.is_error, "{result:?}");
                    assert!(
                        result
                            .to_text()
                            .ends_with("it may be called again, as that does no harm")
                    );
                }
                Err(failure) => {
                    assert!(!read_only);
                    assert_eq!(
                        (failure.kind, failure.disposition),
                        (Kind::Unavailable, Disposition::Unknown)
                    );
                }
            }
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_call_ends_with_its_time() {
    let server = TestServer::start().await;
    server.answer(Response::text(200, "").framed(Framing::Chunked).stall());
    let slow = tool(&server.base_url(), &none(), |config| {
        config.timeout = Some(Duration::from_millis(50));
    });
    assert_eq!(
        toolbox([slow.clone()]).list().await.unwrap()[0].time_limit,
        Some(Duration::from_millis(50))
    );
    let failure = call(slow, &none()).await.unwrap_err();
    assert_eq!(
        (failure.kind, failure.disposition),
        (Kind::Timeout, Disposition::Unknown)
    );
    assert!(
        failure.message.ends_with("did not answer within 0.05 s"),
        "{}",
        failure.message
    );
    server.closed_by_client(0).await;
}

#[tokio::test]
async fn a_tool_that_is_left_out_says_why() {
    let why = "its header `x` cannot be sent: KEY is not set";
    let toolbox = toolbox([]).with_unusable([("tool".into(), why.to_owned())]);
    assert!(toolbox.list().await.unwrap().is_empty());
    assert_eq!(toolbox.problems(), [format!("skipped tool `tool`: {why}")]);
    let failure = ran(&toolbox, &run("tool", &none())).await.unwrap_err();
    assert_eq!(
        (failure.kind, failure.disposition),
        (Kind::Unavailable, Disposition::NotSent)
    );
    assert!(failure.message.contains(why));
}

#[test]
fn what_is_known_of_its_effects_is_what_is_configured() {
    for (read_only, idempotent, safety) in [
        (false, false, Safety::Unknown),
        (false, true, Safety::Idempotent),
        (true, false, Safety::ReadOnly),
        (true, true, Safety::ReadOnly),
    ] {
        let tool = tool("https://a.example/", &none(), |config| {
            (config.read_only, config.idempotent) = (read_only, idempotent);
        });
        assert_eq!(tool.safety(), safety);
        assert_eq!(tool.untrusted().safety(), Safety::Unknown);
    }
}

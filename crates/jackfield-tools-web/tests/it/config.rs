//! What is wrong with a configuration, and the schema that comes of one that is right.

use http::Method;
use jackfield_domain::tool::InputFormat;
use jackfield_ports::toolbox::Toolbox as _;
use jackfield_tools_web::{BodyForm, ParameterPlace, ToolConfig, WebTool, header_name};
use serde_json::{Value, json};

use crate::world::{config, parameters, tool, toolbox};

#[tokio::test]
async fn the_schema_says_what_may_be_chosen() {
    let schemas = json!({
        "city": { "description": "A city" },
        "days": { "type": "integer", "minimum": 1, "maximum": 7 },
        "units": { "enum": ["metric", "imperial"], "default": "metric" },
    });
    let tool = tool("https://a.example/{city}", &schemas, |config| {
        config.parameters[1].required = Some(true);
    });
    let listed = toolbox([tool]).list().await.unwrap();
    let InputFormat::Json(schema) = &listed[0].input else {
        panic!("{listed:?}");
    };
    assert_eq!(
        **schema,
        json!({
            "type": "object",
            "properties": {
                "city": { "description": "A city", "type": "string" },
                "days": { "type": "integer", "minimum": 1, "maximum": 7 },
                "units": { "enum": ["metric", "imperial"], "default": "metric" },
            },
            "required": ["city", "days"],
            "additionalProperties": false,
        })
    );
}

/// What is wrong, a line each.
fn faults(url: &str, schemas: &Value, change: impl FnOnce(&mut ToolConfig)) -> Vec<String> {
    let mut config = config(url);
    config.parameters = parameters(schemas);
    change(&mut config);
    let faults = WebTool::new(config).expect_err("faults");
    let lines = faults
        .into_iter()
        .map(|fault| format!("{}: {}", fault.key, fault.message));
    lines.collect()
}

#[test]
fn what_cannot_be_is_told() {
    const URL: &str = "https://a.example/{a}?b={b}";
    let both = || json!({ "a": {}, "b": {} });
    let check = |found: Vec<String>, expected: &str| assert_eq!(found, [expected]);
    check(
        faults(URL, &json!({ "a": {} }), |_| {}),
        "url: `{b}` is no parameter: say what it is under `parameters`",
    );
    check(
        faults(URL, &both(), |c| c.method = Method::OPTIONS),
        "method: `OPTIONS` is no method that a tool has",
    );
    check(
        faults(URL, &both(), |c| c.result = Some("a".into())),
        "result: a JSON Pointer such as \"/current/temperature\" was expected",
    );
    check(
        faults(URL, &both(), |c| c.result = Some("/a~2".into())),
        "result: a JSON Pointer such as \"/current/temperature\" was expected",
    );
    for name in ["", "a/b", "a.b", "погода"] {
        check(
            faults(URL, &both(), |c| c.name = name.into()),
            ": the name of a tool has at most 64 letters, digits, `_` and `-`",
        );
    }
    check(
        faults(URL, &json!({ "a": {}, "b": {}, "c d": {} }), |_| {}),
        "parameters.c d: a parameter has at most 64 letters, digits, `_`, `.` and `-` in its name",
    );
    let part = |nth: usize, part: ParameterPlace| {
        faults(URL, &both(), move |c| c.parameters[nth].part = Some(part))
    };
    check(
        part(0, ParameterPlace::Query),
        "parameters.a.in: `url` has `{a}` in its path",
    );
    check(
        part(1, ParameterPlace::Path),
        "parameters.b.in: `url` has no `{b}` in its path",
    );
    check(
        part(1, ParameterPlace::Header),
        "parameters.b.in: `url` has `{b}` in its query",
    );
    let three = || json!({ "a": {}, "b": {}, "c": {} });
    check(
        faults(URL, &three(), |c| {
            c.parameters[2].part = Some(ParameterPlace::Body);
        }),
        "parameters.c.in: a GET has no body",
    );
    check(
        faults(URL, &both(), |c| c.parameters[0].required = Some(false)),
        "parameters.a.required: what stands in the path is always required",
    );
    check(
        faults(URL, &both(), |c| c.parameters[0].wire = Some("x".into())),
        "parameters.a.name: `url` says already what it is called there",
    );
    check(
        faults(URL, &three(), |c| {
            (c.parameters[2].part, c.parameters[2].wire) =
                (Some(ParameterPlace::Header), Some("Host".into()));
        }),
        "parameters.c.name: `host` is set by the request itself",
    );
    check(
        faults(URL, &json!({ "a": {}, "b": { "type": "object" } }), |_| {}),
        "parameters.b.type: an object goes into a JSON body only",
    );
    check(
        faults(
            "https://a.example",
            &json!({ "b": { "type": "object" } }),
            |c| {
                (c.method, c.body) = (Method::POST, BodyForm::Form);
            },
        ),
        "parameters.b.type: an object goes into a JSON body only",
    );
    check(
        faults(
            URL,
            &json!({ "a": {}, "b": { "$ref": "https://b.example/x" } }),
            |_| {},
        ),
        "parameters.b.$ref: a schema of a parameter refers to nothing: write it here",
    );
    check(
        faults("https://a.example", &json!({ "x": {}, "y": {} }), |c| {
            c.parameters[1].wire = Some("x".into());
        }),
        "parameters.y: `x` goes to the same place",
    );
    let many: serde_json::Map<_, _> = (0..65).map(|nth| (format!("p{nth}"), json!({}))).collect();
    check(
        faults("https://a.example", &many.into(), |_| {}),
        "parameters: there are more than 64 parameters",
    );
}

#[test]
fn headers_of_the_message_are_nobodys_to_choose() {
    for name in [
        "Authorization",
        "x-key",
        "Accept",
        "Cookie",
        "Idempotency-Key",
        "User-Agent",
    ] {
        header_name(name).unwrap();
    }
    for name in [
        "",
        "a b",
        "a:b",
        "x\r\ny",
        "Host",
        "content-length",
        "Transfer-Encoding",
        "connection",
        "Proxy-Authorization",
        "keep-alive",
        "TE",
        "я",
    ] {
        header_name(name).expect_err(name);
    }
}

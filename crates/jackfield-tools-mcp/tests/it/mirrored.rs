//! Arguments that are repeated in headers, as the schema of a tool asks.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use jackfield_testservers::mcp::http::ScriptedMcpHttp;
use serde_json::{Value, json};

use crate::harness::{Scripted, tool};

/// A tool with these arguments.
fn taking(name: &str, properties: Value) -> Value {
    let mut tool = tool(name);
    tool["inputSchema"]["properties"] = properties;
    tool
}

fn server(tools: &[Value]) -> Scripted {
    Scripted::over_http(json!({
        "era": "modern",
        "tools": tools,
        "calls": { "query": [{ "text": "asked" }] },
    }))
}

/// The headers of arguments in the last request, in their order.
fn mirrored(http: &ScriptedMcpHttp) -> Vec<(String, String)> {
    let (_, headers) = http.requests().pop().unwrap();
    let headers = headers.into_iter();
    let mut found: Vec<_> = headers
        .filter(|(name, _)| name.starts_with("mcp-param-"))
        .collect();
    found.sort();
    found
}

#[tokio::test]
async fn arguments_are_repeated_wherever_the_schema_says_so() {
    let server = server(&[taking(
        "query",
        json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "gone": { "type": "boolean", "x-mcp-header": "Gone" },
            "x-mcp-header": { "type": "string" },
        }),
    )]);
    assert_eq!(server.names().await, ["query"]);
    for (region, header) in [
        ("get_time", "get_time"),
        // Odd values are encoded.
        ("zürich", "=?base64?esO8cmljaA==?="),
        (" a", "=?base64?IGE=?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ] {
        let arguments = json!({ "region": region, "deep": { "n": 7 }, "gone": null });
        server.result("query", arguments).await;
        let expected = [("mcp-param-n", "7"), ("mcp-param-region", header)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(mirrored(server.http.as_ref().unwrap()), expected);
    }
    server.kept();
}

#[tokio::test]
async fn a_tool_with_an_annotation_that_cannot_be_kept_is_left_out() {
    let wrong = [
        json!({ "a": { "type": "string", "x-mcp-header": "" } }),
        json!({ "a": { "type": "string", "x-mcp-header": "a b" } }),
        json!({ "a": { "type": "string", "x-mcp-header": 7 } }),
        json!({ "a": { "type": "object", "x-mcp-header": "A" } }),
        json!({ "a": { "type": "number", "x-mcp-header": "A" } }),
        json!({ "a": { "type": "array", "items": { "type": "string", "x-mcp-header": "A" } } }),
        json!({ "a": { "type": "string", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "a" } }),
    ];
    let data = json!({ "a": { "type": "object", "default": { "x-mcp-header": "" } } });
    let mut tools = vec![tool("plain"), taking("data", data)];
    let named = (0..).zip(&wrong);
    tools
        .extend(named.map(|(nth, properties)| taking(&format!("wrong_{nth}"), properties.clone())));
    let server = server(&tools);
    assert_eq!(server.names().await, ["plain", "data"]);
    let problems = server.problems();
    for nth in 0..wrong.len() {
        let left_out = format!("`wrong_{nth}` is left out");
        let is_told = problems.iter().any(|problem| problem.contains(&left_out));
        assert!(is_told, "{left_out}: {problems:?}");
    }
}

//! `jackfield mcp inspect`: all that a server has.

use serde_json::{Value, json};

use crate::harness::{McpEndpoint, McpServer, jackfield, tool};

/// A server with something of everything.
pub(crate) fn library(era: &str) -> Value {
    json!({
        "era": era,
        "instructions": "Ask for notes by their names.",
        "list_changed": true,
        "tools": [
            {
                "name": "find",
                "title": "Find",
                "description": "Finds notes.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "text": { "type": "string" },
                        "order": { "enum": ["new", "old"] },
                        "tags": { "type": "array", "items": { "type": "string" } },
                    },
                    "required": ["text"],
                },
                "annotations": { "readOnlyHint": true, "openWorldHint": false },
            },
            { "name": "bare", "inputSchema": {} },
        ],
        "resources": [
            { "uri": "note://a", "name": "a", "title": "The a", "mimeType": "text/plain", "size": 5 },
            { "uri": "note://picture", "name": "picture", "mimeType": "image/png" },
        ],
        "templates": [{ "uriTemplate": "note://{name}", "name": "note" }],
        "contents": {
            "note://a": [{ "uri": "note://a", "mimeType": "text/plain", "text": "words of a" }],
            "note://picture": [{ "uri": "note://picture", "mimeType": "image/png", "blob": "iVBORw0KGgo=" }],
            "note://blob": [{ "uri": "note://blob", "blob": "AP8A/w==" }],
            "note://b": [{ "uri": "note://b", "text": "words of b" }],
        },
        "prompts": [{
            "name": "greet",
            "description": "Greets.",
            "arguments": [{ "name": "who", "required": true }, { "name": "how" }],
        }],
        "messages": { "greet": [
            { "role": "user", "content": { "type": "text", "text": "Greet {who}." } },
        ] },
        "completions": { "who": ["Ann", "Anton", "Ben"] },
    })
}

#[tokio::test]
async fn all_that_a_server_has_is_shown_in_both_eras_and_over_both_transports() {
    for era in ["legacy", "modern"] {
        let (local, remote) = (McpServer::new(library(era)), McpEndpoint::new(library(era)));
        let servers = || [("near", local.entry()), ("far", remote.with(&json!({})))];
        for (id, transport) in [("near", "stdio"), ("far", "http")] {
            let inspect = jackfield(["mcp", "inspect", id, "--json"]).servers(servers());
            let ran = inspect.run().await;
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{era} {id}");
            let shown: Value = serde_json::from_str(&ran.out).expect("JSON");
            let said = library(era);
            for (field, wanted) in [
                ("transport", json!(transport)),
                ("stateless", json!(era == "modern")),
                ("instructions", said["instructions"].clone()),
                ("tool_definitions", said["tools"].clone()),
                ("resources", said["resources"].clone()),
                ("resource_templates", said["templates"].clone()),
                ("prompts", said["prompts"].clone()),
                ("problems", json!([])),
            ] {
                assert_eq!(shown[field], wanted, "{era} {id} {field}");
            }
            assert_eq!(shown["server_info"]["name"], "scripted-mcp");
            assert_eq!(shown["capabilities"]["tools"]["listChanged"], true);
            let mended =
                "the input schema of the tool `bare` was completed: it did not describe an object";
            assert_eq!(shown["mended"], json!([mended]));
        }
        let inspect = jackfield(["mcp", "inspect", "near"]).servers(servers());
        let ran = inspect.run().await;
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{era}");
        for line in [
            "capabilities  completions, prompts (listChanged), resources, tools (listChanged)",
            "  Ask for notes by their names.",
            "Tools (2)",
            "  find(text: string, order?: \"new\"|\"old\", tags?: string[])  changes nothing · reaches nothing else",
            "    Find: Finds notes.",
            "Resources (2)",
            "  note://a  text/plain · 5 bytes",
            "Resource templates (1)",
            "  note://{name}",
            "Prompts (1)",
            "  greet(who, how?)",
            "Mended",
        ] {
            assert!(ran.out.contains(line), "{line}\n{}", ran.out);
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_used_or_is_not_there_is_told_of_with_help() {
    let broken = McpServer::new(json!({ "exit": 3, "tools": [tool("read")] }));
    let inspect = jackfield(["mcp", "inspect", "broken"]);
    let ran = inspect.servers([("broken", broken.entry())]).run().await;
    assert_eq!(ran.code, Some(8), "{}", ran.err);
    assert!(
        ran.out.contains("broken") && ran.out.contains("help"),
        "{}",
        ran.out
    );
    let ran = jackfield(["mcp", "inspect", "gone"])
        .servers([("broken", broken.entry())])
        .run()
        .await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    ran.says("there is no MCP server `gone`; there are: broken");
}

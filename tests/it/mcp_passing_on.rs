//! What servers say, as `jackfield mcp serve` passes it on to its own client.

use serde_json::{Value, json};

use crate::harness::{McpServer, Running, jackfield};

/// The answer to a request of a client of this revision.
async fn answer(serving: &mut Running, id: u32, method: &str, params: Value) {
    let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    serving.say(&line.to_string()).await;
    serving.out.until(&format!("\"id\":{id},")).await;
}

/// The list and the outcome of `give`, as a client of this revision has them from a server that is served.
async fn passed_on(server: &McpServer, entry: Value, revision: &str) -> (Value, Value) {
    let serve = jackfield(["mcp", "serve", "--tools", "box/*", "--allow", "box/*"]);
    let mut serving = serve.held().servers([("box", entry)]).start();
    let client = json!({ "name": "slice", "version": "1" });
    let hello = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
    answer(&mut serving, 1, "initialize", hello).await;
    answer(&mut serving, 2, "tools/list", json!({})).await;
    answer(
        &mut serving,
        3,
        "tools/call",
        json!({ "name": "box__give" }),
    )
    .await;
    serving.hang_up();
    let ran = serving.end().await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let said = ran.out.lines().map(serde_json::from_str);
    let said: Vec<Value> = said.collect::<Result<_, _>>().expect("lines of JSON");
    server.kept_and_gone().await;
    let [list, outcome] = [1, 2].map(|nth| said[nth]["result"].clone());
    (list["tools"].clone(), outcome)
}

fn tool(name: &str, annotations: Option<Value>) -> Value {
    let mut tool = json!({ "name": name, "inputSchema": { "type": "object" } });
    if let Some(annotations) = annotations {
        tool["annotations"] = annotations;
    }
    tool
}

fn blocks() -> Value {
    json!([
        { "type": "text", "text": "words", "annotations": { "audience": ["user"], "priority": 0.5 } },
        { "type": "image", "data": "QUJD", "mimeType": "image/png", "annotations": { "audience": ["assistant"] } },
        { "type": "resource_link", "uri": "file:///a.txt", "name": "a", "title": "The a", "description": "All of a",
          "mimeType": "text/plain", "size": 7, "annotations": { "lastModified": "2026-11-01T00:00:00Z" } },
        { "type": "resource", "resource": { "uri": "x://1", "mimeType": "text/markdown", "text": "# b" },
          "annotations": { "priority": 1.0 } },
        { "type": "resource", "resource": { "uri": "x://2", "mimeType": "application/pdf", "blob": "QUJD" } },
        { "type": "audio", "data": "QUJD", "mimeType": "audio/wav" },
    ])
}

fn giving(content: &Value, tools: Value) -> McpServer {
    let reply = json!([{ "reply": { "content": content, "isError": false } }]);
    McpServer::new(json!({ "tools": tools, "calls": { "give": reply } }))
}

#[tokio::test]
async fn blocks_are_passed_on_as_they_were_said() {
    let server = giving(&blocks(), json!([tool("give", None)]));
    let (_, outcome) = passed_on(&server, server.entry(), "2025-06-18").await;
    assert_eq!(outcome["content"], blocks());
    assert_eq!(outcome["isError"], false);
}

#[tokio::test]
async fn an_older_client_is_told_in_its_own_words_what_it_does_not_know() {
    let server = giving(&blocks(), json!([tool("give", None)]));
    let (_, outcome) = passed_on(&server, server.entry(), "2024-11-05").await;
    let content = &outcome["content"];
    assert_eq!(content[0], blocks()[0]);
    assert_eq!(content[2]["type"], "text");
    assert!(
        content[2]["text"]
            .as_str()
            .is_some_and(|text| text.contains("file:///a.txt"))
    );
    assert_eq!(content[5]["type"], "resource");
}

#[tokio::test]
async fn blocks_that_make_no_sense_are_not_passed_on() {
    let odd = json!([
        { "type": "image", "data": "no base64!", "mimeType": "image/png", "annotations": { "priority": 1 } },
        { "type": "hologram", "annotations": { "audience": ["user"] } },
        { "type": "text", "text": "words", "annotations": { "audience": "everybody" } },
    ]);
    let server = giving(&odd, json!([tool("give", None)]));
    let (_, outcome) = passed_on(&server, server.entry(), "2025-06-18").await;
    let kinds = [0, 1, 2].map(|nth| outcome["content"][nth]["type"].clone());
    assert_eq!(kinds, ["text", "text", "text"]);
    assert_eq!(
        outcome["content"][2],
        json!({ "type": "text", "text": "words" })
    );
}

#[tokio::test]
async fn the_hints_of_a_trusted_server_are_passed_on_and_of_another_one_those_that_warn() {
    let all = json!({
        "title": "Give", "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
    });
    let warning = json!({ "destructiveHint": true, "openWorldHint": true });
    let tools = json!([
        tool("all", Some(all.clone())),
        tool("give", None),
        tool("some", Some(json!({ "readOnlyHint": true }))),
        tool("warning", Some(warning.clone())),
    ]);
    let content = json!([{ "type": "text", "text": "words" }]);
    for (entry, expected) in [
        (
            json!({ "trust": true }),
            [
                all,
                json!({}),
                json!({ "readOnlyHint": true }),
                warning.clone(),
            ],
        ),
        (
            json!({}),
            [
                json!({ "title": "Give", "readOnlyHint": false }),
                json!({}),
                json!({}),
                warning,
            ],
        ),
    ] {
        let server = giving(&content, tools.clone());
        let (listed, _) = passed_on(&server, server.with(&entry), "2025-06-18").await;
        let annotations = [0, 1, 2, 3].map(|nth| listed[nth]["annotations"].clone());
        assert_eq!(annotations, expected, "{entry}");
    }
}

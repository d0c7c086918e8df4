//! `/mcp` of the gateway: what MCP clients of both eras get of servers of both eras.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept, McpServer, jackfield, shell, tool};

/// Asks in the newest revision.
async fn modern(gateway: &Gateway, method: &str, params: Value) -> Answer {
    gateway.modern(1, method, params).answered().await
}

/// Asks in the newest revision, with a token.
async fn modern_as(gateway: &Gateway, token: &str, method: &str, params: Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let asking = gateway.modern(1, method, params);
    asking.header("authorization", &bearer).answered().await
}

/// Asks in a session of an older revision.
async fn legacy(gateway: &Gateway, method: &str, params: Value) -> Value {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "slice", "version": "1" },
    } });
    let accept = "application/json, text/event-stream";
    let begun = gateway.post("/mcp", &hello).header("accept", accept);
    let begun = begun.answered().await;
    assert_eq!(begun.is(200)["result"]["protocolVersion"], "2025-06-18");
    let session = begun.header("mcp-session-id").to_owned();
    let body = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
    let asking = gateway
        .post("/mcp", &body)
        .header("accept", accept)
        .header("mcp-session-id", &session);
    asking.answered().await.is(200)
}

/// A server of one era, with a tool that gives one block of each kind.
fn giving(era: &str) -> McpServer {
    let reply = json!([{ "reply": { "content": blocks(), "isError": false } }]);
    McpServer::new(json!({ "era": era, "tools": [tool("give")], "calls": { "give": reply } }))
}

fn blocks() -> Value {
    json!([
        { "type": "text", "text": "words", "annotations": { "audience": ["user"], "priority": 0.5 } },
        { "type": "image", "data": "QUJD", "mimeType": "image/png" },
        { "type": "resource_link", "uri": "file:///a.txt", "name": "a", "title": "The a" },
        { "type": "audio", "data": "QUJD", "mimeType": "audio/wav" },
    ])
}

#[tokio::test]
async fn a_client_of_one_era_reaches_a_server_of_the_other_and_gets_all_of_it() {
    for era in ["legacy", "modern"] {
        let server = giving(era);
        let sessions = Kept::new();
        let serve = sessions.gateway().servers([("box", server.trusted())]);
        let gateway = Gateway::listening(serve.start()).await;
        let call = json!({ "name": "box__give", "arguments": {} });
        let called = modern(&gateway, "tools/call", call.clone()).await.is(200);
        assert_eq!(called["result"]["content"], blocks(), "{era}");
        assert_eq!(called["result"]["resultType"], "complete");
        let called = legacy(&gateway, "tools/call", call).await;
        assert_eq!(called["result"]["content"], blocks(), "{era}");
        let listed = legacy(&gateway, "tools/list", json!({})).await;
        let names = listed["result"]["tools"].as_array().expect("tools").iter();
        let names: Vec<&str> = names.filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, ["box__give", "calculator", "current_datetime"]);
        gateway.end().await;
        server.kept_and_gone().await;
    }
}

#[tokio::test]
async fn the_trace_of_a_client_goes_on_to_the_server_of_the_tool() {
    let echo = json!([{ "echo": true }]);
    let server = McpServer::new(json!({ "tools": [tool("echo")], "calls": { "echo": echo } }));
    let sessions = Kept::new();
    let serve = sessions.gateway().servers([("box", server.trusted())]);
    let gateway = Gateway::listening(serve.start()).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let call = json!({
        "name": "box__echo", "arguments": {}, "_meta": { "traceparent": parent, "tracestate": "a=b" },
    });
    let called = legacy(&gateway, "tools/call", call).await;
    let meta = &called["result"]["structuredContent"]["meta"];
    assert_eq!(
        (&meta["traceparent"], &meta["tracestate"]),
        (&json!(parent), &json!("a=b"))
    );
    gateway.end().await;
    server.kept_and_gone().await;
}

#[tokio::test]
async fn the_gateway_is_a_server_at_an_address_for_another_jackfield() {
    let sessions = Kept::new();
    let token = "one-0123456789abcdef";
    let tokens = "[serve.tokens.one]\nenv = \"ONE\"\ntools = [\"builtin/calculator\"]\n";
    let serve = sessions.gateway().configured(tokens).env("ONE", token);
    let gateway = Gateway::listening(serve.start()).await;
    let url = format!("http://{}/mcp", gateway.address());
    let headers = json!({ "Authorization": format!("Bearer {token}") });
    let entry = json!({ "url": url, "headers": headers, "trust": true });
    let test = jackfield(["mcp", "test", "--json"]).servers([("other", entry.clone())]);
    let ran = test.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let tested: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(
        (
            &tested[0]["state"],
            &tested[0]["stateless"],
            &tested[0]["tools"]
        ),
        (&json!("ready"), &json!(true), &json!(["calculator"]))
    );
    assert_eq!(tested[0]["problems"], json!([]));
    let call = r#"exec "$jackfield" tools call other__calculator '{"expression": "6 * 7"}'"#;
    let ran = shell(call).servers([("other", entry)]).run().await;
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "42"), "{}", ran.err);
    gateway.end().await;
}

#[tokio::test]
async fn a_tool_that_needs_approval_is_not_there() {
    let server = McpServer::new(json!({
        "tools": [tool("look"), { "name": "write", "inputSchema": { "type": "object" } }],
        "calls": { "look": [{ "text": "seen" }] },
    }));
    let sessions = Kept::new();
    let serve = sessions.gateway().servers([("eye", server.trusted())]);
    let gateway = Gateway::listening(serve.start()).await;
    let listed = modern(&gateway, "tools/list", json!({})).await.is(200);
    let listed = listed["result"]["tools"].to_string();
    assert!(
        listed.contains("eye__look") && !listed.contains("eye__write"),
        "{listed}"
    );
    let refused = modern(&gateway, "tools/call", json!({ "name": "eye__write" })).await;
    let error = refused.is(200)["error"].clone();
    assert_eq!(error["code"], -32602);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("needs approval"), "{message}");
    gateway.end().await;
}

#[tokio::test]
async fn a_whole_turn_runs_as_a_tool() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
        ScriptTurn::text("As I said: 42."),
    ])
    .await;
    let sessions = Kept::new();
    let tokens = "ask = true\n\
        [serve.tokens.one]\nenv = \"ONE\"\ntools = \"all\"\n[serve.tokens.two]\nenv = \"TWO\"\n";
    let serve = sessions
        .gateway()
        .at_with(&claude.base_url(), &format!("[serve]\n{tokens}"));
    let (one, two) = ("one-0123456789abcdef", "two-0123456789abcdef");
    let serve = serve.env("ONE", one).env("TWO", two);
    let gateway = Gateway::listening(serve.start()).await;
    let call = async |token: &str, arguments: Value| {
        let params = json!({ "name": "ask", "arguments": arguments });
        let answered = modern_as(&gateway, token, "tools/call", params).await;
        answered.is(200)["result"].clone()
    };
    let first = call(one, json!({ "message": "6 times 7?" })).await;
    assert_eq!(first["isError"], false, "{first}");
    assert_eq!(
        first["content"],
        json!([{ "type": "text", "text": "It is 42." }])
    );
    let told = &first["structuredContent"];
    assert_eq!(
        (&told["answer"], &told["status"]),
        (&json!("It is 42."), &json!("ended"))
    );
    assert_eq!(told["calls"][0]["name"], "calculator");
    assert_eq!(told["calls"][0]["status"], "done");
    let session = told["session"].clone();
    let again = call(one, json!({ "message": "Sure?", "session": session })).await;
    assert_eq!(again["structuredContent"]["session"], session);
    assert_eq!(
        claude.requests()[2]["messages"].as_array().map(Vec::len),
        Some(5)
    );
    // A session of another token is none.
    let other = call(two, json!({ "message": "And?", "session": session })).await;
    assert_eq!(other["isError"], true, "{other}");
    let text = other["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("there is no session"), "{text}");
    let wrong = call(one, json!({ "text": "6 times 7?" })).await;
    let text = wrong["content"][0]["text"].as_str().unwrap_or_default();
    assert!(
        wrong["isError"] == true && text.contains("unknown field `text`"),
        "{text}"
    );
    // A failure of the model is an error of the call.
    let failed = call(
        one,
        json!({ "message": "x", "model": "claude/none", "session": session }),
    )
    .await;
    assert_eq!(failed["isError"], true, "{failed}");
    let listed = modern_as(&gateway, one, "tools/list", json!({}))
        .await
        .is(200);
    assert_eq!(listed["result"]["tools"][0]["name"], "ask");
    let _read = claude.violations();
    gateway.end().await;
}

/// Calls the tool `approve` for an agent.
async fn asked(gateway: &Gateway, tool: &str, input: Value) -> Value {
    let call = json!({ "name": "approve", "arguments": {
        "tool_name": tool, "input": input, "tool_use_id": "toolu_1",
    } });
    let called = legacy(gateway, "tools/call", call).await;
    let text = called["result"]["content"][0]["text"].as_str();
    let said: Value = serde_json::from_str(text.unwrap_or_default()).expect("JSON");
    assert_eq!(called["result"]["structuredContent"], said, "{called}");
    said
}

#[tokio::test]
async fn questions_of_other_agents_are_answered_by_the_policy_or_by_a_person() {
    let sessions = Kept::new();
    let more = "[serve]\napprove = true\napprovals = \"wait\"\n[policy.tools]\n\
                \"agents/Read\" = \"allow\"\n\"agents/Write\" = \"deny\"\n\"agents/*Bash\" = \"ask\"\n";
    let serve = sessions.gateway().configured(more);
    let gateway = Gateway::listening(serve.start()).await;
    let listed = legacy(&gateway, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().expect("tools").iter();
    let names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"approve"), "{names:?}");
    let input = json!({ "path": "a" });
    let said = asked(&gateway, "Read", input.clone()).await;
    assert_eq!(said, json!({ "behavior": "allow", "updatedInput": input }));
    let said = asked(&gateway, "Write", input).await;
    assert_eq!(
        (&said["behavior"], said["message"].is_string()),
        (&json!("deny"), true)
    );
    for (arguments, expected) in [
        (
            vec!["allow"],
            json!({ "behavior": "allow", "updatedInput": { "command": "rm" } }),
        ),
        (
            vec!["allow", "--edit", "{\"command\": \"ls\"}"],
            json!({ "behavior": "allow", "updatedInput": { "command": "ls" } }),
        ),
        (
            vec!["deny", "--reason", "too bold"],
            json!({ "behavior": "deny" }),
        ),
    ] {
        let answer = async {
            loop {
                let listed = sessions.run(&["approvals", "list", "--json"]).run().await;
                let listed: Vec<Value> = serde_json::from_str(&listed.out).expect("a list");
                let Some(question) = listed.first() else {
                    continue;
                };
                assert_eq!(question["arguments"], json!({ "command": "rm" }));
                let id = question["id"].as_str().expect("an id").to_owned();
                let mut command = vec!["approvals", arguments[0], &id];
                command.extend(&arguments[1..]);
                let ran = sessions.run(&command).run().await;
                assert_eq!(ran.code, Some(0), "{ran:?}");
                break;
            }
        };
        let (mut said, ()) = tokio::join!(
            asked(&gateway, "mcp__files__Bash", json!({ "command": "rm" })),
            answer
        );
        if let Some(Value::String(message)) =
            said.as_object_mut().and_then(|said| said.remove("message"))
        {
            assert!(message.contains("too bold"), "{message}");
        }
        assert_eq!(said, expected);
    }
    let audit = sessions.run(&["audit", "--json"]).run().await;
    assert!(audit.out.contains("mcp__files__Bash"), "{}", audit.out);
    gateway.end().await;
}

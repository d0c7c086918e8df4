//! Both eras of the protocol, on one kind of connection.

use jackfield_domain::tool::Safety;
use jackfield_testkit::fakes::ScriptedCall;
use serde_json::json;

use crate::harness::{Wire, request, server, text, toolbox};

#[tokio::test]
async fn without_a_handshake_every_request_says_its_revision_and_every_result_its_kind() {
    let tools = toolbox("ours");
    tools
        .tool("read", Safety::ReadOnly)
        .push_call("read", ScriptedCall::text("done"));
    let mut wire = Wire::to(server(&tools));
    let discover = request(1, "server/discover", json!({}));
    let found = wire.answer(discover).await["result"].clone();
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["capabilities"], json!({ "tools": {} }));
    let versions = found["supportedVersions"].as_array().expect("a list");
    for version in ["2024-11-05", "2025-11-25", "2026-07-28"] {
        assert!(versions.contains(&json!(version)), "{found}");
    }
    let server_info = &found["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server_info["name"], "jackfield");
    let listed = wire.answer(request(2, "tools/list", json!({}))).await["result"].clone();
    assert_eq!(listed["tools"][0]["name"], "read");
    assert_eq!(listed["resultType"], "complete");
    assert!(listed["ttlMs"].is_u64(), "{listed}");
    assert_eq!(listed["cacheScope"], "private");
    wire.call("three", "read", json!({})).await;
    let answer = wire.hear().await;
    assert_eq!((&answer["id"], text(&answer)), (&json!("three"), "done"));
    assert_eq!(answer["result"]["resultType"], "complete");
    let info = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "jackfield");
    wire.hang_up().await;
    assert!(wire.rest().await.is_empty());
}

#[tokio::test]
async fn with_a_handshake_the_revision_is_the_clients_and_nothing_newer_is_said() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let tools = toolbox("ours");
        tools
            .tool("read", Safety::ReadOnly)
            .push_call("read", ScriptedCall::text("done"));
        let mut wire = Wire::to(server(&tools));
        let met = wire.greet(version).await["result"].clone();
        assert_eq!(met["protocolVersion"], version);
        assert_eq!(met["serverInfo"]["name"], "jackfield");
        assert_eq!(met["capabilities"], json!({ "tools": {} }));
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let listed = wire.answer(list).await["result"].clone();
        assert_eq!(listed["tools"][0]["name"], "read");
        let call = json!({
            "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "read" },
        });
        let called = wire.answer(call).await;
        assert_eq!(text(&called), "done");
        for newer in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert!(listed.get(newer).is_none(), "{version}: {listed}");
            assert!(called["result"].get(newer).is_none(), "{version}: {called}");
        }
        wire.lives().await;
    }
}

#[tokio::test]
async fn a_revision_that_nobody_knows_is_answered_with_the_newest_that_has_a_handshake() {
    for wanted in ["1999-12-31", "2026-07-28", "2099-01-01", "newest"] {
        let mut wire = Wire::to(server(&toolbox("ours")));
        let met = wire.greet(wanted).await;
        assert_eq!(met["result"]["protocolVersion"], "2025-11-25", "{wanted}");
        // And that is what is spoken from then on.
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let listed = wire.answer(list).await["result"].clone();
        assert_eq!(listed, json!({ "tools": [] }), "{wanted}");
    }
}

#[tokio::test]
async fn an_unknown_revision_without_a_handshake_is_an_error_that_names_the_known_ones() {
    let mut wire = Wire::to(server(&toolbox("ours")));
    let mut ask = request(1, "tools/list", json!({}));
    ask["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let error = wire.answer(ask).await["error"].clone();
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"]["requested"], "2099-01-01");
    let supported = error["data"]["supported"].as_array().expect("a list");
    assert!(supported.contains(&json!("2026-07-28")), "{error}");
}

#[tokio::test]
async fn a_request_before_either_beginning_is_refused_and_the_connection_goes_on() {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly);
    let mut wire = Wire::to(server(&tools));
    for method in ["tools/list", "tools/call"] {
        let ask = json!({
            "jsonrpc": "2.0", "id": 1, "method": method, "params": { "name": "read" },
        });
        let error = wire.answer(ask).await["error"].clone();
        assert_eq!(error["code"], -32602, "{method}");
        let told = error["message"].as_str().unwrap_or_default();
        assert!(told.contains("`initialize`"), "{told}");
    }
    assert!(tools.runs().is_empty());
    // A ping may come before.
    wire.lives().await;
    wire.greet("2025-06-18").await;
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert!(wire.answer(list).await["result"].is_object());
}

#[tokio::test]
async fn a_client_that_probes_the_new_way_may_still_begin_the_old_way() {
    let tools = toolbox("ours");
    tools.tool("read", Safety::ReadOnly);
    let mut wire = Wire::to(server(&tools));
    wire.answer(request("probe", "server/discover", json!({})))
        .await;
    let modern = wire.answer(request(1, "tools/list", json!({}))).await;
    assert_eq!(modern["result"]["resultType"], "complete");
    wire.greet("2025-11-25").await;
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let legacy = wire.answer(list).await;
    assert_eq!(legacy["result"]["tools"], modern["result"]["tools"]);
    assert!(legacy["result"].get("resultType").is_none());
}

#[tokio::test]
async fn what_is_not_offered_is_said_and_not_simulated() {
    let mut wire = Wire::to(server(&toolbox("ours")));
    wire.greet("2025-11-25").await;
    for method in [
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "logging/setLevel",
        "subscriptions/listen",
        "tasks/get",
        "surprise/me",
    ] {
        let params = json!({ "level": "info", "taskId": "1", "notifications": {} });
        let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = wire.answer(ask).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let page = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "cursor": "2" },
    });
    assert_eq!(wire.answer(page).await["error"]["code"], -32602);
}

#[tokio::test]
async fn after_a_handshake_a_request_may_still_say_another_revision_and_is_answered_in_it() {
    let tools = toolbox("ours");
    tools
        .tool("read", Safety::ReadOnly)
        .set_default_call("read", ScriptedCall::text("done"));
    let mut wire = Wire::to(server(&tools));
    wire.greet("2025-06-18").await;
    wire.call(1, "read", json!({})).await;
    let called = wire.hear().await["result"].clone();
    assert_eq!(called["resultType"], "complete");
    assert!(called["_meta"].is_object(), "{called}");
    let listed = wire.answer(request(2, "tools/list", json!({}))).await["result"].clone();
    assert_eq!(listed["resultType"], "complete");
    assert!(listed["ttlMs"].is_u64(), "{listed}");
    // And the next one is of the handshake again.
    let call = json!({
        "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "read" },
    });
    assert!(
        wire.answer(call).await["result"]
            .get("resultType")
            .is_none()
    );
}

//! Changes of an MCP server's resources, over the API and through `/mcp` of the gateway.

use serde_json::{Value, json};

use crate::harness::{Asking, Gateway, Kept, McpServer};

/// A server whose tool `change` announces that `note://a` and the list of resources have changed.
fn announcing(era: &str) -> Value {
    json!({
        "era": era,
        "tools": [{ "name": "change", "description": "Changes.", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true } }],
        "calls": { "change": [
            { "announce": { "method": "notifications/resources/updated", "params": { "uri": "note://a" } } },
            { "announce": { "method": "notifications/resources/list_changed", "params": {} } },
        ] },
        "resources": [{ "uri": "note://a", "name": "a" }],
        "subscribe": true,
    })
}

async fn gateway(era: &str) -> (Kept, McpServer, Gateway) {
    let (sessions, server) = (Kept::new(), McpServer::new(announcing(era)));
    let serve = sessions.gateway().servers([("my_notes", server.trusted())]);
    let gateway = Gateway::listening(serve.start()).await;
    (sessions, server, gateway)
}

fn mcp(gateway: &Gateway, message: &Value) -> Asking {
    let asking = gateway.post("/mcp", message);
    asking.header("accept", "application/json, text/event-stream")
}

async fn change(gateway: &Gateway) {
    let params = json!({ "name": "my_notes__change", "arguments": {} });
    let called = gateway.modern(7, "tools/call", params).answered().await;
    assert!(called.said().contains("done"), "{called:?}");
}

#[tokio::test]
async fn the_api_streams_changes_of_servers_of_both_eras() {
    for era in ["legacy", "modern"] {
        let (_sessions, server, gateway) = gateway(era).await;
        let path = "/api/v1/servers/my_notes/resources/events?uri=note%3A%2F%2Fa";
        let mut stream = gateway.get(path).sent().await;
        stream.until("data: {\"changed\":\"watching\"}\n\n").await;
        change(&gateway).await;
        stream
            .until("data: {\"changed\":\"resource\",\"uri\":\"note://a\"}\n\n")
            .await;
        stream.until("data: {\"changed\":\"resources\"}\n\n").await;
        drop(stream);
        if era == "legacy" {
            server.until("resources/unsubscribe \"note://a\"").await;
        }
        gateway.end().await;
        server.kept_and_gone().await;
    }
}

#[tokio::test]
async fn the_api_says_that_a_server_announces_nothing() {
    let (sessions, server) = (
        Kept::new(),
        McpServer::new(json!({ "tools": [], "resources": [] })),
    );
    let serve = sessions.gateway().servers([("notes", server.trusted())]);
    let gateway = Gateway::listening(serve.start()).await;
    let path = "/api/v1/servers/notes/resources/events?uri=note%3A%2F%2Fa";
    let refused = gateway.get(path).answered().await.is(400);
    let detail = "the server `notes`: it announces no changes of resources";
    assert_eq!(refused["detail"], detail);
    let path = "/api/v1/servers/gone/resources/events";
    gateway.get(path).answered().await.is(404);
    gateway.end().await;
}

#[tokio::test]
async fn a_client_of_the_newest_revision_listens_to_resources_of_servers_of_both_eras() {
    for era in ["legacy", "modern"] {
        let (_sessions, server, gateway) = gateway(era).await;
        let filter = json!({
            "resourceSubscriptions": ["my.notes+note://a", "my.notes+note://gone", "other+x://y"],
            "resourcesListChanged": true,
        });
        let params = json!({ "notifications": filter });
        let listening = gateway.modern(5, "subscriptions/listen", params);
        let mut stream = listening.sent().await;
        stream
            .until("notifications/subscriptions/acknowledged")
            .await;
        // What happened before the subscription is not known.
        let updated = "\"uri\":\"my.notes+note://a\"";
        stream.until(updated).await;
        assert_eq!(stream.times(updated), 1, "{}", stream.so_far());
        change(&gateway).await;
        stream.until("notifications/resources/list_changed").await;
        stream.until_times(updated, 2).await;
        assert!(stream.so_far().contains("notifications/resources/updated"));
        gateway.end().await;
        server.kept_and_gone().await;
    }
}

#[tokio::test]
async fn a_client_with_a_session_subscribes_and_unsubscribes() {
    for era in ["legacy", "modern"] {
        let (_sessions, server, gateway) = gateway(era).await;
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "slice", "version": "1" },
        } });
        let begun = mcp(&gateway, &hello).answered().await;
        let session = begun.header("mcp-session-id").to_owned();
        let capabilities = begun.is(200)["result"]["capabilities"].clone();
        let wanted = json!({ "listChanged": true, "subscribe": true });
        assert_eq!(capabilities["resources"], wanted, "{era}");
        let ask = |id: u64, method: &str, uri: &str| {
            let message = json!({
                "jsonrpc": "2.0", "id": id, "method": method, "params": { "uri": uri },
            });
            mcp(&gateway, &message)
                .header("mcp-session-id", &session)
                .answered()
        };
        let stream = gateway.get("/mcp").header("accept", "text/event-stream");
        let mut stream = stream.header("mcp-session-id", &session).sent().await;
        stream.until("200 OK").await;
        let (here, gone) = ("my.notes+note://a", "other+note://a");
        let refused = ask(2, "resources/subscribe", gone).await.is(200);
        let message = "there is no resource `other+note://a`";
        assert_eq!(refused["error"]["message"], message, "{era}");
        assert_eq!(refused["error"]["code"], -32002, "{era}");
        let taken = ask(3, "resources/subscribe", here).await.is(200);
        assert_eq!(taken["result"], json!({}), "{era}");
        let updated = "\"uri\":\"my.notes+note://a\"";
        stream.until(updated).await;
        change(&gateway).await;
        stream.until("notifications/resources/list_changed").await;
        stream.until_times(updated, 2).await;
        let ended = ask(4, "resources/unsubscribe", here).await.is(200);
        assert_eq!(ended["result"], json!({}), "{era}");
        if era == "legacy" {
            server.until("resources/unsubscribe \"note://a\"").await;
        }
        gateway.end().await;
        server.kept_and_gone().await;
    }
}

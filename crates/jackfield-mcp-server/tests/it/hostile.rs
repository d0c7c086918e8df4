//! What no client should say, each ending in an answer or in nothing, and never in the server's end.

use jackfield_domain::tool::Safety;
use jackfield_testkit::fakes::{Gate, ScriptedCall};
use serde_json::{Value, json};

use crate::harness::{Wire, request, server, text, toolbox};

/// Says this line, hears this error, and finds the server alive.
async fn check(line: &[u8], code: i64, id: Value) {
    let mut wire = Wire::with(&toolbox("ours"), |settings| settings.max_message = 1000);
    wire.greet("2025-11-25").await;
    wire.raw(line).await;
    wire.raw(b"\n").await;
    let answer = wire.hear().await;
    let shown = String::from_utf8_lossy(line)
        .chars()
        .take(80)
        .collect::<String>();
    assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    assert_eq!(answer["id"], id, "{shown}");
    wire.lives().await;
}

#[tokio::test]
async fn what_is_not_json_is_a_parse_error() {
    for line in [
        &b"hello"[..],
        b"{",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        b"\"\\ud800",
        b"\xff\xfe\x00",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}",
    ] {
        check(line, -32700, Value::Null).await;
    }
}

#[tokio::test]
async fn nesting_without_end_is_a_parse_error() {
    check("[".repeat(900).as_bytes(), -32700, Value::Null).await;
}

#[tokio::test]
async fn a_batch_and_what_else_is_no_message_is_an_invalid_request() {
    for line in [
        &b"[]"[..],
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        b"1",
        b"null",
        b"{}",
        b"{\"jsonrpc\":\"2.0\"}",
    ] {
        check(line, -32600, Value::Null).await;
    }
    check(br#"{"jsonrpc":"2.0","id":1}"#, -32600, json!(1)).await;
    check(br#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600, json!(1)).await;
    check(
        br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        -32600,
        json!(1),
    )
    .await;
    check(br#"{"id":1,"method":"ping"}"#, -32600, json!(1)).await;
}

#[tokio::test]
async fn an_id_that_is_none_is_an_invalid_request() {
    for id in [
        "null",
        "1.5",
        "true",
        "[]",
        "{}",
        "1e300",
        "18446744073709551615",
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        check(line.as_bytes(), -32600, Value::Null).await;
    }
}

#[tokio::test]
async fn parameters_that_are_not_those_of_the_method_are_invalid() {
    for (method, params) in [
        ("ping", "[]"),
        ("tools/list", "7"),
        ("tools/call", "{}"),
        ("tools/call", r#"{"name":7}"#),
        ("tools/call", r#"{"name":"read","arguments":[1]}"#),
        ("tools/call", r#"{"name":"read","arguments":"{}"}"#),
        ("initialize", "{}"),
        ("initialize", r#"{"protocolVersion":7}"#),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#);
        check(line.as_bytes(), -32602, json!("x")).await;
    }
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_and_the_next_one_is_read() {
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
        "x".repeat(2000)
    );
    check(long.as_bytes(), -32600, Value::Null).await;
}

#[tokio::test]
async fn a_line_without_end_is_kept_to_the_bound_and_ends_with_the_input() {
    let mut wire = Wire::with(&toolbox("ours"), |settings| settings.max_message = 1000);
    for _ in 0..1000 {
        wire.raw(&[b'x'; 4096]).await;
    }
    wire.hang_up().await;
    let rest = wire.rest().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["error"]["code"], -32600);
}

#[tokio::test]
async fn what_has_no_answer_is_ignored() {
    let mut wire = Wire::to(server(&toolbox("ours")));
    for line in [
        "",
        "   ",
        "\r",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":7}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/surprise","params":{"a":1}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
    ] {
        wire.raw(line.as_bytes()).await;
        wire.raw(b"\n").await;
    }
    wire.lives().await;
    wire.hang_up().await;
    assert!(wire.rest().await.is_empty());
}

#[tokio::test]
async fn a_second_request_of_an_id_that_is_under_way_is_refused_and_the_first_is_answered() {
    let (tools, gate) = (toolbox("ours"), Gate::new());
    tools
        .tool("read", Safety::ReadOnly)
        .push_call("read", ScriptedCall::text("first").held_at(&gate));
    let mut wire = Wire::to(server(&tools));
    wire.call(1, "read", json!({})).await;
    gate.reached().await;
    wire.call(1, "read", json!({})).await;
    let refused = wire.hear().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(1), &json!(-32600))
    );
    // The same number as a text is another id.
    wire.say(request("1", "server/discover", json!({}))).await;
    assert_eq!(wire.hear().await["id"], "1");
    gate.open();
    let answer = wire.hear().await;
    assert_eq!((&answer["id"], text(&answer)), (&json!(1), "first"));
    assert_eq!(tools.runs().len(), 1);
}

#[tokio::test]
async fn an_id_that_was_taken_back_may_be_used_again_and_gets_the_new_answer() {
    let (tools, gate) = (toolbox("ours"), Gate::new());
    tools
        .tool("read", Safety::ReadOnly)
        .push_call("read", ScriptedCall::text("old").held_at(&gate))
        .push_call("read", ScriptedCall::text("new"));
    let mut wire = Wire::to(server(&tools));
    wire.call(1, "read", json!({})).await;
    gate.reached().await;
    wire.say(json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    }))
    .await;
    wire.call(1, "read", json!({})).await;
    let answer = wire.hear().await;
    assert_eq!((&answer["id"], text(&answer)), (&json!(1), "new"));
    wire.lives().await;
}

#[tokio::test]
async fn too_many_requests_at_once_are_refused_and_not_kept() {
    let (tools, gate) = (toolbox("ours"), Gate::new());
    tools
        .tool("read", Safety::ReadOnly)
        .set_default_call("read", ScriptedCall::text("done").held_at(&gate));
    let mut wire = Wire::with(&tools, |settings| settings.most_requests = 2);
    wire.call(1, "read", json!({})).await;
    wire.call(2, "read", json!({})).await;
    wire.call(3, "read", json!({})).await;
    let refused = wire.hear().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(3), &json!(-32000))
    );
    gate.open();
    let mut answered = [
        wire.hear().await["id"].clone(),
        wire.hear().await["id"].clone(),
    ];
    answered.sort_by_key(Value::as_u64);
    assert_eq!(answered, [json!(1), json!(2)]);
    wire.call(4, "read", json!({})).await;
    assert_eq!(wire.hear().await["id"], 4);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_heard_and_does_not_hold_the_server() {
    let mut wire = Wire::with_buffer(server(&toolbox("ours")), 256);
    // Far more than its own buffer and the queue take; what is not read is not answered either.
    let flood = async {
        loop {
            wire.raw(b"garbage\n").await;
        }
    };
    // This time passes only when neither side can go on.
    let held = tokio::time::timeout(std::time::Duration::from_secs(1), flood).await;
    assert!(held.is_err());
    wire.stop();
    wire.rest().await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_more_ends_the_server_though_it_could_still_speak() {
    use tokio::io::AsyncWriteExt as _;
    let (mut speaks, hears) = tokio::io::duplex(1 << 16);
    let (output, gone) = tokio::io::duplex(1 << 16);
    drop(gone);
    let server = server(&toolbox("ours"));
    let serving = tokio::spawn(async move {
        server.serve(hears, output, std::future::pending()).await;
    });
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    speaks.write_all(ping).await.expect("it reads");
    let ended = tokio::time::timeout(crate::harness::TIME_LIMIT, serving).await;
    ended.expect("it ends in time").expect("no panic");
}

#[tokio::test]
async fn a_message_of_just_the_bound_is_read_and_one_byte_more_is_not() {
    let mut wire = Wire::with(&toolbox("ours"), |settings| settings.max_message = 1000);
    let mut line = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
    line.resize(1000, b' ');
    wire.raw(&line).await;
    wire.raw(b"\n").await;
    assert_eq!(wire.hear().await["result"], json!({}));
    line.push(b' ');
    wire.raw(&line).await;
    wire.raw(b"\n").await;
    assert_eq!(wire.hear().await["error"]["code"], -32600);
}

#[tokio::test]
async fn what_was_answered_or_taken_back_leaves_its_room_to_others() {
    let (tools, gate) = (toolbox("ours"), Gate::new());
    tools.tool("read", Safety::ReadOnly);
    for _ in 0..4 {
        tools.push_call("read", ScriptedCall::text("never").held_at(&gate));
    }
    let mut wire = Wire::with(&tools, |settings| settings.most_requests = 2);
    for id in 0..8 {
        // Answered.
        wire.lives().await;
        // Taken back; what comes after it is read after it.
        if id < 4 {
            wire.call(id, "read", json!({})).await;
            wire.say(json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
            }))
            .await;
        }
    }
    wire.lives().await;
}

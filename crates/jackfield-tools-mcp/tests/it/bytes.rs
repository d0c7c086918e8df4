//! Answers that are almost JSON, and answers that are not.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, Toolbox as _};
use jackfield_tools_mcp::{McpToolbox, ServerConfig};
use proptest::proptest;
use serde_json::json;

use crate::harness::{run, settings, soon};

const KNOWN: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"greet","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}}"#;

/// What comes of a call that a server answers with these bytes, and what its log has.
async fn answered(bytes: &[u8]) -> (Result<ToolEnd, ToolError>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("answer"), bytes).unwrap();
    // Which id a request has is the client's affair: it is put where the others have a 0 or a 1.
    let line = r#"
        id() { printf '%s' "$1" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/'; }
        while IFS= read -r line; do
            case "$line" in
                *server/discover*) printf '%s\n' "$1" | sed "s/\"id\":0/\"id\":$(id "$line")/" ;;
                *tools/list*) printf '%s\n' "$2" | sed "s/\"id\":1/\"id\":$(id "$line")/" ;;
                *tools/call*) LC_ALL=C sed "s/@ID@/$(id "$line")/" < "$0/answer" ;;
            esac
        done"#;
    let mut config = ServerConfig::new(ToolboxId::parse("bytes").unwrap(), "sh");
    config.arguments = [
        "-c",
        line,
        &folder.path().display().to_string(),
        KNOWN,
        LIST,
    ]
    .map(str::to_owned)
    .into();
    // Nothing here is to wait for a time to be over.
    config.call_limit = Duration::from_secs(600);
    config.longest_call = Duration::from_secs(600);
    let server = McpToolbox::new(config, settings());
    soon(server.list()).await.unwrap();
    let ended = soon(server.call(&run("greet", json!({})), &CallContext::default(), &mut ())).await;
    server.stop().await;
    (ended, server.log())
}

/// The result of a call that is answered with this result.
async fn result(inside: &[u8]) -> (ToolResult, Vec<String>) {
    let mut bytes = br#"{"jsonrpc":"2.0","id":@ID@,"result":"#.to_vec();
    bytes.extend_from_slice(inside);
    bytes.extend_from_slice(b"}\n");
    match answered(&bytes).await {
        (Ok(ToolEnd::Finished(result)), log) => (result, log),
        (other, log) => panic!("{other:?}: {log:?}"),
    }
}

fn text(said: &[u8]) -> Vec<u8> {
    [br#"{"content":[{"type":"text","text":""#, said, br#""}]}"#].concat()
}

#[tokio::test]
async fn bytes_and_halves_of_characters_are_replaced() {
    for (said, expected) in [
        (&b"caf\xe9"[..], "caf\u{fffd}"),
        (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        (b"a\\ud83d b", "a\u{fffd} b"),
        (b"a\\udca9 b", "a\u{fffd} b"),
        (b"\\ud83d\\ud83d\\udca9", "\u{fffd}\u{1f4a9}"),
        (b"\\ud83d\\udca9", "\u{1f4a9}"),
        (b"a\tb\x01", "a\tb\u{1}"),
        (b"C:\\dir\\x", "C:\\dir\\x"),
        (b"\\u12", "\\u12"),
        (b"NaN, \\\"NaN\\\": NaN", "NaN, \"NaN\": NaN"),
    ] {
        let (result, log) = result(&text(said)).await;
        assert_eq!(result.to_text(), expected, "{said:?}");
        let was_json = serde_json::from_slice::<serde_json::Value>(&text(said)).is_ok();
        let logged = log.iter().any(|line| line.contains("was replaced"));
        assert_eq!(logged, !was_json, "{said:?}: {log:?}");
    }
}

#[tokio::test]
async fn numbers_that_json_does_not_have_are_null() {
    let said = br#"{"content":[],"structuredContent":{"a":NaN,"b":[-Infinity,Infinity,1e999],"c":-1e3,"d":"NaN","e":nan,"f":12345678901234567890123}}"#;
    let (result, _) = result(said).await;
    let expected = json!({
        "a": null, "b": [null, null, null], "c": -1e3, "d": "NaN", "e": null, "f": 12_345_678_901_234_567_890_123_f64,
    });
    assert_eq!(result.structured.as_deref(), Some(&expected));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_at_once_with_the_reason() {
    for line in [
        &b"{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"result\":{\"content\":[}\n"[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"result\":{\"content\":[{\"type\":\"te\n",
        b"{\"jsonrpc\":\"2.0\",\"result\":{\"a\":None},\"id\":@ID@}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"error\":{'code':1}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"res\n",
    ] {
        let shown = String::from_utf8_lossy(line).into_owned();
        let (ended, log) = answered(line).await;
        let failure = ended.unwrap_err().failure;
        assert_eq!(failure.disposition, Disposition::Landed, "{shown}");
        assert_eq!(failure.kind, ToolFailureKind::ProtocolViolation, "{shown}");
        let message = &failure.message;
        assert!(
            message.starts_with("what `greet` answered cannot be read: "),
            "{message}"
        );
        assert!(message.contains("column"), "{message}");
        let begin = shown.get(..16).unwrap_or_default();
        assert!(log.iter().any(|line| line.contains(begin)), "{log:?}");
    }
}

#[tokio::test]
async fn what_is_no_answer_ends_no_call() {
    let mut lines = Vec::new();
    for noise in [
        &b"{\"id\":@ID@, \"level\": info}\n"[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"method\":\"ping\", oops}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{]}\n",
        b"\"id\": @ID@, \"jsonrpc\"\n",
    ] {
        lines.extend_from_slice(noise);
    }
    lines.extend_from_slice(br#"{"jsonrpc":"2.0","id":@ID@,"result":"#);
    lines.extend(text(b"hello"));
    lines.extend_from_slice(b"}\n");
    match answered(&lines).await.0 {
        Ok(ToolEnd::Finished(result)) => assert_eq!(result.to_text(), "hello"),
        other => panic!("{other:?}"),
    }
}

proptest! {
    // Each case is dear.
    #![proptest_config(proptest::test_runner::Config::with_cases(proptest::test_runner::Config::default().cases / 5))]

    /// Any text, written in any of the ways in which JSON writes it, with any bytes put in, comes as text.
    #[test]
    fn whatever_bytes_stand_in_a_text_it_is_a_text(said in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
        let said: Vec<u8> = said.into_iter().filter(|byte| !matches!(byte, b'\n' | b'\r' | b'"' | b'\\' | b'@' | 0)).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (result, _) = runtime.block_on(result(&text(&said)));
        assert_eq!(result.to_text(), String::from_utf8_lossy(&said));
    }
}

//! A history that comes back: what we have shown is ours, and no provider's.

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request;
use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_kit::serve::{ServeDialect as _, ServeErrorKind};
use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::rules;
use jackfield_domain::server_tool::ServerTool;
use serde_json::{Value, json};

use super::{about, read, shown};
use crate::arb::owner;
use crate::examples;

const ID: &str = "call_0123456789abcdef01234567";

/// The content of the message that a client is told these blocks in.
fn told(blocks: Vec<Block>) -> Value {
    let reply = Reply {
        end: ReplyEnd::new(FinishReason::Stop),
        message: Message::new(Role::Assistant, blocks).into(),
    };
    let (body, _) = ClaudeServer.reply(&reply, &about());
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    body["content"].clone()
}

/// A conversation in which the model said this.
fn history(content: Value) -> Value {
    json!({
        "model": "model-a",
        "max_tokens": 100,
        "messages": [
            { "role": "user", "content": "Read it." },
            { "role": "assistant", "content": content },
            { "role": "user", "content": "And now?" },
        ],
    })
}

#[test]
fn what_we_ran_is_known_again_and_sent_to_nobody() {
    let [call, outcome] = shown(ID, "{\"path\":\"a\"}", ToolResult::text("the text"));
    let blocks = vec![
        Block::text("One moment."),
        call.clone(),
        outcome.clone(),
        Block::text("It says so."),
    ];
    let content = told(blocks.clone());
    assert_eq!(content[1]["type"], "mcp_tool_use");
    assert_eq!(content[2]["type"], "mcp_tool_result");
    let incoming = read(&history(content)).expect("a request");
    assert_eq!(incoming.notes, []);
    let back = &incoming.messages[1].blocks;
    assert_eq!(back.len(), 4);
    let tool = ServerTool::from_states(&back[1].opaque).expect("a tool of ours");
    assert_eq!((tool.server, tool.tool), ("files", "read_file"));
    assert_eq!(ServerTool::from_states(&back[2].opaque), Some(tool));
    match (&back[1].content, &back[2].content) {
        (Content::ToolCall(call), Content::ToolOutcome(outcome)) => {
            assert_eq!(call.ran_by, RanBy::Provider);
            assert_eq!(call.upstream, None);
            assert_eq!((call.id.as_str(), outcome.call.as_str()), (ID, ID));
            assert_eq!(outcome.result, ToolResult::text("the text"));
        }
        other => panic!("{other:?}"),
    }

    let request = examples::of(incoming.messages);
    rules::check_request(request.messages.iter()).expect("a sound conversation");
    for model in ["claude-opus-5-5", "claude-haiku-4-5"] {
        let profile = Profile::of(model);
        let (sent, notes) =
            request::to_wire(&request, &owner(), &profile, false).expect("it can be said");
        let sent = serde_json::to_value(&sent.messages).expect("JSON");
        let expected = json!([
            { "role": "user", "content": [{ "type": "text", "text": "Read it." }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "One moment." },
                { "type": "text", "text": "It says so." },
            ] },
            { "role": "user", "content": [{ "type": "text", "text": "And now?" }] },
        ]);
        assert_eq!(sent, expected);
        let codes: Vec<&str> = notes.iter().map(|note| &*note.code).collect();
        assert_eq!(
            codes,
            ["provider_call_withheld", "provider_outcome_withheld"]
        );
    }
}

#[test]
fn what_the_vendor_ran_itself_stays_its_own() {
    let content = json!([
        { "type": "mcp_tool_use", "id": "mcptoolu_1", "name": "a", "server_name": "s", "input": {} },
        { "type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false, "content": [] },
    ]);
    let incoming = read(&history(content)).expect("a request");
    let blocks = &incoming.messages[1].blocks;
    assert_eq!(ServerTool::from_states(&blocks[0].opaque), None);
    assert!(matches!(&blocks[1].content, Content::Opaque(opaque) if opaque.owner == owner()));
}

#[test]
fn what_we_never_showed_is_refused() {
    let call =
        json!({ "type": "mcp_tool_use", "id": ID, "name": "a", "server_name": "s", "input": {} });
    let mut nameless = call.clone();
    nameless["server_name"] = json!("no server");
    let outcome =
        json!({ "type": "mcp_tool_result", "tool_use_id": ID, "is_error": false, "content": [] });
    let mut pictured = outcome.clone();
    pictured["content"] = json!([{ "type": "image", "source": { "type": "url", "url": "x" } }]);
    for (content, place) in [
        (json!([outcome]), "messages.1.content.0.tool_use_id"),
        (json!([nameless]), "messages.1.content.0.server_name"),
        (json!([call, pictured]), "messages.1.content.1.content.0"),
        (
            json!([{ "type": "mcp_tool_use", "id": ID }]),
            "messages.1.content.0",
        ),
    ] {
        let error = read(&history(content)).expect_err(place);
        assert_eq!(error.kind, ServeErrorKind::Invalid);
        assert_eq!(error.param.as_deref(), Some(place), "{error}");
    }
    let mut said = history(json!("hi"));
    said["messages"][0]["content"] = json!([call]);
    let error = read(&said).expect_err("a user calls nothing");
    assert_eq!(error.param.as_deref(), Some("messages.0.content.0"));
}

#[test]
fn a_signature_comes_back_to_whom_it_is_meant_for() {
    let content = json!([
        { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
        { "type": "thinking", "thinking": "of another provider", "signature": "" },
        { "type": "text", "text": "So." },
    ]);
    let incoming = read(&history(content)).expect("a request");
    let request = examples::of(incoming.messages);
    let profile = Profile::NEWEST;
    let (sent, notes) =
        request::to_wire(&request, &owner(), &profile, false).expect("it can be said");
    let sent = serde_json::to_value(&sent.messages).expect("JSON");
    let expected = json!([
        { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
        { "type": "text", "text": "So." },
    ]);
    assert_eq!(sent[1]["content"], expected);
    assert_eq!(notes.len(), 1);
    assert_eq!(&*notes[0].code, "thinking_withheld");

    // Asked of somebody else, it is nobody's proof.
    let mut other = owner();
    other.model = "model-b".into();
    let (sent, notes) =
        request::to_wire(&request, &other, &profile, false).expect("it can be said");
    let sent = serde_json::to_value(&sent.messages).expect("JSON");
    assert_eq!(
        sent[1]["content"],
        json!([{ "type": "text", "text": "So." }])
    );
    assert_eq!(notes.len(), 2);
}

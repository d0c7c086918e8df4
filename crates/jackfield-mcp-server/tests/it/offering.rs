//! Which tools are offered: by pattern, and by what the policy says.

use std::sync::Arc;

use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_engine::{Engine, ToolboxStatus};
use jackfield_mcp_server::ToolServer;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::ScriptedToolbox;
use serde_json::json;

use crate::harness::{Wire, options, request, toolbox};

/// Two toolboxes of which the first is believed, with a tool that reads and one that writes each.
fn server(rules: &[(&str, RuleVerdict)]) -> (ToolServer, [ScriptedToolbox; 2]) {
    let [mine, theirs] = ["mine", "theirs"].map(toolbox);
    for tools in [&mine, &theirs] {
        tools
            .tool("read", Safety::ReadOnly)
            .tool("write", Safety::Unknown);
    }
    let trusted = ToolboxStatus {
        prefix: None,
        server: None,
        trusted: true,
    };
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .toolbox_as(mine.port(), trusted)
        .toolbox(theirs.port())
        .build();
    let mut options = options();
    // Somebody could be asked elsewhere; nobody can be here.
    options.policy.can_ask = true;
    options.policy.rules = rules
        .iter()
        .map(|(pattern, verdict)| PolicyRule {
            pattern: (*pattern).into(),
            verdict: *verdict,
        })
        .collect();
    (ToolServer::new(engine, options), [mine, theirs])
}

async fn check(rules: &[(&str, RuleVerdict)], patterns: &[&str], names: &[&str]) {
    let (server, _tools) = server(rules);
    let server = server.offering(patterns.iter().copied());
    let mut wire = Wire::to(server);
    let listed = wire.answer(request(1, "tools/list", json!({}))).await;
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let listed: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(listed, names, "{rules:?} {patterns:?}");
}

#[tokio::test]
async fn what_needs_approval_is_not_offered() {
    check(&[], &["*"], &["mine__read"]).await;
    check(&[("*", RuleVerdict::Ask)], &["*"], &[]).await;
    check(&[("mine/*", RuleVerdict::Deny)], &["*"], &[]).await;
    check(
        &[("theirs/write", RuleVerdict::Allow)],
        &["*"],
        &["mine__read", "theirs__write"],
    )
    .await;
}

#[tokio::test]
async fn patterns_say_what_is_offered_and_allow_nothing() {
    let all = &[("*", RuleVerdict::Allow)];
    check(all, &["mine/*"], &["mine__read", "mine__write"]).await;
    check(all, &["*/read"], &["mine__read", "theirs__read"]).await;
    check(all, &["read"], &["mine__read", "theirs__read"]).await;
    check(
        all,
        &["mine/read", "theirs/write"],
        &["mine__read", "theirs__write"],
    )
    .await;
    check(all, &["nobody/*"], &[]).await;
    check(&[], &["theirs/*"], &[]).await;
}

#[tokio::test]
async fn a_tool_that_is_not_offered_cannot_be_called_and_the_error_says_what_would_help() {
    let (server, tools) = server(&[("theirs/read", RuleVerdict::Allow)]);
    let mut wire = Wire::to(server.offering(["mine/*"]));
    wire.call(1, "mine__write", json!({})).await;
    let error = wire.hear().await["error"].clone();
    assert_eq!(error["code"], -32602);
    let told = error["message"].as_str().unwrap_or_default();
    assert!(told.contains("\"mine/write\" = \"allow\""), "{told}");
    // Allowed, and of no pattern.
    wire.call(2, "theirs__read", json!({})).await;
    assert_eq!(wire.hear().await["error"]["code"], -32602);
    assert!(tools.iter().all(|tools| tools.runs().is_empty()));
}

#[tokio::test]
async fn an_offer_names_what_is_withheld_and_the_patterns_that_fit_nothing() {
    let (server, _tools) = server(&[]);
    let offer = server.offering(["mine/*", "mien/*"]).offer().await;
    assert_eq!(offer.idle, ["mien/*".into()]);
    assert_eq!(offer.tools.len(), 1);
    assert_eq!(offer.withheld.len(), 1);
    assert_eq!(offer.withheld[0].name, "mine__write");
    assert!(offer.problems.is_empty());
}

#[tokio::test]
async fn a_tool_that_takes_no_object_is_not_offered() {
    let tools = toolbox("ours");
    tools.spec(ToolSpec {
        description: "Takes text.".into(),
        icon: None,
        input: InputFormat::Text(None),
        name: "grammar".into(),
        output: None,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: None,
    });
    let offer = crate::harness::server(&tools).offer().await;
    assert!(offer.tools.is_empty());
    assert_eq!(offer.withheld[0].name, "grammar");
}

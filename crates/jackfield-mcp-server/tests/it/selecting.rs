//! Tools under other names, with other descriptions and fixed arguments.

use std::sync::Arc;

use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::tool::{InputFormat, Safety, ToolOrigin, ToolSpec};
use jackfield_mcp_server::SelectedTool;
use jackfield_testkit::fakes::{ScriptedCall, ScriptedToolbox};
use serde_json::{Map, Value, json};

use crate::harness::{Wire, server, text, toolbox};

fn selected(name: &str, tool: &str, description: Option<&str>, fixed: Value) -> SelectedTool {
    SelectedTool {
        arguments: fixed.as_object().cloned().unwrap_or_default(),
        description: description.map(Arc::from),
        name: ToolName::parse(name).expect("a name"),
        origin: ToolOrigin {
            tool: tool.into(),
            toolbox: ToolboxId::parse("ours").expect("an id"),
        },
    }
}

/// A toolbox with a search that needs a place and words, and takes nothing else.
fn searching() -> ScriptedToolbox {
    let tools = toolbox("ours");
    let schema = json!({
        "type": "object",
        "properties": { "place": { "type": "string" }, "words": { "type": "string" } },
        "required": ["place", "words"],
        "additionalProperties": false,
    });
    tools.spec(ToolSpec {
        description: "Searches.".into(),
        icon: None,
        input: InputFormat::Json(Arc::new(schema)),
        name: "search".into(),
        output: None,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: None,
    });
    tools.set_default_call("search", ScriptedCall::text("found"));
    tools
}

#[tokio::test]
async fn a_tool_is_renamed_described_anew_and_its_fixed_arguments_are_hidden() {
    let tools = searching();
    let fixed = json!({ "place": "attic" });
    let server = server(&tools).selecting([
        selected(
            "find_here",
            "search",
            Some("Finds things in the attic."),
            fixed,
        ),
        selected("search_all", "search", None, json!({})),
    ]);
    let mut wire = Wire::to(server);
    wire.ask(1, "tools/list", json!({})).await;
    let listed = wire.hear().await;
    let first = &listed["result"]["tools"][0];
    assert_eq!(
        (&first["name"], &first["description"]),
        (&json!("find_here"), &json!("Finds things in the attic."))
    );
    assert_eq!(
        first["inputSchema"],
        json!({
            "type": "object",
            "properties": { "words": { "type": "string" } },
            "required": ["words"],
            "additionalProperties": false,
        })
    );
    let second = &listed["result"]["tools"][1];
    assert_eq!(
        (&second["name"], &second["description"]),
        (&json!("search_all"), &json!("Searches."))
    );
    // Its own name is not there, and a client cannot change what is fixed.
    wire.call(2, "search", json!({})).await;
    assert_eq!(wire.hear().await["error"]["code"], -32602);
    for arguments in [
        json!({ "words": "hat" }),
        json!({ "words": "hat", "place": "cellar" }),
    ] {
        wire.call(3, "find_here", arguments).await;
        assert_eq!(text(&wire.hear().await), "found");
    }
    let expected = json!({ "words": "hat", "place": "attic" });
    for run in tools.runs() {
        assert_eq!(
            run.arguments().map(|given| Value::Object(given.clone())),
            Some(expected.clone())
        );
    }
    assert_eq!(tools.runs().len(), 2);
}

#[tokio::test]
async fn a_tool_that_is_gone_is_left_out_with_a_note() {
    let tools = searching();
    let server = server(&tools).selecting([
        selected("gone", "vanished", None, Value::Object(Map::new())),
        selected("here", "search", None, json!({})),
    ]);
    let mut wire = Wire::to(server);
    wire.ask(1, "tools/list", json!({})).await;
    let listed = wire.hear().await;
    let names = listed["result"]["tools"].as_array().expect("tools").iter();
    let names: Vec<&Value> = names.map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["here"]);
    let note = "The tool `gone` is left out: the tool `ours/vanished` is not there.";
    wire.ask(2, "server/discover", json!({})).await;
    assert_eq!(wire.hear().await["result"]["instructions"], note);
    assert_eq!(
        wire.greet("2025-06-18").await["result"]["instructions"],
        note
    );
    wire.call(3, "gone", json!({})).await;
    let error = wire.hear().await["error"]["message"].to_string();
    assert!(error.contains("`ours/vanished` is not there"), "{error}");
}

//! Sets of tools for MCP clients in the configuration.

use serde_json::json;

use crate::world::World;

#[test]
fn a_set_has_its_tools_by_their_names_there() {
    let text = "\
[serve.mcp.triage.tools.find_issue]
tool = 'tracker/search_issues'
description = 'Finds issues of the shop.'
arguments = { repository = 'acme/shop', most = 3 }
[serve.mcp.triage.tools.note]
tool = 'notes/add_note'
";
    let config = World::new().with_user(text).load().unwrap();
    let set = &config.serve.tool_sets["triage"];
    let names: Vec<&str> = set.keys().map(|name| &**name).collect();
    assert_eq!(names, ["find_issue", "note"]);
    let find = &set["find_issue"];
    let origin = (find.origin.toolbox.as_str(), &*find.origin.tool);
    assert_eq!(origin, ("tracker", "search_issues"));
    assert_eq!(
        find.description.as_deref(),
        Some("Finds issues of the shop.")
    );
    let arguments = json!({ "repository": "acme/shop", "most": 3 });
    assert_eq!(Some(&find.arguments), arguments.as_object());
    assert!(set["note"].arguments.is_empty() && set["note"].description.is_none());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, expected) in [
        (
            "[serve.mcp.a.tools.b]\ntool = 'tracker'",
            "2: key `serve.mcp.a.tools.b.tool`: a server, `/` and the tool's own name are expected",
        ),
        (
            "[serve.mcp.\"a/b\".tools.c]\ntool = 'x/y'",
            "1: key `serve.mcp.\"a/b\"`: the name of a set of tools is made of letters, digits, `-` and `_`",
        ),
        (
            "[serve.mcp.a.tools.b]\ndescription = 'x'",
            "1: key `serve.mcp.a.tools.b`: the tool says not which one it is",
        ),
    ] {
        let found = World::new().with_user(text).problems();
        let expected = format!("~/.config/jackfield/jackfield.toml:{expected}");
        assert!(found.contains(&expected), "{found:?}");
    }
}

//! Files of MCP servers as other programs keep them, with the real binary.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{McpEndpoint, McpServer, jackfield, kept, tool};

/// Files as other programs write them, each with this server, this one at an address, and what cannot be used.
fn files(server: &McpServer, url: &str) -> Vec<(&'static str, String)> {
    let more = |more: Value| server.with(&more);
    let hosted = json!({ "type": "http", "url": url });
    let old = json!({ "type": "sse", "url": "https://mcp.example/sse" });
    let claude_code = json!({
        "numStartups": 3, "projects": { "/srv": { "mcpServers": {} } }, "userID": "f00",
        "mcpServers": { "box": more(json!({ "type": "stdio", "env": {} })), "hosted": hosted },
    });
    let desktop =
        json!({ "preferences": {}, "mcpServers": { "box": server.entry(), "My Server": hosted } });
    let cline = json!({ "mcpServers": {
        "box": more(json!({ "disabled": false, "autoApprove": [], "alwaysAllow": [], "timeout": 60 })),
        "hosted": { "type": "streamableHttp", "url": url, "disabled": false },
    } });
    let vs_code = json!({
        "inputs": [{ "type": "promptString", "id": "key", "password": true }],
        "servers": {
            "box": more(json!({ "type": "stdio", "dev": { "watch": "src" } })),
            "asks": { "command": "not-there", "env": { "KEY": "${input:key}" } },
        },
    });
    let windsurf = json!({ "mcpServers": {
        "box": more(json!({ "disabledTools": ["other"] })),
        "hosted": { "serverUrl": url }, "old": old,
    } });
    let cursor =
        json!({ "mcpServers": { "box": server.entry(), "hosted": { "url": url }, "old": old } });
    let cursor = format!("// of this project\n{cursor}");
    vec![
        (".claude.json", claude_code.to_string()),
        (".mcp.json", desktop.to_string()),
        ("claude_desktop_config.json", desktop.to_string()),
        ("cline_mcp_settings.json", cline.to_string()),
        ("cursor.json", cursor),
        ("vscode.json", vs_code.to_string()),
        ("mcp_config.json", windsurf.to_string()),
    ]
}

#[tokio::test]
async fn the_files_of_other_programs_are_used_as_they_are() {
    let server = McpServer::of("read", &json!([{ "text": "the text" }]));
    let hosted = McpEndpoint::new(json!({ "tools": [tool("far")] }));
    for (name, text) in files(&server, &hosted.server.url()) {
        let claude = ScriptedClaude::start([
            ScriptTurn::call("box__read", &json!({})),
            ScriptTurn::text("Read.").when("the text"),
        ])
        .await;
        let ask = jackfield(["ask", "Read", "--yes", "--mcp-config", name]);
        let ask = ask.at(&claude.base_url()).in_project(name, text.clone());
        let ran = ask.run().await;
        ran.answers("Read.\n");
        // Each run prints only what the user can change.
        let can_be_mended = ["cline_mcp_settings.json", "vscode.json"].contains(&name);
        assert_eq!(ran.err.contains("left out"), can_be_mended, "{}", ran.err);
        let test = jackfield(["mcp", "test", "--mcp-config", name]);
        let ran = test.in_project(name, text).run().await;
        ran.says(&format!("{name}:"));
        ran.says("left out");
        let has_hosted = name != "vscode.json";
        assert_eq!(ran.out.contains("far"), has_hosted, "{name}: {}", ran.out);
        kept(&claude);
    }
}

#[tokio::test]
async fn what_needs_no_tools_does_not_read_the_file() {
    for arguments in [
        ["sessions", "list"],
        ["prices", "list"],
        ["approvals", "list"],
        ["providers", "--offline"],
    ] {
        let run = jackfield(arguments).configured("mcp.config = 'broken.json'");
        let ran = run.run().await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("broken.json"), "{}", ran.err);
    }
    let ran = jackfield(["tools", "list"])
        .in_project("broken.json", "{")
        .more(&["--mcp-config", "broken.json"])
        .run()
        .await;
    ran.fails(3, "broken.json:1: this is not JSON", "mend that line");
}

//! Hidden letters of servers: models get none that are tags, and people see them by name.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{McpServer, jackfield, kept};
use crate::pins::changed;

/// `hi` in tag letters.
const TAGS: &str = "\u{e0068}\u{e0069}";
const WALES: &str = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}";

#[tokio::test]
async fn a_model_gets_no_tag_letters_from_a_server_and_those_of_a_person() {
    let schema = json!({ "type": "object", "properties": { "a": { "description": format!("An a.{TAGS}") } } });
    let fields = json!({ "description": format!("Looks.{TAGS} می\u{200c}خواهم {WALES}"), "inputSchema": schema });
    let server = McpServer::new(json!({
        "tools": [changed("look", &fields)],
        "instructions": format!("Look first.{TAGS}"),
        "calls": { "look": [{ "text": format!("Seen.{TAGS} 👩\u{200d}👧") }] },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("weather__look", &json!({})),
        ScriptTurn::text("Done."),
    ])
    .await;
    let words = format!("Look{TAGS}");
    let ask = jackfield(["ask", "--json", &words]).at(&claude.base_url());
    let ran = ask.servers([("weather", server.trusted())]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The record keeps what was sent.
    let result = &ran.last_event()["calls"][0]["result"];
    assert_eq!(result, &format!("Seen.{TAGS} 👩\u{200d}👧"));
    let requests = claude.requests();
    for request in &requests {
        let tools = request["tools"].to_string();
        assert!(
            tools.contains(&format!("Looks. می\u{200c}خواهم {WALES}")),
            "{tools}"
        );
        assert!(tools.contains("An a.\""), "{tools}");
        let system = request["system"].to_string();
        assert!(
            system.contains("Look first.") && !system.contains(TAGS),
            "{system}"
        );
        let said = request["messages"][0].to_string();
        assert!(said.contains(&words), "{said}");
    }
    let outcome = requests[1]["messages"][2].to_string();
    assert!(outcome.contains("Seen. 👩\u{200d}👧"), "{outcome}");
    kept(&claude);
    server.kept_and_gone().await;
}

#[tokio::test]
async fn a_person_sees_hidden_letters_by_name_wherever_a_server_speaks() {
    let schema = json!({ "type": "object", "description": "s\u{200b}" });
    let fields = json!({ "description": "d\u{202e}\u{e0041}", "inputSchema": schema });
    let server = McpServer::new(json!({
        "tools": [changed("look", &fields)],
        "instructions": "i\u{2066}",
        "calls": { "look": [{ "text": "r\u{feff}" }] },
    }));
    let described = "d<U+202E right-to-left override><U+E0041 tag letter>";
    for (run, shown) in [
        (jackfield(["tools", "list"]), &[described][..]),
        (
            jackfield(["tools", "show", "weather__look"]),
            &[described, "s<U+200B zero-width space>"],
        ),
        (
            jackfield(["mcp", "inspect", "weather"]),
            &[described, "i<U+2066 left-to-right isolate>"],
        ),
    ] {
        let ran = run.servers([("weather", server.entry())]).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for shown in shown {
            assert!(ran.out.contains(shown), "{shown}: {}", ran.out);
        }
    }
}

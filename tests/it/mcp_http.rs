//! Servers at an address: configured, called, listed, and the error for one that is gone.

use std::net::TcpListener;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{McpEndpoint, jackfield, kept, shell, tool};

fn weather(era: &str) -> McpEndpoint {
    McpEndpoint::new(json!({
        "era": era,
        "tools": [tool("get_weather")],
        "calls": { "get_weather": [{ "text": "Cloudy" }] },
        "http": { "token": "Bearer of-good-news" },
    }))
}

fn entry(server: &McpEndpoint) -> Value {
    server.with(&json!({
        "headers": { "Authorization": "Bearer ${NEWS}" }, "prefix": "w_", "trust": true,
    }))
}

#[tokio::test]
async fn a_question_is_answered_with_a_server_of_each_era_at_an_address() {
    for era in ["modern", "legacy"] {
        let server = weather(era);
        let claude = ScriptedClaude::start([
            ScriptTurn::call("w_get_weather", &json!({})),
            ScriptTurn::text("Cloudy.").when("Cloudy"),
        ])
        .await;
        let ask = jackfield(["ask", "Weather?"]).at(&claude.base_url());
        let ask = ask.env("NEWS", "of-good-news");
        let ran = ask.servers([("weather", entry(&server))]).run().await;
        ran.answers("Cloudy.\n");
        assert_eq!(server.count("call get_weather"), 1);
        assert_eq!(server.count("violation"), 0);
        let sessions = usize::from(era == "legacy");
        assert_eq!(server.count("the session is ended"), sessions, "{era}");
        kept(&claude);
    }
}

#[tokio::test]
async fn it_is_listed_with_its_address_and_without_its_secrets() {
    let server = weather("modern");
    let list = jackfield(["mcp", "list", "--json"]).env("NEWS", "of-good-news");
    let ran = list.servers([("weather", entry(&server))]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let listed: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(listed[0]["url"], server.server.url());
    assert_eq!(listed[0]["command"], json!([]));
    assert_eq!(listed[0]["state"], "ready");
    assert_eq!(listed[0]["tools"], json!(["get_weather"]));
    let secret = server.with(&json!({ "headers": { "Authorization": "Bearer of-good-news" } }));
    for arguments in [["config", "show"], ["mcp", "test"], ["tools", "list"]] {
        let ran = jackfield(arguments).servers([("weather", secret.clone())]);
        let ran = ran.run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(!said.contains("of-good-news"), "{said}");
        assert!(said.contains("weather"), "{said}");
    }
}

#[tokio::test]
async fn one_that_is_gone_is_reported_with_the_cause_and_the_turn_goes_on() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port can be opened");
    let address = free.local_addr().expect("it has an address");
    drop(free);
    let gone = json!({ "url": format!("http://{address}/mcp") });
    let wants = weather("modern");
    let test = jackfield(["mcp", "test"]);
    let servers = [("gone", gone.clone()), ("wants", wants.with(&json!({})))];
    let ran = test.servers(servers).run().await;
    assert_eq!(ran.code, Some(8), "{}", ran.out);
    assert!(
        ran.out
            .contains(&format!("{address} refused the connection")),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("wants a sign-in"), "{}", ran.out);
    assert!(
        ran.out
            .contains("`jackfield mcp login wants`, or give it a key in its `headers`"),
        "{}",
        ran.out
    );
    let claude = ScriptedClaude::start([ScriptTurn::text("Without it.")]).await;
    let ask = jackfield(["ask", "Weather?"]).at(&claude.base_url());
    let ran = ask.servers([("gone", gone)]).run().await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "Without it.\n"),
        "{}",
        ran.err
    );
    ran.says("the server `gone` is not available");
    kept(&claude);
}

#[tokio::test]
async fn one_is_added_by_its_address_and_tried() {
    let server = weather("legacy");
    let line = format!(
        "\"$jackfield\" mcp add weather --url {} --header 'Authorization: Bearer ${{NEWS}}' \
         && \"$jackfield\" mcp test weather && cat \"$XDG_CONFIG_HOME\"/jackfield/mcp-servers.json",
        server.server.url()
    );
    let ran = shell(&line).env("NEWS", "of-good-news").run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.says("next: jackfield mcp test weather");
    assert!(
        ran.out.contains("MCP 2025-11-25, with a handshake"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("Bearer ${NEWS}"), "{}", ran.out);
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    assert_eq!(server.count("violation"), 0);
}

//! A conversation that is left, and one whose turn has not begun or waits.

use std::fs;
use std::process::Command;

use jackfield_testkit::server::Response;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openai::ScriptedOpenAi;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{McpServer, Size, jackfield, kept, shell, tool};

const USUAL: Size = Size(50, 80);

#[tokio::test]
async fn who_is_told_to_end_at_the_prompt_leaves_nothing_behind() {
    for signal in ["-HUP", "-TERM"] {
        let server = McpServer::new(json!({ "tools": [tool("think")] }));
        let claude = ScriptedClaude::start([ScriptTurn::text("one")]).await;
        let line = "sh -c 'echo $$ > \"$HOME/pid\"; exec \"$jackfield\" chat'; echo code $?; \
                    stty -a | grep -ow -e -echo -e -icanon -e icrnl; echo so";
        let chat = shell(line).at(&claude.base_url());
        let mut terminal = chat.servers([("s", server.trusted())]).at_terminal(USUAL);
        terminal.prompts().await;
        terminal.line("go").await;
        terminal.shows("\none\n").await;
        terminal.prompts().await;
        terminal.types("not sent").await;
        terminal.shows("> not sent").await;
        let pid = fs::read_to_string(terminal.home().join("pid")).expect("it has begun");
        let told = Command::new("kill").args([signal, pid.trim()]).status();
        assert!(told.expect("there is kill").success());
        terminal.shows("\nso").await;
        let screen = terminal.screen();
        assert!(screen.contains("code 130"), "{signal}: {screen}");
        assert!(screen.contains("icrnl\nso"), "{signal}: {screen}");
        assert!(
            !screen.contains("-echo\n") && !screen.contains("-icanon\n"),
            "{signal}: {screen}"
        );
        server.kept_and_gone().await;
        let history = terminal.home().join(".local/state/jackfield/history");
        let history = fs::read_to_string(history).expect("there is a history");
        assert!(history.ends_with("\ngo\n"), "{signal}: {history}");
        kept(&claude);
    }
}

/// A server whose process dies in its call, and hangs when it is started again.
#[tokio::test]
async fn ctrl_c_does_not_wait_for_a_server_that_hangs_before_a_later_turn() {
    let server = McpServer::new(json!({
        "tools": [tool("boom")], "calls": { "boom": [{ "die": 1 }] },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::text("begun"),
        ScriptTurn::call("s__boom", &json!({})),
        ScriptTurn::text("it died"),
        ScriptTurn::text("on with it").when("three"),
    ])
    .await;
    let chat = jackfield(["chat"]).at(&claude.base_url());
    let entry = server.with(&json!({ "trust": true, "start_timeout": "10s" }));
    let mut terminal = chat.servers([("s", entry)]).at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("begin").await;
    terminal.shows("\nbegun\n").await;
    terminal.prompts().await;
    let started = server.count("start");
    server.becomes(json!({ "hang": true }));
    terminal.line("one").await;
    terminal.shows("answer:").await;
    terminal.line("y").await;
    terminal.shows("\nit died\n").await;
    terminal.prompts().await;
    terminal.line("two").await;
    terminal.shows("waiting for MCP servers to start: s").await;
    assert!(server.count("start") > started);
    terminal.types("\u{3}").await;
    terminal.shows("cancelled before it began").await;
    terminal.prompts().await;
    // What was wished for then is none of the next turn, which has its place.
    server.becomes(json!({ "exit": 1 }));
    terminal.line("three").await;
    terminal.shows("\non with it\n").await;
    terminal.prompts().await;
    kept(&claude);
}

#[tokio::test]
async fn a_limit_on_the_rate_is_seen_and_waited_for() {
    let body = json!({
        "type": "error",
        "error": { "type": "rate_limit_error", "message": "This request would exceed your rate limit" },
    });
    let limited = Response::json(429, body.to_string()).header("retry-after", "1");
    let claude =
        ScriptedClaude::start([ScriptTurn::wire(limited), ScriptTurn::text("at last")]).await;
    let mut terminal = jackfield(["chat"])
        .at(&claude.base_url())
        .at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("go").await;
    terminal
        .shows("! This request would exceed your rate limit (429, rate_limit_error); retrying")
        .await;
    terminal.shows("\nat last\n").await;
    terminal.prompts().await;
    kept(&claude);
}

#[tokio::test]
async fn without_a_network_the_conversation_stays() {
    // Nobody listens on a port that a listener has just left.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let address = listener.local_addr().expect("it has an address");
    drop(listener);
    let mut terminal = jackfield(["chat"])
        .at(&format!("http://{address}"))
        .at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("go").await;
    terminal.shows("retrying in").await;
    terminal.types("\u{3}").await;
    terminal.shows("! cancelled").await;
    terminal.prompts().await;
    terminal.line("/usage").await;
    terminal.shows("1 turn").await;
    terminal.prompts().await;
    terminal.types("\u{4}").await;
    assert_eq!(terminal.ends().await, Some(0));
}

#[tokio::test]
async fn without_a_home_there_is_a_conversation_all_the_same() {
    let claude = ScriptedClaude::start([ScriptTurn::text("one")]).await;
    let line = "unset HOME; exec \"$jackfield\" chat --verbose";
    let mut chat = shell(line).at(&claude.base_url());
    // Without HOME there is still the home that the system knows of its user, and it is none of ours.
    for folder in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        chat = chat.env(folder, "/proc/nowhere");
    }
    let mut terminal = chat.at_terminal(USUAL);
    terminal.shows("sessions are not kept").await;
    terminal.prompts().await;
    terminal.line("go").await;
    terminal.shows("\none\n").await;
    terminal.prompts().await;
    terminal.types("\u{1b}[A").await;
    terminal
        .until("recalled", |screen| screen.ends_with("> go"))
        .await;
    kept(&claude);
}

#[tokio::test]
async fn another_provider_goes_on_with_what_was_said() {
    let claude = ScriptedClaude::start([ScriptTurn::text("It is 68.")]).await;
    let openai = ScriptedOpenAi::start([ScriptTurn::text("It is 34.")]).await;
    let more = format!(
        "providers.openai.base_url = \"{}\"\naliases.other = \"openai/gpt-6-sol\"",
        openai.base_url()
    );
    let chat = jackfield(["chat"]).at_with(&claude.base_url(), &more);
    let mut terminal = chat
        .env("OPENAI_API_KEY", "sk-proj-0123456789")
        .at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("What is 17 * 4?").await;
    terminal.shows("\nIt is 68.\n").await;
    terminal.prompts().await;
    terminal.line("/model").await;
    terminal.shows("no key: cerebras, ").await;
    terminal.prompts().await;
    let screen = terminal.screen();
    let first = |text: &str| screen.find(text).unwrap_or(usize::MAX);
    assert!(first("openai/MODEL") < first("no key"), "{screen}");
    terminal.line("/model other").await;
    terminal.shows("from now on: openai/gpt-6-sol").await;
    terminal.prompts().await;
    terminal.line("And half of that?").await;
    terminal.shows("\nIt is 34.\n").await;
    terminal.prompts().await;
    terminal.line("/usage").await;
    terminal.shows("2 turns").await;
    let told: Value = openai.requests()[0].clone();
    let told = told.to_string();
    assert!(
        told.contains("17 * 4") && told.contains("It is 68."),
        "{told}"
    );
    kept(&claude);
    kept(&openai);
}

//! `jackfield config init` and `config schema`.

use std::fs;

use jackfield_testkit::server::{Response, TestServer};
use serde_json::{Value, json};

use crate::process::{Jackfield, Ran, jackfield};

/// Nobody on this machine is asked.
fn init<const N: usize>(more: [&str; N]) -> Jackfield {
    let mut run = jackfield(["config", "init", "--no-probe"]);
    for argument in more {
        run = run.arg(argument);
    }
    run
}

/// The file that was printed, with every suggestion in it as if it were taken.
fn uncommented(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let Some(said) = line.strip_prefix("# ") else {
            return line.to_owned();
        };
        let key = said.split(" = ").next().unwrap_or_default();
        let is_key = key
            .chars()
            .all(|c| c.is_ascii_lowercase() || "_\"/*".contains(c));
        let is_said = said.contains(" = ") && is_key || said.starts_with('[');
        if is_said {
            said.to_owned()
        } else {
            line.to_owned()
        }
    });
    lines.map(|line| line + "\n").collect()
}

#[track_caller]
fn holds(text: &str) -> Ran {
    let ran = jackfield(["config", "show"])
        .configured(text)
        .beside_config("mcp-servers.json", "{}")
        .run();
    assert_eq!(ran.code, Some(0), "{text}\n{}", ran.err);
    ran
}

#[test]
fn with_nothing_found_the_file_works_and_so_does_every_suggestion_in_it() {
    let ran = init(["--print"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("found: no key"), "{}", ran.err);
    holds(&ran.out);
    let all = uncommented(&ran.out);
    assert!(all.contains("\n[providers.work]\n"), "{all}");
    assert!(
        all.lines().filter(|line| !line.starts_with('#')).count() > 15,
        "{all}"
    );
    let shown = holds(&all).out;
    assert!(
        shown.contains("aliases.fast = \"claude/claude-haiku-5-5\""),
        "{shown}"
    );
    assert!(shown.contains("limits.rounds = 10  # ~"), "{shown}");
}

#[test]
fn a_key_is_found_and_never_told() {
    let ran = init(["--print"])
        .env("OPENAI_API_KEY", "sk-secret-0123456789abcdef")
        .run();
    assert!(
        ran.out.contains("\nmodel = \"openai/gpt-6-sol\"\n"),
        "{}",
        ran.out
    );
    assert!(
        ran.err
            .contains("found: a key for openai in OPENAI_API_KEY"),
        "{}",
        ran.err
    );
    assert!(!ran.out.contains("sk-secret") && !ran.err.contains("sk-secret"));
    holds(&ran.out);
}

#[tokio::test]
async fn a_server_of_models_on_this_machine_is_found_and_no_other_is_asked() {
    let server = TestServer::start().await;
    let list = json!({ "models": [{ "name": "nomic-embed-text" }, { "name": "qwen3:8b\"" }] });
    server.answer(Response::json(200, list.to_string()));
    let host = server.base_url().replace("http://", "");
    let run = jackfield(["config", "init", "--dry-run"]).env("OLLAMA_HOST", &host);
    let ran = run.run_beside().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err
            .contains("found: ollama on this machine with 2 models"),
        "{}",
        ran.err
    );
    assert!(
        ran.out.contains("model = \"ollama/qwen3:8b\\\"\""),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains(&format!("base_url = \"http://{host}\"")),
        "{}",
        ran.out
    );
    holds(&ran.out);
    assert_eq!(server.requests().len(), 1);
    // Another machine is none of our business.
    let other = TestServer::start().await;
    let port = other.base_url().rsplit(':').next().unwrap().to_owned();
    let run = jackfield(["config", "init", "--print"]);
    let ran = run
        .env("OLLAMA_HOST", &format!("192.0.2.1:{port}"))
        .run_beside()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.out.contains("192.0.2.1"), "{}", ran.out);
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn files_of_servers_are_named_and_not_copied() {
    let good = r#"{"mcpServers":{"git\nhub":{"command":"gh"},"hub":{"command":"gh","env":{"T":"s3cret"}}}}"#;
    let code = r#"{"servers":{"files":{"command":"x","args":["s3cret"]}}}"#;
    let ran = init(["--print"])
        .in_home(
            ".cursor/mcp.json",
            r#"{"mcpServers":{"hub":{"command":"gh","env":{"T":"s3cret"}}}}"#,
        )
        .in_home(".config/Code/User/mcp.json", code)
        .in_home(".claude.json", good)
        .in_home(".codeium/windsurf/mcp_config.json", "{ no JSON")
        .in_home(
            "project/.cursor/mcp.json",
            r#"{"mcpServers":{"typo":{"comand":"x"}}}"#,
        )
        .in_home("project/.mcp.json", "{}")
        .run();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for line in [
        "# ~/.cursor/mcp.json (Cursor): hub",
        "# config = \"~/.cursor/mcp.json\"",
        "# ~/.config/Code/User/mcp.json (VS Code): files",
        "# config = \"~/.config/Code/User/mcp.json\"",
        "# ~/.claude.json (Claude Code): git hub, hub",
    ] {
        assert!(
            ran.out.lines().any(|told| told == line),
            "{line}\n{}",
            ran.out
        );
    }
    assert!(
        ran.out
            .contains("# - has to be copied and changed: mcpServers.typo.command: missing"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("s3cret") && !ran.err.contains("s3cret"));
    assert!(
        !ran.out.contains("windsurf") && !ran.out.contains(".mcp.json ("),
        "{}",
        ran.out
    );
    holds(&ran.out);
}

#[test]
fn servers_of_other_programs_are_taken_over_if_asked_for_but_none_of_a_project() {
    let run = |more: &str| {
        let mut run = init([])
            .in_home(
                ".cursor/mcp.json",
                r#"{"mcpServers":{"hub":{"command":"gh","timeout":60},"old":{"type":"sse","url":"https://mcp.example"}}}"#,
            )
            .in_home(
                ".claude.json",
                r#"{"mcpServers":{"hub":{"command":"other"},"box":{"command":"box"}}}"#,
            )
            .in_home(
                "project/.mcp.json",
                r#"{"mcpServers":{"strange":{"command":"x"}}}"#,
            );
        if !more.is_empty() {
            run = run.arg(more);
        }
        run.run()
    };
    let ran = run("--import");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let imported = "imported: hub, box, in ~/.config/jackfield/mcp-servers.json\n";
    let other = "imported: box, hub, in ~/.config/jackfield/mcp-servers.json\n";
    assert!(
        ran.err.contains(imported) || ran.err.contains(other),
        "{}",
        ran.err
    );
    let dropped = "key `mcpServers.hub.timeout`: left out: it is not known of what unit this is; write it as \"60s\"";
    assert!(ran.err.contains(dropped), "{}", ran.err);
    assert!(ran.err.contains("the transport `sse`"), "{}", ran.err);
    // Nobody is there to be asked.
    let ran = run("");
    assert!(
        ran.code == Some(0) && !ran.err.contains("imported"),
        "{}",
        ran.err
    );
}

#[test]
fn a_file_is_written_once_and_replaced_only_by_force() {
    let home = tempfile::tempdir().unwrap();
    let run = |more: &str| {
        let mut run = init([]).env("XDG_CONFIG_HOME", home.path().to_str().unwrap());
        if !more.is_empty() {
            run = run.arg(more);
        }
        run.run()
    };
    let file = home.path().join("jackfield/jackfield.toml");
    let ran = run("");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    assert!(ran.err.contains("written: ") && ran.err.contains("next: jackfield doctor"));
    let text = fs::read_to_string(&file).unwrap();
    holds(&text);
    fs::write(&file, "# mine").unwrap();
    let ran = run("");
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("is there already\nhelp: "), "{}", ran.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine");
    assert_eq!(run("--force").code, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    // Nothing half written is left beside it.
    let left: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[cfg(unix)]
#[test]
fn where_nothing_can_be_written_it_is_said() {
    let ran = init(["--out", "/dev/null/x.toml"]).run();
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.err.contains("`/dev/null/x.toml` cannot be written"),
        "{}",
        ran.err
    );
}

#[test]
fn schemas_are_printed() {
    for (more, key) in [("", "limits"), ("--servers", "mcpServers")] {
        let mut run = jackfield(["config", "schema"]);
        if !more.is_empty() {
            run = run.arg(more);
        }
        let ran = run.run();
        let schema: Value = serde_json::from_str(&ran.out).unwrap();
        assert!(schema["properties"][key].is_object(), "{schema}");
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
    }
}

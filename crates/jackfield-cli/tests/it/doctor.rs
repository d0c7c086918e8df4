//! `jackfield doctor`, on machines where this and that is wrong.

use std::collections::BTreeSet;

use jackfield_cli::commands::doctor::TroubleshootingSection;
use jackfield_testkit::server::{Response, TestServer};
use serde_json::{Value, json};

use crate::process::{Jackfield, Ran, jackfield};

fn list(ids: &[&str]) -> Response {
    let models: Vec<Value> = ids.iter().map(|id| json!({ "id": id })).collect();
    Response::json(
        200,
        json!({ "data": models, "has_more": false }).to_string(),
    )
}

/// The checks of a run with `--json`, by area and verdict.
#[track_caller]
fn checks(ran: &Ran) -> Vec<Value> {
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| {
        panic!("{error}: {}\n{}", ran.out, ran.err);
    });
    report["checks"].as_array().unwrap().clone()
}

#[track_caller]
fn finds<'a>(checks: &'a [Value], area: &str, verdict: &str, words: &str) -> &'a Value {
    let found = checks.iter().find(|check| {
        check["area"] == area
            && check["verdict"] == verdict
            && check["says"].as_str().unwrap().contains(words)
    });
    found.unwrap_or_else(|| panic!("no {area} {verdict} {words:?}: {checks:#?}"))
}

fn doctor() -> Jackfield {
    jackfield(["doctor", "--json"])
}

#[test]
fn every_link_leads_to_a_section() {
    let page = include_str!("../../../../docs/troubleshooting.md");
    let headings = page.lines().filter_map(|line| line.strip_prefix("## "));
    let anchors: BTreeSet<String> = headings
        .map(|heading| {
            let heading = heading.to_lowercase().replace(' ', "-");
            heading.replace(|c: char| !(c.is_alphanumeric() || c == '-'), "")
        })
        .collect();
    for (link, _) in TroubleshootingSection::NAMES {
        let (file, anchor) = link.split_once('#').unwrap();
        assert_eq!(file, "docs/troubleshooting.md");
        assert!(anchors.contains(anchor), "{anchor}: {anchors:?}");
    }
}

#[tokio::test]
async fn where_all_is_well_nothing_fails() {
    let server = TestServer::start().await;
    server.answer(list(&["claude-opus-5-5-20260801", "other"]));
    let ran = doctor().at(&server.base_url()).run_beside().await;
    let checks = checks(&ran);
    assert_eq!(ran.code, Some(0), "{checks:#?}");
    finds(&checks, "version", "ok", env!("CARGO_PKG_VERSION"));
    finds(&checks, "configuration", "ok", "jackfield.toml is read");
    finds(
        &checks,
        "keys",
        "ok",
        "the key of `claude` is in ANTHROPIC_API_KEY",
    );
    finds(
        &checks,
        "providers",
        "ok",
        "answers and takes the key: 2 models",
    );
    finds(&checks, "models", "ok", "`claude-opus-5-5`, which is there");
    finds(&checks, "tools", "ok", "the model is offered 2 tools");
    assert!(!ran.out.contains("sk-test-key") && !ran.err.contains("sk-test-key"));
    assert_eq!(server.requests().len(), 1);
    assert_eq!(server.requests()[0].method, "GET");
}

#[tokio::test]
async fn a_key_that_is_not_accepted_is_told() {
    let server = TestServer::start().await;
    let body = json!({ "type": "error", "error": { "type": "authentication_error", "message": "invalid x-api-key sk-test-key" } });
    server.answer(Response::json(401, body.to_string()));
    let ran = doctor().at(&server.base_url()).run_beside().await;
    assert_eq!(ran.code, Some(3), "as for a key that is missing");
    let checks = checks(&ran);
    let found = finds(&checks, "providers", "failed", "invalid x-api-key");
    assert_eq!(
        found["see"],
        "docs/troubleshooting.md#a-key-is-missing-or-not-accepted"
    );
    assert!(!ran.out.contains("sk-test-key"));
}

#[tokio::test]
async fn others_only_warn_and_a_model_that_is_not_listed_names_near_ones() {
    let server = TestServer::start().await;
    server.answer(list(&["claude-sonnet-5", "zebra"]));
    let more = "[aliases]\ngone = 'dead/x'\n[providers.dead]\nkind = 'vllm'\nbase_url = 'http://127.0.0.1:9'\n[providers.locked]\nkind = 'openai'\napi_key_env = 'NO_SUCH_KEY'\n[limits]\nparallel_calls = 1\nshown = 10\nrounds = 1000\nrepeats = 21\n";
    let ran = doctor()
        .configured_at(&server.base_url(), more)
        .run_beside()
        .await;
    let checks = checks(&ran);
    assert_eq!(ran.code, Some(0), "{checks:#?}");
    let model = finds(&checks, "models", "warning", "`claude-opus-5-5`");
    assert!(
        model["help"]
            .as_str()
            .unwrap()
            .contains("claude-sonnet-5, zebra")
    );
    finds(
        &checks,
        "providers",
        "warning",
        "`dead` at http://127.0.0.1:9",
    );
    finds(&checks, "keys", "ok", "`dead` needs no key");
    finds(
        &checks,
        "keys",
        "warning",
        "`locked`: NO_SUCH_KEY is not set",
    );
    finds(&checks, "providers", "skipped", "`locked`");
    for words in ["1000 rounds", "21 times", "10 bytes", "one after another"] {
        finds(&checks, "tools", "warning", words);
    }
    let asks = |check: &&Value| check["says"].as_str().unwrap().contains("`mistral`");
    assert_eq!(checks.iter().filter(asks).count(), 0, "nobody wants it");
}

#[tokio::test]
async fn every_area_has_one_heading_however_many_providers_there_are() {
    let (server, near) = (TestServer::start().await, TestServer::start().await);
    server.answer(list(&["claude-opus-5-5"]));
    near.answer(list(&["one"]));
    let more = format!(
        "[aliases]\none = 'near/one'\n[providers.near]\nkind = 'vllm'\nbase_url = '{}'\n\
         [providers.dead]\nkind = 'vllm'\nbase_url = 'http://127.0.0.1:9'\n",
        near.base_url()
    );
    let doctor = jackfield(["doctor"]).configured_at(&server.base_url(), &more);
    let ran = doctor.run_beside().await;
    let headings: Vec<&str> = ran
        .out
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with([' ', 'n']))
        .collect();
    assert_eq!(
        headings,
        [
            "version",
            "folders",
            "configuration",
            "keys",
            "providers",
            "models",
            "tools",
            "sessions",
            "terminal",
        ],
        "{}",
        ran.out
    );
}

#[test]
fn a_provider_that_only_an_alias_names_is_looked_at() {
    let ran = doctor().configured("aliases.far = 'mistral/x'\n").run();
    let checks = checks(&ran);
    finds(&checks, "keys", "warning", "MISTRAL_API_KEY is not set");
}

#[test]
fn without_a_key_the_network_is_left_alone() {
    let ran = doctor().run();
    assert_eq!(ran.code, Some(3));
    let checks = checks(&ran);
    let key = finds(&checks, "keys", "failed", "ANTHROPIC_API_KEY is not set");
    assert!(
        key["help"]
            .as_str()
            .unwrap()
            .starts_with("export ANTHROPIC_API_KEY=...")
    );
    finds(&checks, "providers", "skipped", "it has no key");
    finds(&checks, "configuration", "ok", "defaults hold");
}

#[tokio::test]
async fn offline_nobody_is_asked() {
    let server = TestServer::start().await;
    let ran = jackfield(["doctor", "--offline"]).at(&server.base_url());
    let ran = ran.run_beside().await;
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert_eq!(server.requests().len(), 0);
    assert!(!ran.out.contains("providers"), "{}", ran.out);
    assert!(ran.out.ends_with("\nnothing failed\n"), "{}", ran.out);
}

#[test]
fn a_wrong_configuration_is_told_with_its_lines_and_stops_the_rest() {
    let ran = jackfield(["doctor"])
        .configured("[limits]\nroundz = 3\n[nonsense]\n")
        .run();
    assert_eq!(ran.code, Some(3));
    for line in [
        "configuration",
        "  ✗ failed: ~/.config/jackfield/jackfield.toml:2: key `limits.roundz`: unknown; did you mean `rounds`?",
        "    see docs/troubleshooting.md#the-configuration-is-wrong",
        "  - skipped: keys, providers, servers and tools: the configuration has to be right first",
        "2 failed",
    ] {
        assert!(
            ran.out.lines().any(|told| told == line),
            "{line}\n{}",
            ran.out
        );
    }
    let ran = doctor()
        .configured("[providers.x]\nkind = 'nonsense'")
        .run();
    assert_eq!(ran.code, Some(3));
    finds(
        &checks(&ran),
        "configuration",
        "failed",
        "there is no kind of provider",
    );
    let ran = jackfield(["doctor", "--json", "--config", "gone.toml"]).run();
    assert_eq!(ran.code, Some(3));
    finds(
        &checks(&ran),
        "configuration",
        "failed",
        "gone.toml` cannot be read",
    );
}

#[cfg(unix)]
#[test]
fn servers_are_tried_and_folders_looked_at() {
    let servers = r#"{"mcpServers":{
        "gone": {"command": "no-such-program-anywhere"},
        "off": {"command": "x", "disabled": true},
        "bare": {"command": "x", "env": {"T": "${NOT_SET_ANYWHERE}"}}
    }}"#;
    let ran = jackfield(["doctor", "--json", "--offline"])
        .env("ANTHROPIC_API_KEY", "sk-test-key")
        .env("XDG_CACHE_HOME", "/dev/null/cache")
        .env("XDG_DATA_HOME", "/dev/null/data")
        .configured("mcp.config = 'servers.json'")
        .beside_config("servers.json", servers)
        .run();
    assert_eq!(ran.code, Some(8), "{}", ran.out);
    let checks = checks(&ran);
    finds(&checks, "servers", "failed", "`gone`: there is no program");
    finds(&checks, "servers", "failed", "NOT_SET_ANYWHERE");
    finds(&checks, "servers", "skipped", "`off` is switched off");
    finds(
        &checks,
        "tools",
        "skipped",
        "the servers have to work first",
    );
    for folder in ["cache", "data"] {
        let says = format!("/dev/null/{folder}/jackfield cannot be written");
        finds(&checks, "folders", "warning", &says);
    }
}

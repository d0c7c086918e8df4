//! Cline in front of the gateway, in each of the languages that it speaks.
//!
//! Its program is a package for one platform, which `tests/agents` pins.

use std::fs;
use std::path::Path;

use jackfield_testservers::script::ScriptPart;
use serde_json::json;
use tokio::process::Command;

use crate::agents::{CLAUDE_MODEL, COMMAND, check, check_passed_through, marks, program_in};
use crate::gateway::TOKEN;
use crate::upstream::Wire;

/// A provider of Cline, in whose language it asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ClineProvider {
    Anthropic,
    Compatible,
    OpenAi,
}

impl ClineProvider {
    const fn id(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Compatible => "openai-compatible",
            Self::OpenAi => "openai-native",
        }
    }
}

/// Cline with this provider in front of the server at this address.
fn cline(provider: ClineProvider, model: &str, address: &str, home: &Path) -> Command {
    let folder = home.join("cline");
    fs::create_dir_all(folder.join("settings")).expect("a folder");
    let id = provider.id();
    let settings = json!({
        "provider": id,
        "apiKey": TOKEN,
        "model": model,
        "baseUrl": format!("http://{address}/v1"),
    });
    let providers = json!({
        "version": 1,
        "lastUsedProvider": id,
        "modes": {},
        "providers": { id: { "settings": settings, "tokenSource": "manual", "updatedAt": "2026-11-25T00:00:00.000Z" } },
    });
    fs::write(
        folder.join("settings/providers.json"),
        providers.to_string(),
    )
    .expect("a file");
    let mut command = Command::new(program_in("@cline", "bin/cline"));
    command
        .env_clear()
        .args(["--provider", id, "--model", model, "--data-dir"])
        .arg(&folder)
        .arg("Run the command.")
        .env("OTEL_TELEMETRY_ENABLED", "false")
        // Nothing of it leaves this machine.
        .env("HTTPS_PROXY", "http://127.0.0.1:9");
    command
}

/// Cline runs its tool with this provider, in front of each of the three languages.
async fn check_cline(provider: ClineProvider) {
    let ask = |wire| {
        let call = ScriptPart::Call {
            arguments: json!({ "commands": [COMMAND] }).to_string(),
            id: None,
            name: "run_commands".to_owned(),
        };
        check(wire, CLAUDE_MODEL, call, move |address, home| {
            cline(provider, CLAUDE_MODEL, address, home)
        })
    };
    let (claude, _, _) = tokio::join!(ask(Wire::Claude), ask(Wire::Chat), ask(Wire::Responses));
    if provider == ClineProvider::Anthropic {
        let [first, second] = [0, 1].map(|n| marks(&claude.requests()[n]));
        let mark = r#"cache_control {"type":"ephemeral"}"#;
        let [question, outcome] = [0, 2].map(|n| format!("/messages/{n}/content/0/{mark}"));
        assert!(first.contains(&question), "{first:?}");
        assert!(second.contains(&outcome), "{second:?}");
    }
}

/// Its requests arrive at Anthropic and at OpenAI as it sends them. Those in Chat Completions are for compatible
/// servers: OpenAI itself refuses their effort beside tools.
#[tokio::test]
async fn cline_is_passed_through_unchanged() {
    let ask = |wire, provider| {
        let call = ScriptPart::Call {
            arguments: json!({ "commands": [COMMAND] }).to_string(),
            id: None,
            name: "run_commands".to_owned(),
        };
        check_passed_through(wire, CLAUDE_MODEL, call, move |address, home| {
            cline(provider, CLAUDE_MODEL, address, home)
        })
    };
    tokio::join!(
        ask(Wire::Claude, ClineProvider::Anthropic),
        ask(Wire::Responses, ClineProvider::OpenAi)
    );
}

/// It offers a search that the vendor would run, and marks its last message.
#[tokio::test]
async fn cline_runs_its_tool_over_messages() {
    check_cline(ClineProvider::Anthropic).await;
}

#[tokio::test]
async fn cline_runs_its_tool_over_chat_completions() {
    check_cline(ClineProvider::Compatible).await;
}

/// It offers a search that the vendor would run.
#[tokio::test]
async fn cline_runs_its_tool_over_responses() {
    check_cline(ClineProvider::OpenAi).await;
}

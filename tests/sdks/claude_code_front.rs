//! The real Claude Code in front of the gateway, with turns to other vendors' languages: what a session of it needs
//! beyond one tool.

use std::fs;
use std::path::Path;

use jackfield_testservers::script::{Script, ScriptPart, ScriptTurn};
use serde_json::json;
use tokio::process::Command;

use crate::agents::{ANSWER, CLAUDE_MODEL, claude_code_with, run};
use crate::gateway::Gateway;
use crate::upstream::{Upstream, Wire};

const WIRES: [Wire; 4] = [Wire::Chat, Wire::Claude, Wire::Gemini, Wire::Responses];

/// The name that Claude Code has for its small model.
const SMALL: &str = "claude-small-1";

fn call(name: &str, arguments: &serde_json::Value) -> ScriptTurn {
    ScriptTurn::reply([ScriptPart::Call {
        arguments: arguments.to_string(),
        id: None,
        name: name.to_owned(),
    }])
}

/// Claude Code in front of a vendor, and what it wrote.
async fn check(wire: Wire, script: Script, agent: impl FnOnce(&str, &Path) -> Command) -> Upstream {
    let upstream = Upstream::scripted(wire, script).await;
    let small = small_model(wire);
    let aliases = format!(
        "aliases.\"{CLAUDE_MODEL}\" = \"{}\"\naliases.\"{SMALL}\" = \"{small}\"\n",
        wire.model()
    );
    let gateway = Gateway::start_with(wire, &upstream, &aliases).await;
    let what = format!("Claude Code in front of {wire:?}");
    let what = run(&what, &gateway.address, agent).await;
    gateway.end().await;
    assert!(what.contains(ANSWER), "{what}");
    assert_eq!(upstream.violations(), [""; 0], "{what}");
    upstream
}

/// Another model of the vendor.
const fn small_model(wire: Wire) -> &'static str {
    match wire {
        Wire::Chat | Wire::Responses => "openai/gpt-6-luna",
        Wire::Claude => "claude/claude-haiku-5-5",
        Wire::Gemini => "gemini/gemini-3.8-flash-lite",
    }
}

/// Claude Code with these words, and a small model of its own.
fn with_small_model(words: &str, address: &str, home: &Path) -> Command {
    let mut command = claude_code_with(words, address, home);
    command
        .args(["--allowedTools", "Task,Agent,Read"])
        .env("ANTHROPIC_DEFAULT_HAIKU_MODEL", SMALL)
        .env("ANTHROPIC_SMALL_FAST_MODEL", SMALL);
    command
}

#[tokio::test]
async fn claude_code_uses_a_subagent_with_its_small_model() {
    for wire in WIRES {
        let script = Script::by(|asked| {
            let body = asked.body.to_string();
            Some(if body.contains("the subagent says 4242") {
                ScriptTurn::text(ANSWER)
            } else if !body.contains("Use a subagent.") {
                // A conversation of its own.
                ScriptTurn::text("the subagent says 4242")
            } else {
                let arguments = json!({
                    "description": "Says a number", "prompt": "Say the number.",
                    "subagent_type": "general-purpose", "model": "haiku",
                    "run_in_background": false,
                });
                call("Agent", &arguments)
            })
        });
        let upstream = check(wire, script, |address, home| {
            with_small_model("Use a subagent.", address, home)
        })
        .await;
        let requests = upstream.server().requests();
        let small = small_model(wire).split_once('/').expect("a provider").1;
        let to_small = requests.iter().filter(|request| {
            request.path.contains(small) || request.text().contains(&format!("\"{small}\""))
        });
        assert_eq!(to_small.count(), 1, "{wire:?}");
        assert_eq!(requests.len(), 3, "{wire:?}");
    }
}

#[tokio::test]
async fn images_that_claude_code_reads_reach_the_model() {
    for wire in WIRES {
        let script = Script::by(|asked| {
            Some(if asked.body.to_string().contains(IMAGE) {
                ScriptTurn::text(ANSWER)
            } else {
                call("Read", &json!({ "file_path": "picture.png" }))
            })
        });
        let upstream = check(wire, script, |address, home| {
            let picture = home.join("project/picture.png");
            fs::write(picture, BYTES).expect("a file");
            with_small_model("Look at the picture.", address, home)
        })
        .await;
        assert_eq!(upstream.requests().len(), 2, "{wire:?}");
    }
}

/// A picture of one pixel, as base64.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The same as bytes.
const BYTES: [u8; 70] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4,
    0x89, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x64, 0xf8, 0xcf, 0x50,
    0x0f, 0x00, 0x03, 0x86, 0x01, 0x80, 0x5a, 0x34, 0x7d, 0x6b, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45,
    0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

#[tokio::test]
async fn claude_code_counts_tokens_before_every_vendor() {
    for wire in WIRES {
        let script = Script::by(|_| Some(ScriptTurn::text(ANSWER)));
        let upstream = Upstream::scripted(wire, script).await;
        let alias = format!("aliases.\"{CLAUDE_MODEL}\" = \"{}\"\n", wire.model());
        let gateway = Gateway::start_with(wire, &upstream, &alias).await;
        let what = format!("Claude Code counts in front of {wire:?}");
        let out = run(&what, &gateway.address, |address, home| {
            claude_code_with("/context", address, home)
        })
        .await;
        let log = gateway.end().await;
        assert!(
            log.contains("/v1/messages/count_tokens"),
            "{what}\n{out}\n{log}"
        );
        for line in log.lines().filter(|line| line.contains("count_tokens")) {
            assert!(line.contains("status=200"), "{what}\n{line}");
        }
    }
}

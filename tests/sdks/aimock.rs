//! A second opinion on the vendors' wires: `aimock`, a server of others that stands in for them.
//!
//! Our scripted servers and our mappers could share a mistake; this one was written by others from the same documents.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::harness::{KEY, jackfield};
use crate::script::{folder, interpreter};

/// A server on a free port; it ends when this is dropped.
struct Aimock {
    base_url: String,
    _fixtures: TempDir,
    _server: Child,
}

impl Aimock {
    async fn start() -> Self {
        let fixtures = tempfile::tempdir().expect("a folder");
        let file = fixtures.path().join("fixtures.json");
        let called = json!({ "name": "calculator", "arguments": "{\"expression\":\"19+23\"}" });
        let said = json!({ "fixtures": [
            {
                "match": { "userMessage": "19+23", "hasToolResult": false },
                "response": { "toolCalls": [called] },
            },
            {
                "match": { "userMessage": "19+23", "hasToolResult": true },
                "response": { "content": "It is 42, von weit her: 你好." },
            },
        ] });
        std::fs::write(&file, said.to_string()).expect("a file");
        let cli = folder("JACKFIELD_SDKS_NODE").join("node_modules/@copilotkit/aimock/dist/cli.js");
        let mut server = Command::new(interpreter("aimock.mjs"))
            .arg(cli)
            .args(["--port", "0", "--strict", "--fixtures"])
            .arg(&file)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("aimock starts");
        let output = server.stdout.take().expect("its output");
        let mut lines = BufReader::new(output).lines();
        let base_url = async {
            while let Some(line) = lines.next_line().await.expect("its output") {
                if let Some((_, address)) = line.split_once("listening on ") {
                    return address.trim().to_owned();
                }
            }
            panic!("aimock does not say where it listens");
        };
        let base_url = tokio::time::timeout(TIME_LIMIT, base_url).await;
        Self {
            base_url: base_url.expect("aimock starts in time"),
            _fixtures: fixtures,
            _server: server,
        }
    }
}

/// A call, its outcome and an answer, over the wire of each vendor.
#[tokio::test]
async fn a_call_and_an_answer_over_the_wire_of_each_vendor() {
    let aimock = Aimock::start().await;
    for (provider, model) in [
        ("azure", "gpt-6.2-sol"),
        ("bedrock", "us.anthropic.claude-opus-5-5"),
        ("bedrock", "us.amazon.nova-pro-v1:0"),
        ("claude", "claude-opus-5-5"),
        ("gemini", "gemini-3.8-flash"),
        ("mistral", "mistral-large-latest"),
        ("ollama", "qwen3:8b"),
        ("openai", "gpt-6.2-sol"),
    ] {
        let configuration = format!("providers.{provider}.base_url = \"{}\"\n", aimock.base_url);
        let model = format!("{provider}/{model}");
        let mut ask = jackfield(["ask", "--json", "-m", &model, "19+23?"]);
        for variable in [
            "ANTHROPIC_API_KEY",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AZURE_OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "MISTRAL_API_KEY",
            "OPENAI_API_KEY",
        ] {
            ask = ask.env(variable, KEY);
        }
        let ran = ask.configured(configuration).run().await;
        assert_eq!(ran.code, Some(0), "{model}: {}", ran.err);
        let last = ran.last_event();
        assert_eq!(last["answer"], "It is 42, von weit her: 你好.", "{model}");
        assert_eq!(last["calls"][0]["result"], "42", "{model}: {last}");
    }
}

/// How long it may take to start.
const TIME_LIMIT: Duration = Duration::from_secs(60);

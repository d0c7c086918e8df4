//! Real coding agents in front of the gateway: Codex and Claude Code, each with a round of its own tool.
//!
//! `cargo xtask slices` installs them from npm as `tests/agents` pins them, and says where in
//! `JACKFIELD_SDKS_AGENTS`. Both run without a login and reach the loopback address only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jackfield_testservers::script::{Script, ScriptPart, ScriptTurn};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::gateway::{Gateway, TOKEN};
use crate::recorder::Recorder;
use crate::upstream::{Upstream, Wire};

const WIRES: [Wire; 4] = [Wire::Claude, Wire::Chat, Wire::Responses, Wire::Gemini];

/// A model that calls a tool once, and answers when it has the outcome.
fn script(call: ScriptPart) -> Script {
    Script::by(move |asked| {
        // The outcome, not the command that the call repeats.
        let has_outcome = asked.last_text.contains(OUTCOME);
        Some(if has_outcome {
            ScriptTurn::text(ANSWER)
        } else {
            ScriptTurn::reply([call.clone()])
        })
    })
}

/// A command whose output is not in its own text.
pub(crate) const COMMAND: &str = "echo tool-$((40 + 2))-ran";
const OUTCOME: &str = "tool-42-ran";
pub(crate) const ANSWER: &str = "The tool has run.";

/// Runs an agent in front of a vendor's language, and checks that its tool ran and that nothing was refused.
///
/// `name` is the model that the agent asks for, `call` is what the model calls, and `agent` makes the command
/// for a server at this address, with a home of its own.
pub(crate) async fn check(
    wire: Wire,
    name: &str,
    call: ScriptPart,
    agent: impl FnOnce(&str, &Path) -> Command,
) -> Upstream {
    let upstream = Upstream::scripted(wire, script(call)).await;
    let alias = format!("aliases.\"{name}\" = \"{}\"\n", wire.model());
    let gateway = Gateway::start_with(wire, &upstream, &alias).await;
    let what = format!("{name} in front of {wire:?}");
    check_run(&what, &gateway.address, &upstream, agent).await;
    gateway.end().await;
    upstream
}

/// Runs an agent in front of its own language, whose requests are passed through, and checks that they arrive as the
/// agent sent them, byte for byte but for what [`docs/http.md`](../../docs/http.md) lists.
pub(crate) async fn check_passed_through(
    wire: Wire,
    name: &str,
    call: ScriptPart,
    agent: impl FnOnce(&str, &Path) -> Command,
) {
    let upstream = Upstream::scripted(wire, script(call)).await;
    let alias = format!("aliases.\"{name}\" = \"{}\"\n", wire.model());
    let gateway = Gateway::start_passing_with(wire, &upstream, &alias).await;
    let recorder = Recorder::start(&gateway.address).await;
    let what = format!("{name} passed through to {wire:?}");
    check_run(&what, &recorder.address, &upstream, agent).await;
    gateway.end().await;
    let path = wire.path();
    let sent = recorder.requests().into_iter();
    let sent: Vec<_> = sent.filter(|sent| sent.path.starts_with(path)).collect();
    let arrived = upstream.server().requests().into_iter();
    let arrived: Vec<_> = arrived
        .filter(|arrived| arrived.path.starts_with(path))
        .collect();
    assert_eq!(sent.len(), arrived.len(), "{what}");
    let (_, model) = wire.model().split_once('/').expect("a provider");
    for (sent, arrived) in sent.iter().zip(&arrived) {
        assert_eq!(sent.path, arrived.path, "{what}");
        let asked = String::from_utf8_lossy(&sent.body);
        let mut asked = asked.replacen(
            &format!("\"model\":\"{name}\""),
            &format!("\"model\":\"{model}\""),
            1,
        );
        let options = "\"stream_options\":{\"include_usage\":true}";
        if wire == Wire::Chat && asked.contains("\"stream\":true") && !asked.contains(options) {
            let model = format!("\"model\":\"{model}\"");
            asked = asked.replacen(&model, &format!("{model},{options}"), 1);
        }
        assert_eq!(arrived.text(), asked, "{what}");
        for (header, value) in &sent.headers {
            let changes = CHANGED_HEADERS.contains(&&**header) || header.starts_with("x-jackfield");
            if !changes {
                let all = arrived.headers.iter();
                let mut values = all.filter(|(known, _)| known == header);
                let arrived = values.any(|(_, arrived)| arrived == value);
                assert!(arrived, "{what}: {header}: {value}");
            }
        }
        assert_eq!(
            sent.header("authorization")
                .or_else(|| sent.header("x-api-key"))
                .map(|key| key.contains(TOKEN)),
            Some(true)
        );
        let keys = arrived
            .headers
            .iter()
            .filter(|(_, value)| value.contains(TOKEN));
        assert_eq!(keys.count(), 0, "{what}");
    }
}

/// The headers that change on the way.
const CHANGED_HEADERS: [&str; 10] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "te",
    "x-api-key",
];

/// Runs an agent in front of the server at this address, behind which `upstream` answers.
async fn check_run(
    what: &str,
    address: &str,
    upstream: &Upstream,
    agent: impl FnOnce(&str, &Path) -> Command,
) {
    let what = run(what, address, agent).await;
    assert!(what.contains(ANSWER), "{what}");
    assert_eq!(upstream.violations(), [""; 0], "{what}");
    let requests = upstream.requests();
    // As many as without a gateway: one before the tool, one behind it.
    assert_eq!(requests.len(), 2, "{what}");
    assert!(requests[1].to_string().contains(OUTCOME), "{what}");
}

/// Runs an agent in front of the server at this address to its end; returns what it wrote.
pub(crate) async fn run(
    what: &str,
    address: &str,
    agent: impl FnOnce(&str, &Path) -> Command,
) -> String {
    let home = TempDir::new().expect("a folder");
    let project = home.path().join("project");
    fs::create_dir(&project).expect("a folder");
    let mut agent = agent(address, home.path());
    agent
        .current_dir(&project)
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ran = tokio::time::timeout(TIME_LIMIT, agent.output()).await;
    let ran = ran.expect("it ends in time").expect("it starts");
    let out = String::from_utf8_lossy(&ran.stdout);
    let err = String::from_utf8_lossy(&ran.stderr);
    let what = format!("{what}\n{out}\n{err}");
    assert!(ran.status.success(), "{what}");
    what
}

/// Where the agents are installed.
fn modules() -> PathBuf {
    let folder = std::env::var_os("JACKFIELD_SDKS_AGENTS");
    let folder = folder.expect("`cargo xtask slices` says where the agents are installed");
    PathBuf::from(folder).join("node_modules")
}

fn codex(model: &str, address: &str, home: &Path) -> Command {
    let folder = home.join("codex");
    fs::create_dir(&folder).expect("a folder");
    let configuration = format!(
        "model = \"{model}\"\nmodel_provider = \"jackfield\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\n[model_providers.jackfield]\nname = \"Jackfield\"\n\
         base_url = \"http://{address}/v1\"\nwire_api = \"responses\"\nenv_key = \"JACKFIELD_TOKEN\"\n\
         request_max_retries = 0\nstream_max_retries = 0\n[analytics]\nenabled = false\n"
    );
    fs::write(folder.join("config.toml"), configuration).expect("a file");
    let mut command = Command::new(modules().join(".bin/codex"));
    command
        .env_clear()
        .args(["exec", "--skip-git-repo-check", "Run the command."])
        .env("CODEX_HOME", folder)
        .env("JACKFIELD_TOKEN", TOKEN);
    command
}

/// A model that Codex does not know gets plain functions, and others in a namespace.
#[tokio::test]
async fn codex_runs_its_tool_with_a_model_that_it_does_not_know() {
    for wire in WIRES {
        let call = ScriptPart::Call {
            arguments: json!({ "cmd": COMMAND }).to_string(),
            id: None,
            name: "exec_command".to_owned(),
        };
        check(wire, "some-model", call, |address, home| {
            codex("some-model", address, home)
        })
        .await;
    }
}

/// With a model of either kind, Codex' requests arrive at OpenAI as it sends them.
#[tokio::test]
async fn codex_is_passed_through_unchanged() {
    let call = ScriptPart::Call {
        arguments: json!({ "cmd": COMMAND }).to_string(),
        id: None,
        name: "exec_command".to_owned(),
    };
    check_passed_through(Wire::Responses, "some-model", call, |address, home| {
        codex("some-model", address, home)
    })
    .await;
}

/// A model that Codex knows gets all its tools in namespaces, and writes programs that call them.
#[tokio::test]
async fn codex_runs_its_tool_with_a_model_that_it_knows() {
    let program = format!(
        "const ran = await tools.exec_command({{ cmd: {} }});\ntext(ran.output);",
        json!(COMMAND)
    );
    for wire in WIRES {
        let name = "exec".to_owned();
        let call = match wire {
            Wire::Claude => ScriptPart::Call {
                arguments: json!({ "input": program }).to_string(),
                id: None,
                name,
            },
            Wire::Chat | Wire::Gemini | Wire::Responses => ScriptPart::TextCall {
                id: None,
                input: program.clone(),
                name,
            },
        };
        check(wire, "gpt-6-sol", call, |address, home| {
            codex("gpt-6-sol", address, home)
        })
        .await;
    }
}

/// A program that is in a package of this platform, below this folder of packages.
pub(crate) fn program_in(folder: &str, program: &str) -> PathBuf {
    let packages = fs::read_dir(modules().join(folder)).expect("its packages");
    let programs = packages.map(|package| package.expect("a package").path().join(program));
    let mut programs = programs.filter(|program| program.is_file());
    programs.next().expect("its program")
}

/// Claude Code that runs a command.
fn claude_code(address: &str, home: &Path) -> Command {
    let mut command = claude_code_with("Run the command.", address, home);
    command.args(["--allowedTools", "Bash"]);
    command
}

/// Claude Code with one model, and these words, in front of the server at this address.
pub(crate) fn claude_code_with(words: &str, address: &str, home: &Path) -> Command {
    let mut command = Command::new(program_in("@anthropic-ai", "claude"));
    command
        .env_clear()
        .args(["-p", words])
        .args(["--setting-sources", "user"])
        .env("ANTHROPIC_API_KEY", "")
        .env("ANTHROPIC_AUTH_TOKEN", TOKEN)
        .env("ANTHROPIC_BASE_URL", format!("http://{address}"))
        .env("ANTHROPIC_MODEL", CLAUDE_MODEL)
        .env("ANTHROPIC_SMALL_FAST_MODEL", CLAUDE_MODEL)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CONFIG_DIR", home.join("claude"))
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_ERROR_REPORTING", "1")
        .env("DISABLE_TELEMETRY", "1");
    command
}

pub(crate) const CLAUDE_MODEL: &str = "claude-opus-5-5";

/// A call of Claude Code's shell.
fn bash() -> ScriptPart {
    ScriptPart::Call {
        arguments: json!({ "command": COMMAND, "description": "Runs it" }).to_string(),
        id: None,
        name: "Bash".to_owned(),
    }
}

#[tokio::test]
async fn claude_code_runs_its_tool() {
    for wire in WIRES {
        check(wire, CLAUDE_MODEL, bash(), claude_code).await;
    }
}

#[tokio::test]
async fn claude_code_is_passed_through_unchanged() {
    check_passed_through(Wire::Claude, CLAUDE_MODEL, bash(), claude_code).await;
}

/// What Claude Code sends without a gateway arrives behind one: its betas, its fields, and its cache marks.
#[tokio::test]
async fn claude_code_loses_neither_betas_nor_cache_marks_before_claude() {
    let direct = Upstream::scripted(Wire::Claude, script(bash())).await;
    let address = direct.base_url().replace("http://", "");
    check_run("Claude Code alone", &address, &direct, claude_code).await;
    let behind = check(Wire::Claude, CLAUDE_MODEL, bash(), claude_code).await;
    assert!(!betas(&direct)[0].is_empty(), "Claude Code sends betas");
    assert_eq!(betas(&behind), betas(&direct));
    let requests = direct.requests().into_iter().zip(behind.requests());
    for (sent, arrived) in requests {
        let [mut before, mut after] = [&sent, &arrived].map(fields);
        before.sort();
        after.sort();
        assert_eq!(after, before);
        let (set, arrived) = (marks(&sent), marks(&arrived));
        assert!(
            set.len() > 2,
            "Claude Code marks its system prompt, and its last message"
        );
        let missing: Vec<_> = set.iter().filter(|mark| !arrived.contains(mark)).collect();
        assert!(missing.is_empty(), "{missing:?} of {set:?} in {arrived:?}");
    }
}

/// The betas of each request to a model, sorted.
fn betas(upstream: &Upstream) -> Vec<Vec<String>> {
    let requests = upstream.server().requests();
    let asked = requests
        .iter()
        .filter(|request| request.path.starts_with("/v1/messages"));
    let betas = asked.map(|request| {
        let header = request.header("anthropic-beta").unwrap_or_default();
        let mut betas: Vec<String> = header
            .split(',')
            .map(|beta| beta.trim().to_owned())
            .collect();
        betas.sort();
        betas
    });
    betas.collect()
}

/// The fields of a request, and of its messages but their contents.
fn fields(body: &Value) -> Vec<String> {
    let names = |at: &str, value: &Value| {
        let fields = value.as_object().expect("an object").keys();
        fields.map(|name| format!("{at}{name}")).collect::<Vec<_>>()
    };
    let messages = body["messages"].as_array().expect("messages").iter();
    let messages = messages.enumerate();
    let below = messages.flat_map(|(n, message)| names(&format!("messages.{n}."), message));
    names("", body).into_iter().chain(below).collect()
}

/// The cache marks of a request and their places.
pub(crate) fn marks(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    find_marks("", body, &mut found);
    found
}

fn find_marks(at: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                find_marks(&format!("{at}/{n}"), item, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let at = format!("{at}/{name}");
                if name == "cache_control" {
                    found.push(format!("{at} {value}"));
                } else {
                    find_marks(&at, value, found);
                }
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

/// How long an agent may take for both of its requests.
const TIME_LIMIT: Duration = Duration::from_secs(90);

//! The real Claude Code behind a gateway, and another gateway behind it: the program's requests are turns of the
//! second one, in front of a scripted Claude.
//!
//! `cargo xtask slices` installs the program from npm, as `tests/agents` pins it. It runs without a login, and reaches
//! the loopback address only.

use std::time::Duration;

use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{CLAUDE_MODEL, program_in};
use crate::gateway::{Gateway as Behind, TOKEN};
use crate::harness::{Gateway, Kept};
use crate::upstream::{Upstream, Wire};

const CHAT: &str = "/v1/chat/completions";
const MODEL: &str = "custom-claude-4-sonnet";

/// Both gateways, and what is between them.
struct World {
    behind: Behind,
    folder: TempDir,
    sessions: Kept,
    upstream: Upstream,
}

impl World {
    async fn new(script: Script) -> Self {
        let upstream = Upstream::scripted(Wire::Claude, script).await;
        let alias = format!(
            "aliases.\"{CLAUDE_MODEL}\" = \"{}\"\n",
            Wire::Claude.model()
        );
        let behind = Behind::start_passing_with(Wire::Claude, &upstream, &alias).await;
        Self {
            behind,
            folder: TempDir::new().expect("a folder"),
            sessions: Kept::new(),
            upstream,
        }
    }

    /// A gateway with Claude Code behind it.
    async fn gateway(&self, more: &str) -> Gateway {
        self.gateway_with(more, "").await
    }

    /// The same, with more about Claude Code.
    async fn gateway_with(&self, more: &str, own: &str) -> Gateway {
        let folder = |name: &str| self.folder.path().join(name).display().to_string();
        let text = format!(
            "{more}[aliases]\n{MODEL} = \"claude-code/{CLAUDE_MODEL}\"\n[providers.claude-code]\n\
             command = {command:?}\nbase_url = \"http://{address}\"\napi_key_env = \"BEHIND\"\nfolder = {work:?}\n\
             env.CLAUDE_CONFIG_DIR = {config:?}\n{own}",
            command = program_in("@anthropic-ai", "claude").display().to_string(),
            address = self.behind.address,
            work = folder("work"),
            config = folder("config"),
        );
        let serve = self
            .sessions
            .gateway()
            .configured(text)
            .env("BEHIND", TOKEN);
        Gateway::listening(serve.start()).await
    }

    /// What the model was told last, as text.
    fn last_request(&self) -> Value {
        self.upstream.requests().pop().expect("a request")
    }

    async fn end(self, gateway: Gateway) {
        gateway.end().await;
        self.all_ended().await;
        assert_eq!(self.upstream.violations(), [""; 0]);
        self.behind.end().await;
    }

    /// Waits until no process works in the folder.
    async fn all_ended(&self) {
        let work = self.folder.path().join("work");
        let is_left = || {
            let processes = std::fs::read_dir("/proc").expect("a list of processes");
            let mut folders = processes
                .flatten()
                .filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
            folders.any(|folder| folder == work)
        };
        let ended = async {
            while is_left() {
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
        assert!(ended.is_ok(), "a process of Claude Code is left");
    }
}

/// A model that calls this tool once, and answers when it has the result.
fn script(tool: &'static str) -> Script {
    Script::by(move |asked| {
        Some(if asked.last_text.contains("579") {
            ScriptTurn::text("It is 579.")
        } else if asked.body.to_string().contains("\"is_error\":true") {
            ScriptTurn::text("I may not.")
        } else {
            let sum = json!({ "expression": "123 + 456" });
            ScriptTurn::text("Let me see.")
                .and_call(tool, &sum)
                .and_call(tool, &sum)
        })
    })
}

fn first() -> Value {
    let parameters = json!({
        "type": "object", "properties": { "expression": { "type": "string" } },
    });
    json!({
        "model": MODEL,
        "messages": [{ "role": "user", "content": "please compute 123 + 456" }],
        "tools": [{ "type": "function", "function": {
            "name": "calculate", "description": "Calculates.", "parameters": parameters,
        } }],
    })
}

fn second(said: &Value) -> Value {
    let message = &said["choices"][0]["message"];
    let mut messages = vec![first()["messages"][0].clone(), message.clone()];
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    messages.extend(
        calls.map(|call| json!({ "role": "tool", "tool_call_id": call["id"], "content": "579" })),
    );
    json!({ "model": MODEL, "messages": messages })
}

fn content(said: &Value) -> &Value {
    &said["choices"][0]["message"]["content"]
}

#[tokio::test]
async fn claude_code_behind_the_gateway_calls_the_tools_of_a_client() {
    let world = World::new(script("mcp__gateway__calculate")).await;
    let gateway = world.gateway("").await;
    let said = gateway.post(CHAT, &first()).answered().await.is(200);
    assert_eq!(content(&said), "Let me see.", "{said}");
    let calls = said["choices"][0]["message"]["tool_calls"].as_array();
    assert_eq!(calls.map(Vec::len), Some(2), "{said}");
    let said = gateway.post(CHAT, &second(&said)).answered().await.is(200);
    assert_eq!(content(&said), "It is 579.", "{said}");
    assert_eq!(world.upstream.requests().len(), 2);
    world.end(gateway).await;
}

#[tokio::test]
async fn claude_code_behind_the_gateway_calls_server_tools_by_the_policy() {
    for (policy, answer) in [("allow", "It is 579."), ("deny", "I may not.")] {
        let world = World::new(script("mcp__gateway__calculator")).await;
        let more = format!("[policy.tools]\n\"builtin/calculator\" = \"{policy}\"\n");
        let gateway = world.gateway(&more).await;
        let mut body = first();
        body["tools"] = json!([]);
        let said = gateway.post(CHAT, &body).answered().await.is(200);
        let words = content(&said).as_str().unwrap_or_default();
        assert!(words.ends_with(answer), "{policy}: {said}");
        world.end(gateway).await;
    }
}

#[tokio::test]
async fn claude_code_behind_the_gateway_is_resumed_after_a_kill_of_ours() {
    let world = World::new(script("mcp__gateway__calculate")).await;
    let gateway = world.gateway("").await;
    let answer = gateway.post(CHAT, &first()).header("x-session-id", "new");
    let answer = answer.answered().await;
    let said = answer.is(200);
    let session = answer.header("x-session-id").to_owned();
    gateway.running.kill();
    drop(gateway.running.end().await);
    world.all_ended().await;
    let gateway = world.gateway("").await;
    let next = gateway
        .post(CHAT, &second(&said))
        .header("x-session-id", &session);
    let said = next.answered().await.is(200);
    assert_eq!(content(&said), "It is 579.", "{said}");
    // The session of Claude Code has the calls, with the results that the client sent.
    let request = world.last_request();
    let kinds = request["messages"].as_array().into_iter().flatten();
    let kinds = kinds.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let kinds: Vec<&str> = kinds.filter_map(|block| block["type"].as_str()).collect();
    let count = |kind: &str| kinds.iter().filter(|known| **known == kind).count();
    assert_eq!(
        (count("tool_use"), count("tool_result")),
        (2, 2),
        "{request}"
    );
    world.end(gateway).await;
}

#[tokio::test]
async fn claude_code_behind_the_gateway_neither_reads_files_nor_runs_commands_that_a_text_names() {
    let world = World::new(Script::by(|_| Some(ScriptTurn::text("Hello.")))).await;
    let work = world.folder.path().join("work");
    std::fs::create_dir(&work).expect("a folder");
    std::fs::write(
        work.join("secret.txt"),
        "a word that is nowhere else: quagga",
    )
    .expect("a file");
    let gateway = world.gateway("").await;
    for text in ["look at @secret.txt", "/cost", "/compact"] {
        let body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": text }] });
        let said = gateway.post(CHAT, &body).answered().await.is(200);
        assert_eq!(content(&said), "Hello.", "{text}: {said}");
        let request = world.last_request().to_string();
        assert!(request.contains(text), "{text}: {request}");
        assert!(!request.contains("quagga"), "{text}: {request}");
    }
    world.end(gateway).await;
}

#[tokio::test]
async fn claude_code_behind_the_gateway_uses_its_own_tools_by_its_own_rules() {
    let world = World::new(Script::by(|asked| {
        let results = asked.body["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .last();
        let has_results = results.is_some_and(|last| last.to_string().contains("tool_result"));
        Some(if has_results {
            ScriptTurn::text("Done.")
        } else {
            ScriptTurn::call("Read", &json!({ "file_path": "/nowhere/read.txt" })).and_call(
                "Bash",
                &json!({ "command": "touch made", "description": "Makes it" }),
            )
        })
    }))
    .await;
    let work = world.folder.path().join("work");
    std::fs::create_dir(&work).expect("a folder");
    let own = "builtin_tools = [\"Read\", \"Bash\"]\nallowed_tools = [\"Read\"]\n";
    let gateway = world.gateway_with("", own).await;
    let body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": "Read it." }] });
    let said = gateway.post(CHAT, &body).answered().await.is(200);
    let words = content(&said).as_str().unwrap_or_default();
    assert!(words.ends_with("Done."), "{said}");
    let request = world.last_request();
    let messages = request["messages"].as_array().expect("messages");
    let results = messages.last().expect("results")["content"].as_array();
    let denied = &results.expect("results")[1];
    assert_eq!(denied["is_error"], true, "{denied}");
    assert!(
        denied["content"].to_string().contains("`Bash` is denied"),
        "{denied}"
    );
    assert!(!work.join("made").exists());
    world.end(gateway).await;
}

/// A model that uses Claude Code's shell once, and answers whatever comes of it.
fn uses_shell(command: &'static str) -> Script {
    Script::by(move |asked| {
        let messages = asked.body["messages"].as_array().into_iter().flatten();
        let last = messages.last().map(Value::to_string).unwrap_or_default();
        Some(if last.contains("tool_result") {
            ScriptTurn::text("Done.")
        } else {
            let arguments = json!({ "command": command, "description": "Does it" });
            ScriptTurn::call("Bash", &arguments)
        })
    })
}

impl World {
    /// A gateway whose Claude Code may be asked about its shell, by the policy `ask`.
    async fn asking(&self) -> Gateway {
        let more = "[policy.tools]\n\"claude-code/Bash\" = \"ask\"\n";
        self.gateway_with(more, "builtin_tools = [\"Bash\"]\n")
            .await
    }

    /// Begins a turn of a new session in the background; returns the session's path.
    async fn begin(&self, gateway: &Gateway) -> String {
        let made = gateway.raw("POST", "/api/v1/sessions").answered().await;
        let session = made.header("location").to_owned();
        let body = json!({ "message": "Do it.", "mode": "background", "model": MODEL });
        let begun = gateway.post(&format!("{session}/turns"), &body);
        begun.answered().await.is(202);
        session
    }

    /// The file that the shell makes.
    fn lines(&self, name: &str) -> usize {
        let file = self.folder.path().join("work").join(name);
        std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
    }

    /// Kills the process of Claude Code that works in the folder.
    fn kill_claude_code(&self) {
        let work = self.folder.path().join("work");
        let processes = std::fs::read_dir("/proc").expect("a list of processes");
        let own = processes.flatten().map(|process| process.path());
        let own = own.filter(|process| {
            let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
            let folder = std::fs::read_link(process.join("cwd")).ok();
            name.trim() == "claude" && folder.as_ref() == Some(&work)
        });
        let own: Vec<_> = own.collect();
        let [process] = &own[..] else {
            panic!("not one process: {own:?}");
        };
        let id = process.file_name().expect("an id");
        let mut kill = std::process::Command::new("kill");
        let killed = kill.arg("-KILL").arg(id).status();
        assert!(killed.is_ok_and(|status| status.success()));
    }
}

/// The only open question, when there is one that is not this.
async fn question(gateway: &Gateway, other_than: &Value) -> Value {
    let asked = async {
        loop {
            let listed = gateway.get("/api/v1/approvals").answered().await.is(200);
            if let Some([question]) = listed["approvals"].as_array().map(Vec::as_slice)
                && question["id"] != *other_than
            {
                return question.clone();
            }
            tokio::task::yield_now().await;
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(60), asked).await;
    asked.expect("a question")
}

async fn answer(gateway: &Gateway, question: &Value, verb: &str, body: Value) {
    let id = question["id"].as_str().expect("an id");
    let path = format!("/api/v1/approvals/{id}/{verb}");
    gateway.post(&path, &body).answered().await.is(200);
}

async fn over(gateway: &Gateway, session: &str) {
    let rest = gateway.get(&format!("{session}/events?until=rest"));
    rest.answered().await;
}

#[tokio::test]
async fn claude_code_behind_the_gateway_asks_before_it_uses_its_shell() {
    for (verb, body, made, told) in [
        ("allow", json!({}), "made", ""),
        (
            "allow",
            json!({ "arguments": { "command": "echo x >> edited", "description": "Edited" } }),
            "edited",
            "",
        ),
        (
            "deny",
            json!({ "reason": "not on Fridays" }),
            "",
            "not on Fridays",
        ),
    ] {
        let world = World::new(uses_shell("echo x >> made")).await;
        let gateway = world.asking().await;
        let session = world.begin(&gateway).await;
        let asked = question(&gateway, &Value::Null).await;
        assert_eq!(asked["arguments"]["command"], "echo x >> made", "{asked}");
        assert_eq!((world.lines("made"), world.lines("edited")), (0, 0));
        answer(&gateway, &asked, verb, body).await;
        over(&gateway, &session).await;
        for name in ["made", "edited"] {
            assert_eq!(world.lines(name), usize::from(name == made), "{name}");
        }
        let request = world.last_request().to_string();
        assert!(request.contains(told), "{request}");
        let requests = world.upstream.requests().len();
        assert_eq!(requests, 2);
        world.end(gateway).await;
    }
}

#[tokio::test]
async fn claude_code_behind_the_gateway_is_asked_about_again_after_either_process_was_killed() {
    for kills_gateway in [false, true] {
        let world = World::new(Script::by(|asked| {
            let messages = asked.body["messages"].as_array().into_iter().flatten();
            let last = messages.last().map(Value::to_string).unwrap_or_default();
            let is_told = last.contains("it is not known whether the tool ran");
            Some(if last.contains("tool_result") && !is_told {
                ScriptTurn::text("Done.")
            } else {
                let arguments = json!({ "command": "echo x >> made", "description": "Does it" });
                ScriptTurn::call("Bash", &arguments)
            })
        }))
        .await;
        let mut gateway = world.asking().await;
        let session = world.begin(&gateway).await;
        let first = question(&gateway, &Value::Null).await;
        if kills_gateway {
            gateway.running.kill();
            drop(gateway.running.end().await);
            world.all_ended().await;
            gateway = world.asking().await;
            let again = question(&gateway, &Value::Null).await;
            assert_eq!(again["id"], first["id"]);
        } else {
            world.kill_claude_code();
            world.all_ended().await;
        }
        answer(&gateway, &first, "allow", json!({})).await;
        let second = question(&gateway, &first["id"]).await;
        assert_eq!(world.lines("made"), 0, "killed gateway: {kills_gateway}");
        answer(&gateway, &second, "allow", json!({})).await;
        over(&gateway, &session).await;
        assert_eq!(world.lines("made"), 1, "killed gateway: {kills_gateway}");
        world.end(gateway).await;
    }
}

#[tokio::test]
async fn claude_code_behind_the_gateway_runs_nothing_twice_if_it_is_killed_while_its_shell_works() {
    for kills_gateway in [false, true] {
        let world = World::new(uses_shell("echo x >> made; sleep 600")).await;
        let mut gateway = world.asking().await;
        let session = world.begin(&gateway).await;
        let asked = question(&gateway, &Value::Null).await;
        answer(&gateway, &asked, "allow", json!({})).await;
        let works = async {
            while world.lines("made") == 0 {
                tokio::task::yield_now().await;
            }
        };
        let works = tokio::time::timeout(Duration::from_secs(60), works).await;
        assert!(works.is_ok(), "the shell works");
        if kills_gateway {
            gateway.running.kill();
            drop(gateway.running.end().await);
            // Its shell, too.
            world.all_ended().await;
            gateway = world.asking().await;
        } else {
            world.kill_claude_code();
        }
        over(&gateway, &session).await;
        let request = world.last_request().to_string();
        assert!(
            request.contains("it is not known whether the tool ran"),
            "killed gateway: {kills_gateway}: {request}"
        );
        assert_eq!(world.lines("made"), 1, "killed gateway: {kills_gateway}");
        world.end(gateway).await;
    }
}

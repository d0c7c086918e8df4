//! Claude Code behind the gateway, as scenario 3 has it: a strict stand-in for the program, in front of a scripted
//! Claude.

use std::fs;
use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Gateway, Kept, MAX_SHUTDOWN_TIME, is_alive, kept, scripted_claude_code};

/// The name that clients have for the model.
pub(crate) const MODEL: &str = "custom-claude-4-sonnet";

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";
/// How long a test waits for what happens at once.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// What the program keeps beyond one gateway.
pub(crate) struct Program {
    folder: TempDir,
    mode: &'static str,
}

impl Program {
    fn new() -> Self {
        Self::in_mode("")
    }

    /// The program in this [mode](jackfield_testservers::claude_code).
    pub(crate) fn in_mode(mode: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self { folder, mode }
    }

    /// The configuration of its provider.
    fn configuration(&self, claude: &ScriptedClaude, own: &str) -> String {
        let folder = |name: &str| self.folder.path().join(name).display().to_string();
        format!(
            "[aliases]\n{MODEL} = \"claude-code/sonnet\"\n[providers.claude-code]\ncommand = {command:?}\n\
             base_url = \"{url}\"\napi_key_env = \"ANTHROPIC_API_KEY\"\nfolder = {work:?}\n\
             {own}[providers.claude-code.env]\nCLAUDE_CONFIG_DIR = {config:?}\nSCRIPTED_CLAUDE_STARTS = {starts:?}\n\
             SCRIPTED_CLAUDE = {mode:?}\nSCRIPTED_CLAUDE_RAN = {ran:?}\n",
            command = scripted_claude_code().display().to_string(),
            url = claude.base_url(),
            work = folder("work"),
            config = folder("config"),
            starts = folder("starts"),
            mode = self.mode,
            ran = folder("ran"),
        )
    }

    async fn gateway(&self, claude: &ScriptedClaude, sessions: &Kept, more: &str) -> Gateway {
        self.gateway_with(claude, sessions, more, "").await
    }

    /// The same, with more about the program.
    pub(crate) async fn gateway_with(
        &self,
        claude: &ScriptedClaude,
        sessions: &Kept,
        more: &str,
        own: &str,
    ) -> Gateway {
        let text = format!("{more}{}", self.configuration(claude, own));
        Gateway::listening(sessions.gateway().configured(text).start()).await
    }

    /// The processes that were started.
    pub(crate) fn starts(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("starts")).unwrap_or_default();
        let starts = text.lines().map(serde_json::from_str);
        starts.collect::<Result<_, _>>().expect("starts are JSON")
    }

    /// The runs of tools of its own.
    pub(crate) fn runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("ran")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until none of its processes is alive.
    pub(crate) async fn all_ended(&self) {
        let ended = async {
            let is_any_alive = || {
                let starts = self.starts();
                starts
                    .iter()
                    .any(|start| is_alive(&start["pid"].to_string()))
            };
            while is_any_alive() {
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::time::timeout(MAX_SHUTDOWN_TIME, ended).await;
        assert!(ended.is_ok(), "a process is left: {:?}", self.starts());
    }
}

fn calculate() -> Value {
    json!({
        "type": "object",
        "properties": { "expression": { "type": "string" } },
        "required": ["expression"],
    })
}

/// The first request of scenario 3.1.
fn first() -> Value {
    json!({
        "model": MODEL,
        "messages": [{ "role": "user", "content": "please compute 123 + 456" }],
        "tools": [{ "type": "function", "function": {
            "name": "calculate", "description": "Calculates.", "parameters": calculate(),
        } }],
    })
}

/// A model that calls the tool once, and answers when it has the result.
fn script() -> Script {
    Script::by(|asked| {
        Some(if asked.last_text.contains("579") {
            ScriptTurn::text("It is 579.")
        } else {
            let sum = json!({ "expression": "123 + 456" });
            ScriptTurn::call("mcp__gateway__calculate", &sum)
        })
    })
}

/// The second request of scenario 3.2: the history, the result, and no tools.
fn second(said: &Value) -> Value {
    let message = &said["choices"][0]["message"];
    let call = &message["tool_calls"][0]["id"];
    let result = json!({ "role": "tool", "tool_call_id": call, "content": "579" });
    json!({ "model": MODEL, "messages": [first()["messages"][0], message, result] })
}

#[tokio::test]
async fn s3_01_to_03_a_client_calls_its_own_tool_in_json_and_as_a_stream() {
    for stream in [false, true] {
        let claude = ScriptedClaude::start(script()).await;
        let (sessions, program) = (Kept::new(), Program::new());
        let gateway = program.gateway(&claude, &sessions, "").await;
        let answer = gateway.post(CHAT, &first()).answered().await;
        let said = answer.is(200);
        let choice = &said["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{said}");
        assert_eq!(choice["message"]["content"], Value::Null);
        let calls = choice["message"]["tool_calls"].as_array().expect("calls");
        assert_eq!(calls.len(), 1, "{said}");
        assert_eq!(calls[0]["function"]["name"], "calculate");
        let arguments = calls[0]["function"]["arguments"].as_str().expect("a text");
        let arguments: Value = serde_json::from_str(arguments).expect("JSON");
        assert_eq!(arguments, json!({ "expression": "123 + 456" }));
        assert_eq!(said["model"], MODEL);
        assert_eq!(said["usage"]["total_tokens"], 120, "{said}");
        let mut body = second(&said);
        body["stream"] = json!(stream);
        let answer = gateway.post(CHAT, &body).answered().await;
        if stream {
            let events = answer.json_events();
            let pieces = events
                .iter()
                .filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
            assert_eq!(pieces.collect::<String>(), "It is 579.");
            let last = events
                .iter()
                .rev()
                .find(|event| !event["choices"][0].is_null());
            assert_eq!(
                last.expect("a chunk")["choices"][0]["finish_reason"],
                "stop"
            );
            assert!(answer.body.contains("data: [DONE]"), "{answer:?}");
        } else {
            let said = answer.is(200);
            assert_eq!(said["choices"][0]["message"]["content"], "It is 579.");
            assert_eq!(said["choices"][0]["finish_reason"], "stop");
        }
        // One process for the whole turn.
        assert_eq!(program.starts().len(), 1);
        gateway.end().await;
        program.all_ended().await;
        kept(&claude);
    }
}

#[tokio::test]
async fn the_call_of_a_client_is_shown_in_a_stream_too() {
    let claude = ScriptedClaude::start(script()).await;
    let (sessions, program) = (Kept::new(), Program::new());
    let gateway = program.gateway(&claude, &sessions, "").await;
    let mut body = first();
    body["stream"] = json!(true);
    let answer = gateway.post(CHAT, &body).answered().await;
    let events = answer.json_events();
    let deltas = events
        .iter()
        .map(|event| &event["choices"][0]["delta"]["tool_calls"][0]);
    let arguments: String = deltas
        .filter_map(|call| call["function"]["arguments"].as_str())
        .collect();
    assert_eq!(arguments, "{\"expression\":\"123 + 456\"}");
    let reasons = events
        .iter()
        .map(|event| &event["choices"][0]["finish_reason"]);
    let reasons: Vec<&Value> = reasons.filter(|reason| !reason.is_null()).collect();
    assert_eq!(reasons, ["tool_calls"]);
    gateway.end().await;
    program.all_ended().await;
    kept(&claude);
}

#[tokio::test]
async fn clients_of_messages_and_responses_call_their_own_tools() {
    let claude = ScriptedClaude::start(script()).await;
    let (sessions, program) = (Kept::new(), Program::new());
    let gateway = program.gateway(&claude, &sessions, "").await;
    let user = json!({ "role": "user", "content": "please compute 123 + 456" });
    let tools = json!([{ "name": "calculate", "input_schema": calculate() }]);
    let body = json!({ "model": MODEL, "max_tokens": 500, "messages": [user], "tools": tools });
    let said = gateway.post(MESSAGES, &body).answered().await.is(200);
    assert_eq!(said["stop_reason"], "tool_use", "{said}");
    let call = &said["content"][0];
    let result = json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "579" });
    let messages = json!([
        user, { "role": "assistant", "content": said["content"] }, { "role": "user", "content": [result] },
    ]);
    let body = json!({ "model": MODEL, "max_tokens": 500, "messages": messages });
    let said = gateway.post(MESSAGES, &body).answered().await.is(200);
    assert_eq!(said["content"][0]["text"], "It is 579.", "{said}");

    let tools = json!([{ "type": "function", "name": "calculate", "parameters": calculate() }]);
    let body = json!({ "model": MODEL, "input": [user], "tools": tools });
    let said = gateway.post(RESPONSES, &body).answered().await.is(200);
    let call = &said["output"][0];
    assert_eq!(call["type"], "function_call", "{said}");
    let result =
        json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "579" });
    let body = json!({ "model": MODEL, "input": [result], "previous_response_id": said["id"] });
    let said = gateway.post(RESPONSES, &body).answered().await.is(200);
    assert_eq!(
        said["output"][0]["content"][0]["text"], "It is 579.",
        "{said}"
    );
    gateway.end().await;
    program.all_ended().await;
    kept(&claude);
}

#[tokio::test]
async fn server_tools_run_here_under_the_policy_that_every_model_has() {
    let sum = json!({ "expression": "15% of 2500" });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("mcp__gateway__calculator", &sum)
            .and_call("mcp__gateway__current_datetime", &json!({})),
        ScriptTurn::text("It is 375."),
    ])
    .await;
    let (sessions, program) = (Kept::new(), Program::new());
    let more = "[policy.tools]\n\"builtin/current_datetime\" = \"deny\"\n";
    let gateway = program.gateway(&claude, &sessions, more).await;
    let body =
        json!({ "model": MODEL, "messages": [{ "role": "user", "content": "15% of 2500?" }] });
    let said = gateway.post(CHAT, &body).answered().await.is(200);
    assert_eq!(said["choices"][0]["message"]["content"], "It is 375.");
    let results = &claude.requests()[1]["messages"][2]["content"];
    assert_eq!(results[0]["content"][0]["text"], "375", "{results}");
    assert_eq!(results[0]["is_error"], Value::Null);
    assert_eq!(results[1]["is_error"], true);
    gateway.end().await;
    program.all_ended().await;
    kept(&claude);
}

#[tokio::test]
async fn a_turn_goes_on_after_either_process_was_killed_while_it_waited() {
    for kills_gateway in [false, true] {
        let claude = ScriptedClaude::start(script()).await;
        let (sessions, program) = (Kept::new(), Program::new());
        let mut gateway = program.gateway(&claude, &sessions, "").await;
        let first = gateway.post(CHAT, &first()).header("x-session-id", "new");
        let first = first.answered().await;
        let said = first.is(200);
        let session = first.header("x-session-id").to_owned();
        if kills_gateway {
            gateway.running.kill();
            drop(gateway.running.end().await);
            program.all_ended().await;
            gateway = program.gateway(&claude, &sessions, "").await;
        } else {
            kill(&program.starts()[0]["pid"].to_string());
            program.all_ended().await;
        }
        let next = gateway
            .post(CHAT, &second(&said))
            .header("x-session-id", &session);
        let said = next.answered().await.is(200);
        assert_eq!(said["choices"][0]["message"]["content"], "It is 579.");
        let starts = program.starts();
        assert_eq!(starts.len(), 2, "killed gateway: {kills_gateway}");
        assert_eq!(starts[1]["resume"], starts[0]["session"]);
        assert_eq!(claude.requests().len(), 2);
        gateway.end().await;
        program.all_ended().await;
        kept(&claude);
    }
}

#[tokio::test]
async fn the_cost_that_claude_code_names_is_in_the_usage_with_and_without_a_session() {
    let claude = ScriptedClaude::start(script()).await;
    let (sessions, program) = (Kept::new(), Program::new());
    let gateway = program.gateway(&claude, &sessions, "").await;
    let used = async || {
        let ran = sessions
            .run(&["usage", "--by", "model", "--json"])
            .run()
            .await;
        let used: Value = serde_json::from_str(&ran.out).expect("JSON");
        used["total"].clone()
    };
    for (session, cost) in [("new", "0.001"), ("", "0.002")] {
        let asking = gateway.post(CHAT, &first());
        let asking = match session {
            "" => asking,
            session => asking.header("x-session-id", session),
        };
        let answer = asking.answered().await;
        let said = answer.is(200);
        let next = gateway.post(CHAT, &second(&said));
        let next = match session {
            "" => next,
            _ => next.header("x-session-id", answer.header("x-session-id")),
        };
        next.answered().await.is(200);
        // What a request without a session used is recorded after its response, a moment later.
        let mut total = Value::Null;
        let counted = async {
            while total["cost"][0]["amount"] != cost {
                total = used().await;
            }
        };
        let counted = tokio::time::timeout(TIME_LIMIT, counted).await;
        assert!(counted.is_ok(), "not {cost}: {total}");
        assert_eq!(total["cost"][0]["currency"], "USD", "{total}");
    }
    gateway.end().await;
    program.all_ended().await;
    kept(&claude);
}

#[tokio::test]
async fn without_a_table_there_is_no_such_provider() {
    let claude = ScriptedClaude::start([]).await;
    let sessions = Kept::new();
    let gateway = Gateway::listening(sessions.gateway().at(&claude.base_url()).start()).await;
    let body = json!({
        "model": "claude-code/sonnet", "messages": [{ "role": "user", "content": "hi" }],
    });
    let answer = gateway.post(CHAT, &body).answered().await;
    assert_eq!(answer.status, 404, "{answer:?}");
    gateway.end().await;
}

fn kill(pid: &str) {
    let killed = std::process::Command::new("kill")
        .args(["-KILL", pid])
        .status();
    assert!(killed.is_ok_and(|status| status.success()), "{pid}");
}

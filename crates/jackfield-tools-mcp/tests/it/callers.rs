//! Callers of tools: what each can be asked by the server, and what it reads of the server's log.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use async_trait::async_trait;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::question_handler::Askable;
use jackfield_ports::server_log::{LogLevel, ServerLogMessage};
use jackfield_ports::toolbox::{ToolEnd, ToolEvents, Toolbox as _};
use jackfield_tools_mcp::Root;
use serde_json::{Value, json};

use crate::harness::{Scripted, run, script, soon};

/// A caller that can be asked this, and reads messages of this level.
struct Caller {
    askable: Askable,
    level: Option<LogLevel>,
    logged: Vec<ServerLogMessage>,
    message: Option<Value>,
    missing: Option<Value>,
}

impl Caller {
    const fn of(askable: Askable) -> Self {
        Self {
            askable,
            level: None,
            logged: Vec::new(),
            message: None,
            missing: None,
        }
    }
}

#[async_trait]
impl ToolEvents for Caller {
    fn askable(&self) -> Askable {
        self.askable
    }

    async fn roots(&mut self) -> Vec<Value> {
        vec![json!({ "uri": "file:///theirs" })]
    }

    fn given_message(&mut self) -> Option<Value> {
        self.message.take()
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.level
    }

    fn on_log(&mut self, message: ServerLogMessage) {
        self.logged.push(message);
    }

    fn on_missing_capabilities(&mut self, required: &Value) {
        self.missing = Some(required.clone());
    }

    async fn on_accepted(&mut self, _handle: JobHandle) {}

    async fn on_progress(&mut self, _done: f64, _of: Option<f64>, _message: Option<String>) {}
}

/// The server over either transport, in this era.
fn servers(era: &str, steps: &Value) -> [Scripted; 2] {
    let mut script = script("act", steps);
    script["era"] = json!(era);
    script["logging"] = json!(true);
    [Scripted::new(script.clone()), Scripted::over_http(script)]
}

async fn called(server: &Scripted, caller: &mut Caller) -> ToolEnd {
    let (run, context) = (run("act", json!({})), CallContext::default());
    soon(server.toolbox.call(&run, &context, caller))
        .await
        .unwrap()
}

async fn said(server: &Scripted, caller: &mut Caller) -> String {
    match called(server, caller).await {
        ToolEnd::Finished(result) => result.to_text(),
        ToolEnd::Asked { question, .. } => panic!("{question:?}"),
    }
}

const ROOTS: Askable = Askable {
    roots: true,
    ..Askable::NOTHING
};

#[tokio::test]
async fn a_server_of_the_newer_era_is_told_what_each_caller_can_be_asked() {
    for server in servers("modern", &json!([{ "echo": true }])) {
        let cases = [
            (Askable::NOTHING, json!({})),
            (
                Askable::PERSON,
                json!({ "elicitation": { "form": {}, "url": {} } }),
            ),
            (
                Askable {
                    forms: true,
                    messages: true,
                    ..Askable::NOTHING
                },
                json!({ "elicitation": { "form": {} }, "sampling": {} }),
            ),
            (ROOTS, json!({ "roots": {} })),
        ];
        for (askable, mut expected) in cases {
            let echoed = said(&server, &mut Caller::of(askable)).await;
            let echoed: Value = serde_json::from_str(&echoed).unwrap();
            expected["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
            let sent = &echoed["meta"]["io.modelcontextprotocol/clientCapabilities"];
            assert_eq!(sent, &expected);
        }
        server.kept();
    }
}

fn wanted() -> Value {
    let content = json!({ "type": "text", "text": "Is this spam?" });
    json!({ "maxTokens": 50, "messages": [{ "role": "user", "content": content }] })
}

fn asking(method: &str, params: &Value) -> Value {
    let request = json!({ "method": method, "params": params });
    json!([{ "ask": { "requests": { "q": request } } }, { "text": "thanks" }])
}

#[tokio::test]
async fn a_server_learns_that_nobody_can_be_asked_for_a_message() {
    let older = servers("legacy", &json!([{ "sample": wanted() }]));
    let newer = servers("modern", &asking("sampling/createMessage", &wanted()));
    for server in older.into_iter().chain(newer) {
        let text = said(&server, &mut Caller::of(Askable::PERSON)).await;
        assert!(
            text.contains("the caller of the tool cannot be asked"),
            "{text}"
        );
        assert!(!text.contains("rejected"), "{text}");
    }
    // A form has an answer for that.
    let form = json!({ "message": "Who?", "requestedSchema": { "type": "object" } });
    let older = servers("legacy", &json!([{ "elicit": form }]));
    let newer = servers("modern", &asking("elicitation/create", &form));
    for server in older.into_iter().chain(newer) {
        let text = said(&server, &mut Caller::of(Askable::NOTHING)).await;
        let answers = server.count(r#"answers {"q":{"action":"decline"}}"#);
        assert!(text.contains("decline") || answers == 1, "{text}");
    }
}

#[tokio::test]
async fn a_message_of_the_caller_reaches_the_server_as_it_is() {
    let message = json!({
        "role": "assistant",
        "content": { "type": "text", "text": "yes" },
        "model": "theirs",
    });
    let older = servers("legacy", &json!([{ "sample": wanted() }]));
    let newer = servers("modern", &asking("sampling/createMessage", &wanted()));
    for server in older.into_iter().chain(newer) {
        let mut caller = Caller::of(Askable::TURN);
        let ToolEnd::Asked { handle, .. } = called(&server, &mut caller).await else {
            panic!("it asks");
        };
        caller.message = Some(message.clone());
        let yes = jackfield_domain::wait::ElicitationAnswer::Accepted(json!({}).into());
        let context = CallContext::default();
        let toolbox = &server.toolbox;
        let ended = soon(toolbox.resume(&handle, Some(&yes), &context, &mut caller)).await;
        let ToolEnd::Finished(result) = ended.unwrap() else {
            panic!("it ends");
        };
        let sent = format!("answers {{\"q\":{message}}}");
        let text = result.to_text();
        let said: Option<Value> = serde_json::from_str(&text).ok();
        assert!(
            said.as_ref() == Some(&message) || server.count(&sent) == 1,
            "{text}"
        );
        server.kept();
    }
}

#[tokio::test]
async fn a_server_gets_the_folders_of_its_configuration_or_else_those_of_the_caller() {
    let steps = asking("roots/list", &json!({}));
    for server in servers("modern", &steps) {
        said(&server, &mut Caller::of(ROOTS)).await;
        let answer = r#"answers {"q":{"roots":[{"uri":"file:///theirs"}]}}"#;
        assert_eq!(server.count(answer), 1, "{:?}", server.log());
        server.kept();
    }
    let own = Scripted::with(script("act", &steps), |config, _| {
        config.roots = vec![Root {
            name: None,
            uri: "file:///ours".to_owned(),
        }];
    });
    said(&own, &mut Caller::of(ROOTS)).await;
    let answer = r#"answers {"q":{"roots":[{"uri":"file:///ours"}]}}"#;
    assert_eq!(own.count(answer), 1, "{:?}", own.log());
    own.kept();
}

#[tokio::test]
async fn a_caller_learns_which_capabilities_a_server_misses() {
    let data = json!({ "requiredCapabilities": { "sampling": {} } });
    let error = json!({ "code": -32021, "message": "no model", "data": data });
    for server in servers("modern", &json!([{ "error": error }])) {
        let mut caller = Caller::of(Askable::NOTHING);
        let text = said(&server, &mut caller).await;
        assert!(text.contains("no model"), "{text}");
        assert_eq!(caller.missing, Some(json!({ "sampling": {} })));
        server.kept();
    }
}

fn logging() -> Value {
    let log = |level: &str, data: Value| json!({ "log": { "level": level, "data": data } });
    json!([
        log("debug", json!("small")),
        log("warning", json!({ "of": ["a secret-123"] })),
        log("loud", json!("of no level")),
        log("error", json!("x".repeat(20_000))),
        { "text": "done" },
    ])
}

#[tokio::test]
async fn a_caller_gets_the_log_messages_of_its_level() {
    for era in ["legacy", "modern"] {
        let mut script = script("act", &logging());
        script["era"] = json!(era);
        script["logging"] = json!(true);
        let hidden = |config: &mut jackfield_tools_mcp::ServerConfig| match &mut config.http {
            Some(endpoint) => {
                let header = ("x-key".to_owned(), "secret-123".to_owned());
                endpoint.headers.push(header);
            }
            None => {
                let variable = ("THE_KEY".to_owned(), "secret-123".to_owned());
                config.environment.push(variable);
            }
        };
        let servers = [
            Scripted::with(script.clone(), |config, _| hidden(config)),
            Scripted::over_http_with(script, |config, _| hidden(config)),
        ];
        for server in servers {
            let mut caller = Caller::of(Askable::NOTHING);
            caller.level = Some(LogLevel::Warning);
            assert_eq!(said(&server, &mut caller).await, "done");
            let [first, second] = &caller.logged[..] else {
                panic!("{era}: {:?}", caller.logged);
            };
            assert_eq!(first.level, LogLevel::Warning);
            assert_eq!(first.data, json!({ "of": ["a [redacted]"] }));
            assert_eq!(second.level, LogLevel::Error);
            let cut = second.data.as_str().unwrap();
            assert!(cut.len() < 10_000 && cut.ends_with(" […]"), "{cut}");
            // In the older era, the client sets the level once, until a lower one is wanted.
            for level in [LogLevel::Error, LogLevel::Debug] {
                caller.level = Some(level);
                said(&server, &mut caller).await;
            }
            let told = ["level \"warning\"", "level \"debug\"", "level "];
            let told = told.map(|told| server.count(told));
            let expected = if era == "legacy" {
                [1, 1, 2]
            } else {
                [0, 0, 0]
            };
            assert_eq!(told, expected, "{era}: {:?}", server.log());
            // A caller that wants none gets none.
            let (mut deaf, before) = (Caller::of(Askable::NOTHING), caller.logged.len());
            assert_eq!(said(&server, &mut deaf).await, "done");
            assert_eq!((deaf.logged.len(), caller.logged.len()), (0, before));
            server.kept();
        }
    }
}

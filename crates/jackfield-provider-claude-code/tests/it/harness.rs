//! A scripted Claude, the stand-in for the program in front of it, and a conversation.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolName, TurnId};
use jackfield_domain::message::{Message, Messages, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{Catalog, InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::usage::Usage;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::ChatModel as _;
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_claude_code::{ClaudeCode, ClaudeCodeConfig};
use jackfield_provider_kit::secret::Secret;
use jackfield_testservers::built::program;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::Script;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A scripted Claude, and a folder for all that the program writes.
pub(crate) struct World {
    folder: TempDir,
    pub(crate) server: ScriptedClaude,
}

#[derive(Debug)]
pub(crate) struct Asked {
    /// The last usage that was reported before the end.
    pub(crate) counted: Option<Usage>,
    pub(crate) deltas: Vec<Delta>,
    pub(crate) end: Result<ReplyEnd, ModelFailure>,
}

impl World {
    pub(crate) async fn new(script: impl Into<Script>) -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            server: ScriptedClaude::start(script).await,
        }
    }

    /// The settings of the program in this [mode](jackfield_testservers::claude_code).
    pub(crate) fn config(&self, mode: &str) -> ClaudeCodeConfig {
        let mut config = ClaudeCodeConfig::new(self.folder.path().join("work"));
        config.base_url = Some(self.server.base_url().into());
        config.command = program("scripted-claude-code").display().to_string();
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        config.environment = vec![
            ("CLAUDE_CONFIG_DIR".to_owned(), path("config")),
            ("SCRIPTED_CLAUDE".to_owned(), mode.to_owned()),
            ("SCRIPTED_CLAUDE_RAN".to_owned(), path("ran")),
            ("SCRIPTED_CLAUDE_STARTS".to_owned(), path("starts")),
        ];
        config.grace = Duration::from_secs(5);
        config.key = Some(Secret::new("sk-scripted"));
        config
    }

    pub(crate) fn model(&self) -> ClaudeCode {
        ClaudeCode::new(self.config(""))
    }

    /// The runs of tools of its own.
    pub(crate) fn runs(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("ran"));
        text.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The processes that were started.
    pub(crate) fn starts(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("starts"));
        let text = text.unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// How many sessions it has in files.
    pub(crate) fn files(&self) -> usize {
        let folder = self.folder.path().join("config/sessions");
        std::fs::read_dir(folder).map_or(0, Iterator::count)
    }

    /// Waits until no started process is alive.
    pub(crate) async fn all_ended(&self) {
        let pids = self.starts();
        let pids: Vec<String> = pids.iter().map(|start| start["pid"].to_string()).collect();
        ended(&pids).await;
    }

    /// Kills the last started process and what it was started with, and waits until they have ended.
    pub(crate) async fn kill_last(&self) {
        let pid = self.starts().last().unwrap()["pid"].to_string();
        let [_, _, group, ..] = &stat(&pid).unwrap()[..] else {
            panic!("a process has a group");
        };
        let whole = format!("-{group}");
        let killed = Command::new("kill").args(["-KILL", "--", &whole]).status();
        assert!(killed.unwrap().success());
        ended(&[pid, group.clone()]).await;
    }
}

/// Waits until none of these processes is alive.
async fn ended(pids: &[String]) {
    let is_alive = |pid: &String| stat(pid).is_some_and(|fields| fields[0] != "Z");
    let ended = async {
        while pids.iter().any(is_alive) {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
    ended.expect("every process ends");
}

/// The state of a process, its parent, its group and more; `None` once it is gone.
fn stat(pid: &str) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

#[derive(Clone, Debug)]
pub(crate) struct Talk {
    messages: Vec<Arc<Message>>,
    /// Whether its session is kept in memory alone.
    pub(crate) in_passing: bool,
    pub(crate) request: ModelRequest,
    round: u32,
}

impl Talk {
    /// A conversation that begins with this text, with the tools `add` and `look`.
    pub(crate) fn new(text: &str) -> Self {
        let tool = |name: &str| {
            Arc::new(ToolDefinition {
                description: format!("The tool {name}.").into(),
                extensions: Vec::new(),
                input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
                name: ToolName::parse(name).unwrap(),
                output: None,
                strict: None,
            })
        };
        let part = SystemPart {
            origin: PartOrigin::Default,
            text: "Be brief.".into(),
        };
        Self {
            in_passing: false,
            messages: vec![Arc::new(Message::user(text))],
            request: ModelRequest {
                choice: ToolChoice::Auto,
                messages: Messages::default(),
                model: ModelRef {
                    model: "sonnet".into(),
                    provider: "claude-code".into(),
                },
                turn: None,
                settings: Arc::new(Settings::default()),
                strict: None,
                system: Arc::new(SystemPrompt { parts: vec![part] }),
                tools: Arc::new(vec![tool("add"), tool("look")]),
                searchable: Arc::default(),
                tools_as_text: false,
                whole: false,
            },
            round: 0,
        }
    }

    pub(crate) fn say(&mut self, message: Message) {
        self.messages.push(Arc::new(message));
    }

    /// Asks for the next reply.
    pub(crate) async fn ask(&self, model: &ClaudeCode) -> Asked {
        let mut sink = Sink {
            counted: None,
            deltas: Vec::new(),
            is_ephemeral: self.in_passing,
        };
        let request = ModelRequest {
            messages: Messages::with_history(Arc::new(self.messages.clone())),
            ..self.request.clone()
        };
        let context = CallContext::default();
        let end = tokio::time::timeout(
            Duration::from_secs(60),
            model.reply(&request, &context, &mut sink),
        );
        let end = end.await.expect("a reply in time");
        let end = end.map_err(|error| error.failure);
        let Sink {
            counted, deltas, ..
        } = sink;
        Asked {
            counted,
            deltas,
            end,
        }
    }

    /// Asks, and adds the reply to the conversation.
    pub(crate) async fn go_on(&mut self, model: &ClaudeCode) -> ReplyEnd {
        let Asked { deltas, end, .. } = self.ask(model).await;
        let end = end.unwrap();
        self.round += 1;
        let turn = TurnId::derive(&SessionId::parse("talk").unwrap(), 1);
        let attempt = ModelAttempt {
            attempt: 1,
            round: self.round,
        };
        let mut reply = ReplyAccumulator::new(turn, attempt);
        for delta in &deltas {
            reply.push(delta).unwrap();
        }
        let reply = reply.finish(end.clone(), &Catalog::default()).unwrap();
        self.messages.push(reply.message);
        end
    }

    /// Adds results for the calls of the last reply, in their order.
    pub(crate) fn results(&mut self, results: impl IntoIterator<Item = ToolResult>) {
        let last = self.messages.last().unwrap();
        let calls = last.calls().filter(|call| call.ran_by != RanBy::Provider);
        let blocks = calls.zip(results).map(|(call, result)| {
            Block::from(Content::ToolOutcome(Arc::new(ToolOutcome {
                call: call.id.clone(),
                result,
                opaque: Vec::new(),
            })))
        });
        let message = Message::new(Role::Tool, blocks.collect());
        self.messages.push(Arc::new(message));
    }

    pub(crate) fn last(&self) -> &Message {
        self.messages.last().unwrap()
    }

    pub(crate) fn change(&mut self, place: usize, message: Message) {
        self.messages[place] = Arc::new(message);
    }
}

struct Sink {
    counted: Option<Usage>,
    deltas: Vec<Delta>,
    is_ephemeral: bool,
}

#[async_trait]
impl DeltaSink for Sink {
    async fn push(&mut self, delta: Delta) {
        self.deltas.push(delta);
    }

    async fn count(&mut self, usage: Usage) {
        self.counted = Some(usage);
    }

    fn is_ephemeral(&self) -> bool {
        self.is_ephemeral
    }
}

/// The model of the contract.
pub(crate) const MODEL: &str = "claude-opus-5-5";

/// An event of the Messages API as it stands on the wire.
pub(crate) fn event(data: &Value) -> Bytes {
    let kind = data["type"].as_str().unwrap();
    format!("event: {kind}\ndata: {data}\n\n").into()
}

pub(crate) fn text(deltas: &[Delta]) -> String {
    let texts = deltas.iter().filter_map(|delta| match delta {
        Delta::TextAppended { text, .. } => Some(&**text),
        _ => None,
    });
    texts.collect()
}

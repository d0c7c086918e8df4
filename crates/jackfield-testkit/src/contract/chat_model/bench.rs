//! The test bench of the clauses: a server, the adapter that connects to it, and requests.

use std::error::Error as _;
use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::Content;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_domain::ids::{ModelAttempt, ToolName, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::reply::{Reply, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{Catalog, InputFormat, ToolChoice, ToolDefinition};
use jackfield_ports::chat_model::{ChatModel as _, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use serde_json::json;
use tokio::sync::watch;

use super::{BlockKind, ChatModelHarness, VendorReply, WireReply};
use crate::server::{PATIENCE, Response, TestServer};

/// The key that every adapter is configured with.
pub(super) const KEY: &str = "sk-contract-5ecret-0123456789";

/// A server, and an adapter that connects to it.
pub(super) struct Bench<'a, H: ChatModelHarness> {
    pub(super) harness: &'a H,
    pub(super) model: H::Model,
    pub(super) server: TestServer,
}

impl<'a, H: ChatModelHarness> Bench<'a, H> {
    pub(super) async fn new(harness: &'a H) -> Self {
        let server = TestServer::start().await;
        Self {
            harness,
            model: harness.connect(&server.base_url(), KEY),
            server,
        }
    }

    /// The wire form of a reply that every harness must be able to render.
    pub(super) fn render(&self, reply: &VendorReply) -> WireReply {
        match self.harness.render(reply) {
            Some(wire) => wire,
            None => panic!(
                "the harness has to render {reply:?}; if the vendor never sends that, the clause is an exception, with the reason"
            ),
        }
    }

    /// The wire form of a reply in its manner; `None` if the harness declares it impossible.
    ///
    /// Fails if the manner is both declared impossible and rendered, or neither.
    #[track_caller]
    pub(super) fn render_if_possible(&self, reply: &VendorReply) -> Option<WireReply> {
        let manner = reply.manner;
        let mut impossible = self.harness.impossible().iter();
        let exception = impossible.find(|(known, _)| *known == manner);
        match (self.harness.render(reply), exception) {
            (Some(wire), None) => Some(wire),
            (None, Some(_)) => None,
            (Some(_), Some((_, reason))) => {
                panic!("{manner:?} is rendered, although it is said to be impossible: {reason}")
            }
            (None, None) => panic!(
                "{manner:?} is neither rendered nor impossible: render it, or name it in `impossible` \
                 with the reason: {reply:?}"
            ),
        }
    }

    /// The wire form of a reply with a block of this kind; `None` if the harness has a reason against it.
    #[track_caller]
    pub(super) fn with_block(&self, kind: BlockKind, reply: &VendorReply) -> Option<WireReply> {
        let capabilities = self.harness.capabilities();
        let ruled_out = match kind {
            BlockKind::CustomCall => !capabilities.tools,
            BlockKind::Reasoning => !capabilities.reasoning,
            BlockKind::Refusal => false,
        };
        let mut never = self.harness.never_sends().iter();
        let exception = never.find(|(known, _)| *known == kind);
        match (self.harness.render(reply), exception) {
            (Some(wire), None) => Some(wire),
            (None, Some(_)) => None,
            (None, None) if ruled_out => None,
            (Some(_), Some((_, reason))) => {
                panic!("{kind:?} is rendered, although the vendor never sends it: {reason}")
            }
            (None, None) => panic!(
                "{kind:?} is neither rendered nor never sent: render it, or name it in `never_sends` \
                 with the reason: {reply:?}"
            ),
        }
    }

    /// A text question, with the tools if the adapter supports any.
    pub(super) fn request(&self) -> ModelRequest {
        request(self.harness.model(), self.harness.capabilities().tools)
    }

    /// Sends the usual request, which gets this response.
    pub(super) async fn call(&self, response: Response) -> CallResult {
        self.server.answer(response);
        self.call_with(&self.request()).await
    }

    /// Sends a request, and waits for the end.
    pub(super) async fn call_with(&self, request: &ModelRequest) -> CallResult {
        let mut sink = WatchedSink::new();
        let result = self.call_into(request, &mut sink).await;
        CallResult {
            deltas: sink.deltas.borrow().clone(),
            result,
        }
    }

    /// Sends a request, and waits for the end, while the test watches the deltas.
    pub(super) async fn call_into(
        &self,
        request: &ModelRequest,
        sink: &mut WatchedSink,
    ) -> Result<ReplyEnd, ModelError> {
        let reply = self.model.reply(request, sink);
        match tokio::time::timeout(PATIENCE, reply).await {
            Ok(result) => result,
            Err(_) => panic!("the call did not end within {} s", PATIENCE.as_secs()),
        }
    }
}

/// A text question to a model, optionally with two tools.
pub(super) fn request(model: &str, tools: bool) -> ModelRequest {
    let tools = if tools {
        ["weather", "clock"].as_slice()
    } else {
        &[]
    };
    let question = Message::user("What is the weather in Oslo?");
    request_with(model, tools, [question])
}

/// A conversation with a model, with these tools.
pub(super) fn request_with(
    model: &str,
    tools: &[&str],
    messages: impl IntoIterator<Item = Message>,
) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: messages.into_iter().collect(),
        model: ModelRef {
            model: model.into(),
            provider: "contract".into(),
        },
        settings: Arc::new(Settings {
            max_output_tokens: Some(256),
            ..Settings::default()
        }),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::new(tools.iter().copied().map(tool).collect()),
        whole: false,
    }
}

/// A tool that takes a city.
pub(super) fn tool(name: &str) -> Arc<ToolDefinition> {
    let Ok(name) = ToolName::parse(name) else {
        panic!("`{name}` is no name of a tool");
    };
    Arc::new(ToolDefinition {
        description: "Tells something about a city.".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({
            "type": "object",
            "properties": { "city": { "type": "string" } },
        }))),
        name,
        output: None,
        strict: None,
    })
}

/// The result of a call.
#[derive(Debug)]
pub(super) struct CallResult {
    pub(super) deltas: Vec<Delta>,
    pub(super) result: Result<ReplyEnd, ModelError>,
}

impl CallResult {
    /// The reply, accumulated from its deltas.
    #[track_caller]
    pub(super) fn reply(self) -> Reply {
        self.reply_of_round(1)
    }

    /// The reply of this round: the ids of its calls are unique among rounds.
    #[track_caller]
    pub(super) fn reply_of_round(self, round: u32) -> Reply {
        let end = match self.result {
            Ok(end) => end,
            Err(error) => panic!("a reply was expected, not: {}", error_text(&error)),
        };
        let mut reply = accumulator(round);
        for delta in &self.deltas {
            if let Err(violation) = reply.push(delta) {
                panic!("{violation}: {:?}", self.deltas);
            }
        }
        match reply.finish(end, &Catalog::default()) {
            Ok(reply) => reply,
            Err(violation) => panic!("{violation}: {:?}", self.deltas),
        }
    }

    /// The failure, which must have the right phase.
    #[track_caller]
    pub(super) fn failure(self) -> ModelFailure {
        let failure = match self.result {
            Ok(end) => panic!(
                "a failure was expected, not {end:?} after {:?}",
                self.deltas
            ),
            Err(error) => error.failure,
        };
        assert_eq!(
            failure.phase == Phase::MidReply,
            !self.deltas.is_empty(),
            "{failure:?} after {:?}",
            self.deltas
        );
        assert!(
            !failure.message.is_empty() && !failure.message.contains('\n'),
            "a message is one line: {:?}",
            failure.message
        );
        failure
    }

    /// The error with all its causes.
    #[track_caller]
    pub(super) fn error(self) -> ModelError {
        match self.result {
            Ok(end) => panic!("a failure was expected, not {end:?}"),
            Err(error) => error,
        }
    }
}

/// All text of a reply.
pub(super) fn reply_text(reply: &Reply) -> String {
    let mut words = String::new();
    for block in &reply.message.blocks {
        if let Content::Text(text) = &block.content {
            words.push_str(&text.text);
        }
    }
    words
}

/// The `Display` and `Debug` output of an error and its causes.
pub(super) fn error_text(error: &ModelError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a `String` cannot fail.
        let _written = write!(text, " {error} {error:?}").is_ok();
        cause = error.source();
    }
    text
}

/// Keeps the deltas, and lets a test wait for them.
pub(super) struct WatchedSink {
    pub(super) deltas: watch::Sender<Vec<Delta>>,
}

impl WatchedSink {
    pub(super) fn new() -> Self {
        Self {
            deltas: watch::Sender::new(Vec::new()),
        }
    }
}

#[async_trait]
impl DeltaSink for WatchedSink {
    async fn push(&mut self, delta: Delta) {
        self.deltas.send_modify(|deltas| deltas.push(delta));
    }
}

fn accumulator(round: u32) -> ReplyAccumulator {
    let Ok(turn) = TurnId::parse("contract") else {
        panic!("`contract` is an id of a turn");
    };
    let attempt = ModelAttempt { attempt: 1, round };
    ReplyAccumulator::new(turn, attempt)
}

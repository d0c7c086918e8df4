//! The test bench of the clauses: a server, the adapter that connects to it, and requests.

use std::cell::RefCell;
use std::error::Error as _;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::Content;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{ModelAttempt, ToolName, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::note::Note;
use jackfield_domain::reply::{Reply, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{Catalog, InputFormat, ToolChoice, ToolDefinition};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{ChatModel as _, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{BlockKind, ChatModelHarness, Echo, Manner, ScriptedBlock, VendorReply, WireReply};
use crate::server::{Response, TIME_LIMIT, TestServer};

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
        if self.harness.usual().contains(&manner) {
            return Some(self.render(&reply.clone().with_manner(Manner::Usual)));
        }
        let mut impossible = self.harness.impossible().iter();
        let exception = impossible.find(|(known, _)| *known == manner);
        match (self.harness.render(reply), exception) {
            (Some(wire), None) => Some(wire),
            (None, Some(_)) => None,
            (Some(_), Some((_, reason))) => {
                panic!("{manner:?} is rendered, although it is said to be impossible: {reason}")
            }
            (None, None) => panic!(
                "{manner:?} is neither rendered nor named: render it, or name it in `usual` or `impossible`: {reply:?}"
            ),
        }
    }

    /// The wire form of a reply with blocks of this kind; `None` if the harness has a reason against it.
    #[track_caller]
    pub(super) fn with_block(&self, kind: BlockKind, reply: &VendorReply) -> Option<WireReply> {
        match self.block(kind, reply) {
            Ok(wire) => wire,
            Err(fault) => panic!("{fault}: {reply:?}"),
        }
    }

    /// As [`with_block`](Self::with_block), with what is wrong with the harness as an error.
    pub(super) fn block(
        &self,
        kind: BlockKind,
        reply: &VendorReply,
    ) -> Result<Option<WireReply>, String> {
        let capabilities = self.harness.capabilities();
        let ruled_out = match kind {
            BlockKind::CallWithState => !capabilities.tools || !capabilities.reasoning,
            BlockKind::CustomCall => !capabilities.tools,
            BlockKind::Reasoning | BlockKind::TextWithState => !capabilities.reasoning,
            BlockKind::Refusal => false,
        };
        let mut never = self.harness.never_sends().iter();
        let exception = never.find(|(known, _)| *known == kind);
        let wire = self.harness.render(reply);
        let wire = wire.filter(|wire| states(kind, reply).all(|state| wire.contains(state)));
        match (wire, exception) {
            (Some(wire), None) => Ok(Some(wire)),
            (None, Some(_)) => Ok(None),
            (None, None) if ruled_out => Ok(None),
            (Some(_), Some((_, reason))) => Err(format!(
                "{kind:?} is rendered, although the vendor never sends it: {reason}"
            )),
            (None, None) => Err(format!(
                "{kind:?} is neither rendered nor never sent: render it, or name it in `never_sends` with the reason"
            )),
        }
    }

    /// A text question, with the tools if the adapter supports any.
    pub(super) fn request(&self) -> ModelRequest {
        request(self.harness.model(), self.harness.capabilities().tools)
    }

    /// Queues the response to the next request, and keeps it for the report of a failure.
    pub(super) fn answer(&self, response: Response) {
        LAST.set(Some(response.clone()));
        self.server.answer(response);
    }

    /// Sends the usual request, which gets this response.
    pub(super) async fn call(&self, response: Response) -> CallResult {
        self.answer(response);
        self.call_with(&self.request()).await
    }

    /// Sends a request, and returns it as it was sent, with its notes; `None` if it is refused as unsupported.
    pub(super) async fn sent(&self, request: &ModelRequest) -> Option<SentRequest> {
        let before = self.server.requests().len();
        let fine = self.render(&VendorReply::text(&["fine"]));
        self.answer(fine.response());
        let asked = self.call_with(request).await;
        if asked.result.is_err() {
            let failure = asked.failure();
            assert_eq!(failure.kind, ModelFailureKind::Unsupported, "{failure:?}");
            assert_eq!(failure.phase, Phase::BeforeSend, "{failure:?}");
            return None;
        }
        let notes = asked.reply().end.notes;
        let recorded = self.server.request(before).await;
        let text = format!("{} {}\n{}", recorded.method, recorded.path, recorded.text());
        let echo = self.harness.echo(&recorded);
        let mut words = vec![recorded.path.clone()];
        match serde_json::from_slice(&recorded.body) {
            Ok(json) => collect_strings(&json, &mut words),
            Err(_) => words.push(recorded.text()),
        }
        for claimed in echo.claims() {
            assert!(
                words.iter().any(|word| word.contains(claimed)),
                "the harness reads {claimed:?}, which is not in the request: {text}"
            );
        }
        Some(SentRequest { echo, notes, text })
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
        self.call_in(request, &CallContext::default(), sink).await
    }

    /// As [`call_into`](Self::call_into), in these circumstances.
    pub(super) async fn call_in(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut WatchedSink,
    ) -> Result<ReplyEnd, ModelError> {
        let reply = self.model.reply(request, call, sink);
        match tokio::time::timeout(TIME_LIMIT, reply).await {
            Ok(result) => result,
            Err(_) => panic!("the call did not end within {} s", TIME_LIMIT.as_secs()),
        }
    }
}

/// A request as it was sent.
#[derive(Debug, PartialEq)]
pub(super) struct SentRequest {
    pub(super) echo: Echo,
    pub(super) notes: Vec<Note>,
    /// The method, the path and the body.
    pub(super) text: String,
}

impl fmt::Display for SentRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { echo, notes, text } = self;
        write!(f, "{text}\nnotes: {notes:?}\nas read: {echo:?}")
    }
}

impl SentRequest {
    /// Whether a note is about this path, or about a part of it.
    pub(super) fn is_noted(&self, path: &str) -> bool {
        let mut below = self
            .notes
            .iter()
            .filter_map(|one| one.path.strip_prefix(path));
        below.any(|rest| rest.is_empty() || rest.starts_with(['.', '[', '#']))
    }

    /// Whether a note is about exactly this path.
    pub(super) fn is_noted_at(&self, path: &str) -> bool {
        self.notes.iter().any(|note| note.path == path)
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
        turn: None,
        settings: Arc::new(Settings {
            max_output_tokens: Some(256),
            ..Settings::default()
        }),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::new(tools.iter().copied().map(tool).collect()),
        searchable: Arc::default(),
        tools_as_text: false,
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

/// Forgets the responses of earlier clauses.
pub(super) fn clear_report() {
    LAST.set(None);
}

/// The last response that the clause of this thread has sent, for a person; empty if there was none.
pub(super) fn last_response() -> String {
    let report = |last: &Response| format!("the last response: {}", last.describe());
    LAST.with_borrow(|last| last.as_ref().map_or_else(String::new, report))
}

thread_local! {
    /// A clause runs on one thread, that of its test.
    static LAST: RefCell<Option<Response>> = const { RefCell::new(None) };
}

/// The states in a reply that make its blocks those of this kind.
fn states(kind: BlockKind, reply: &VendorReply) -> impl Iterator<Item = &str> {
    reply.blocks.iter().filter_map(move |block| match block {
        ScriptedBlock::Text { state, .. } if kind == BlockKind::TextWithState => state.as_deref(),
        ScriptedBlock::ToolCall { state, .. } if kind == BlockKind::CallWithState => {
            state.as_deref()
        }
        ScriptedBlock::CustomCall { .. }
        | ScriptedBlock::Reasoning { .. }
        | ScriptedBlock::Refusal(_)
        | ScriptedBlock::Text { .. }
        | ScriptedBlock::ToolCall { .. } => None,
    })
}

/// All strings in a document, including keys.
fn collect_strings(json: &Value, texts: &mut Vec<String>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, texts)),
        Value::Object(fields) => {
            for (key, value) in fields {
                texts.push(key.clone());
                collect_strings(value, texts);
            }
        }
        Value::String(text) => texts.push(text.clone()),
        Value::Bool(_) | Value::Null | Value::Number(_) => {}
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
    /// How often the server gave a sign of life.
    pub(super) lives: watch::Sender<usize>,
}

impl WatchedSink {
    pub(super) fn new() -> Self {
        Self {
            deltas: watch::Sender::new(Vec::new()),
            lives: watch::Sender::new(0),
        }
    }
}

#[async_trait]
impl DeltaSink for WatchedSink {
    async fn push(&mut self, delta: Delta) {
        self.deltas.send_modify(|deltas| deltas.push(delta));
    }

    async fn alive(&mut self) {
        self.lives.send_modify(|lives| *lives += 1);
    }
}

fn accumulator(round: u32) -> ReplyAccumulator {
    let Ok(turn) = TurnId::parse("contract") else {
        panic!("`contract` is an id of a turn");
    };
    let attempt = ModelAttempt { attempt: 1, round };
    ReplyAccumulator::new(turn, attempt)
}

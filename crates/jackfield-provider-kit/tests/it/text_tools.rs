//! A model whose tools are text, or may be.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::usage::Usage;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::text_tools::{TextTools, ToolMode};
use serde_json::json;

/// A model that says these pieces, and then ends or fails.
struct Saying {
    fails: Option<ModelFailure>,
    pieces: Vec<&'static str>,
    /// The requests that it got.
    requests: Mutex<Vec<ModelRequest>>,
}

#[async_trait]
impl ChatModel for Saying {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: "a-dialect".into(),
            endpoint: "https://api.example".into(),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        _: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        for (place, piece) in self.pieces.iter().enumerate() {
            if place == 0 {
                let start = BlockStart::Text;
                sink.push(Delta::BlockStarted { index: 0, start }).await;
            }
            let text = (*piece).into();
            sink.push(Delta::TextAppended { index: 0, text }).await;
        }
        if let Some(failure) = &self.fails {
            return Err(failure.clone().into());
        }
        sink.push(Delta::BlockEnded { index: 0 }).await;
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

/// What a sink was given.
#[derive(Debug, Default)]
struct Seen {
    counts: Vec<u64>,
    deltas: Vec<Delta>,
}

#[async_trait]
impl DeltaSink for Seen {
    async fn push(&mut self, delta: Delta) {
        self.deltas.push(delta);
    }

    async fn count(&mut self, usage: Usage) {
        self.counts.push(usage.output);
    }
}

impl Seen {
    fn text(&self) -> String {
        let texts = self.deltas.iter().filter_map(|delta| match delta {
            Delta::TextAppended { text, .. } => Some(&**text),
            Delta::AnnotationAdded { .. }
            | Delta::ArgumentsAppended { .. }
            | Delta::BlockEnded { .. }
            | Delta::BlockStarted { .. }
            | Delta::StateSet { .. } => None,
        });
        texts.collect()
    }
}

fn request() -> ModelRequest {
    let clock = ToolDefinition {
        description: "The time.".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
        name: ToolName::parse("clock").unwrap(),
        output: None,
        strict: None,
    };
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::user("When?")].into_iter().collect(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "p".into(),
        },
        turn: None,
        settings: Arc::default(),
        strict: None,
        system: Arc::default(),
        tools: Arc::new(vec![Arc::new(clock)]),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

const CALL: [&str; 3] = [
    "Well. <tool_call>{\"name\"",
    ": \"clock\", \"argu",
    "ments\": {}}</tool_call>",
];

/// What a model in this mode says to a request, and the requests that were sent.
async fn asked(
    mode: ToolMode,
    request: &ModelRequest,
    fails: Option<ModelFailure>,
) -> (Seen, Result<ReplyEnd, ModelError>, Vec<ModelRequest>) {
    let pieces = match &fails {
        Some(failure) if failure.phase != Phase::MidReply => Vec::new(),
        Some(_) | None => CALL.to_vec(),
    };
    let inner = Arc::new(Saying {
        fails,
        pieces,
        requests: Mutex::default(),
    });
    let model = TextTools::new(Arc::<Saying>::clone(&inner), ByModel::always(mode));
    let mut seen = Seen::default();
    let replied = model
        .reply(request, &CallContext::default(), &mut seen)
        .await;
    let requests = inner.requests.lock().unwrap().clone();
    (seen, replied, requests)
}

fn refusal() -> ModelFailure {
    let kind = ModelFailureKind::ToolsUnsupported;
    ModelFailure::new(kind, Phase::BeforeFirstDelta, "no tools")
}

#[tokio::test]
async fn a_model_that_is_held_back_is_not_silent() {
    let (seen, replied, sent) = asked(ToolMode::Text, &request(), None).await;
    assert_eq!(replied.unwrap().finish, FinishReason::ToolCalls);
    assert_eq!(seen.text(), "Well.");
    // What showed nothing: the start of the block, two pieces, and its end; four bytes are a token.
    assert_eq!(seen.counts, [0, 10, 16, 16]);
    assert!(sent[0].tools.is_empty());
}

#[tokio::test]
async fn what_was_held_back_of_a_broken_reply_is_passed_on() {
    let broken = ModelFailure::new(ModelFailureKind::Interrupted, Phase::MidReply, "gone");
    for mode in [ToolMode::Auto, ToolMode::Text] {
        let (seen, replied, _) = asked(mode, &request(), Some(broken.clone())).await;
        assert_eq!(replied.unwrap_err().failure, broken);
        assert_eq!(seen.text(), CALL.concat());
    }
}

#[tokio::test]
async fn a_refusal_of_tools_is_answered_in_text_where_that_is_left() {
    let mut in_text = request();
    in_text.tools_as_text = true;
    for (mode, request, advice) in [
        (ToolMode::Auto, request(), RetryAdvice::AtOnce),
        (ToolMode::Auto, in_text, RetryAdvice::Never),
        (ToolMode::Native, request(), RetryAdvice::Never),
        (ToolMode::Text, request(), RetryAdvice::Never),
    ] {
        let (_, replied, sent) = asked(mode, &request, Some(refusal())).await;
        assert_eq!(replied.unwrap_err().failure.advice, advice, "{mode:?}");
        assert_eq!(sent.len(), 1);
    }
}

#[tokio::test]
async fn native_tools_and_replies_are_left_as_they_are() {
    let (seen, replied, sent) = asked(ToolMode::Native, &request(), None).await;
    assert_eq!(replied.unwrap().finish, FinishReason::Stop);
    assert_eq!(seen.text(), CALL.concat());
    assert_eq!(sent, [request()]);
    // In the middle, the request is native, and the reply is read.
    let (seen, replied, sent) = asked(ToolMode::Auto, &request(), None).await;
    assert_eq!(replied.unwrap().finish, FinishReason::ToolCalls);
    assert_eq!(seen.text(), "Well.");
    assert_eq!(sent, [request()]);
}

#[tokio::test]
async fn a_strict_request_is_not_sent_in_another_form() {
    let mut strict = request();
    strict.strict = Some(NoteEffect::Quality);
    let (_, replied, sent) = asked(ToolMode::Text, &strict, None).await;
    let failure = replied.unwrap_err().failure;
    assert_eq!(failure.kind, ModelFailureKind::Unsupported);
    assert!(
        failure.message.contains("tools as text"),
        "{}",
        failure.message
    );
    assert_eq!(sent, []);
}

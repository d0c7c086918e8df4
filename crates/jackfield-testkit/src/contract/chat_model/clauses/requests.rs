//! Clauses about the data that an adapter sends, and the data that it must not reveal.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel as _};
use jackfield_ports::credential::Credential;
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::lease::LeaseDeadline;
use serde_json::json;
use tokio::time::timeout;

use super::super::super::own_key::{OWN_KEY, assert_only_own_key, assert_refused_unsent};
use super::super::bench::{Bench, KEY, WatchedSink, error_text, request, tool};
use super::super::comparison::has_part;
use super::super::{
    ChatModelHarness, RequestPart, ScriptedFailure, ScriptedFailureKind, VendorReply, spans,
};
use crate::server::{Gate, RefusingPort, Response, TIME_LIMIT};

pub(in super::super) async fn one_call_makes_one_http_request<H: ChatModelHarness>(harness: &H) {
    let reply = Bench::new(harness)
        .await
        .render(&VendorReply::text(&["one ", "two"]));
    let failure = |kind| {
        harness
            .render_failure(&ScriptedFailure::new(kind))
            .response()
    };
    for (response, what) in [
        (reply.response(), "a reply"),
        (reply.first_pieces(1).cut_off(), "a reply that breaks off"),
        (Response::raw().cut_off(), "no answer"),
        (Response::new(307).header("location", "/v2"), "a redirect"),
        (
            failure(ScriptedFailureKind::RateLimited(None)),
            "a rate limit",
        ),
        (failure(ScriptedFailureKind::Overloaded), "an overload"),
        (failure(ScriptedFailureKind::ServerError), "an error"),
        (failure(ScriptedFailureKind::Unauthenticated), "a wrong key"),
    ] {
        let bench = Bench::new(harness).await;
        let _asked = bench.call(response).await;
        assert_eq!(bench.server.requests().len(), 1, "after {what}");
    }
}

pub(in super::super) async fn a_call_is_not_sent_after_its_lease<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let fine = bench.render(&VendorReply::text(&["fine"]));
    let lease = LeaseDeadline::at(Instant::now() + TIME_LIMIT);
    let call = CallContext::new(lease.clone());
    let request = bench.request();
    bench.answer(fine.response());
    let mut sink = WatchedSink::new();
    let made = bench.call_in(&request, &call, &mut sink).await;
    assert!(made.is_ok(), "the lease lasts: {made:?}");
    lease.end_now();
    bench.answer(fine.response());
    let Err(error) = bench.call_in(&request, &call, &mut sink).await else {
        panic!("a call was made after the lease of its session");
    };
    let failure = error.failure;
    assert_eq!(failure.phase, Phase::BeforeSend, "{failure:?}");
    assert_eq!(bench.server.requests().len(), 1, "it was sent");
}

pub(in super::super) async fn dropping_the_call_closes_the_connection<H: ChatModelHarness>(
    harness: &H,
) {
    let (before, inside) = (Gate::new(), Gate::new());
    let bench = Bench::new(harness).await;
    let wire = bench.render(&VendorReply::text(&["one ", "two ", "three"]));
    let within = wire.first_pieces(wire.ending - 1).pause(&inside);
    for (response, gate) in [(Response::raw().pause(&before), before), (within, inside)] {
        let bench = Bench::new(harness).await;
        bench.answer(response);
        let request = bench.request();
        let mut sink = WatchedSink::new();
        tokio::select! {
            result = bench.call_into(&request, &mut sink) => {
                panic!("the answer is still coming, but the call ended: {result:?}")
            }
            () = gate.reached() => {}
        }
        bench.server.closed_by_client(0).await;
    }
}

pub(in super::super) async fn own_keys_replace_the_adapters_or_are_refused<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let fine = bench.render(&VendorReply::text(&["fine"]));
    bench.answer(fine.response());
    let mut sink = OwnKeySink(Credential::new(OWN_KEY));
    let request = bench.request();
    let call = CallContext::default();
    let replying = bench.model.reply(&request, &call, &mut sink);
    let Ok(replied) = timeout(TIME_LIMIT, replying).await else {
        panic!("the call has to end");
    };
    if !bench.model.takes_credentials() {
        let Err(error) = replied else {
            panic!("the adapter takes no keys of people, but answers with one: {replied:?}");
        };
        assert_refused_unsent(&error.failure, &bench.server);
        return;
    }
    assert!(replied.is_ok(), "the own key was refused: {replied:?}");
    assert_only_own_key(&bench.server.request(0).await, KEY);
}

/// A sink of a person with an own key.
struct OwnKeySink(Credential);

#[async_trait]
impl DeltaSink for OwnKeySink {
    async fn push(&mut self, _delta: Delta) {}

    fn credential(&self) -> Option<&Credential> {
        Some(&self.0)
    }
}

pub(in super::super) async fn undeclared_capability_is_refused<H: ChatModelHarness>(harness: &H) {
    let can = harness.capabilities();
    let bench = Bench::new(harness).await;
    assert_eq!(bench.model.capabilities(), can, "as documented");
    let plain = || request(harness.model(), false);
    let mut cases: Vec<(&str, ModelRequest)> = Vec::new();
    for (media_type, content) in media() {
        if !takes(can, &content) {
            cases.push((media_type, with_content(plain(), content)));
        }
    }
    if !can.tools {
        cases.push(("tools", request(harness.model(), true)));
    } else if !can.forced_tools {
        let mut forced = request(harness.model(), true);
        forced.choice = ToolChoice::Required;
        cases.push(("forced_tools", forced));
        let mut named = request(harness.model(), true);
        named.choice = ToolChoice::Named(tool("weather").name.clone());
        cases.push(("forced_tools", named));
    }
    if !can.structured_output {
        cases.push((
            "structured_output",
            with_settings(plain(), |settings| {
                settings.response_format = ResponseFormat::JsonSchema {
                    description: None,
                    name: "city".into(),
                    schema: Arc::new(json!({ "type": "object" })),
                    strict: Some(true),
                };
            }),
        ));
    }
    if !can.reasoning {
        cases.push((
            "reasoning",
            with_settings(plain(), |settings| {
                settings.effort = Some(Effort::High);
                settings.thinking = Some(ThinkingMode::Adaptive);
            }),
        ));
    }
    for (what, request) in cases {
        let bench = Bench::new(harness).await;
        let wire = bench.render(&VendorReply::text(&["fine"]));
        bench.answer(wire.response());
        let asked = bench.call_with(&request).await;
        if let Ok(end) = &asked.result {
            assert!(
                !end.notes.is_empty(),
                "`{what}` was sent or dropped without a note"
            );
            // A strict request fails in place of a note.
            let mut strict = request;
            strict.strict = Some(NoteEffect::Cosmetic);
            bench.answer(wire.response());
            let failure = bench.call_with(&strict).await.failure();
            assert_eq!(
                (failure.kind, failure.phase),
                (ModelFailureKind::Unsupported, Phase::BeforeSend),
                "`{what}`: {failure:?}"
            );
            assert_eq!(bench.server.requests().len(), 1, "`{what}` was sent");
            continue;
        }
        let failure = asked.failure();
        assert_eq!(
            failure.kind,
            ModelFailureKind::Unsupported,
            "`{what}`: {failure:?}"
        );
        assert_eq!(failure.phase, Phase::BeforeSend, "`{what}`: {failure:?}");
        assert_eq!(failure.advice, RetryAdvice::Never, "`{what}`: {failure:?}");
        assert_eq!(bench.server.requests().len(), 0, "`{what}` was sent");
    }
}

pub(in super::super) async fn declared_media_are_sent<H: ChatModelHarness>(harness: &H) {
    let can = harness.capabilities();
    let bench = Bench::new(harness).await;
    for (media_type, content) in media()
        .into_iter()
        .filter(|(_, content)| takes(can, content))
    {
        let request = with_content(request(harness.model(), false), content);
        let Some(sent) = bench.sent(&request).await else {
            panic!("{media_type} is declared and refused");
        };
        assert!(
            sent.text.contains(MEDIA),
            "{media_type} is declared, and its data are not sent\n{sent}"
        );
        let _typed = has_part(
            harness,
            RequestPart::MediaType,
            sent.text.contains(media_type),
        );
    }
}

pub(in super::super) async fn secrets_never_reach_debug_or_errors<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let (recording, guard) = spans::record();
    assert_secret_hidden("`Debug` of the adapter", &format!("{:?}", bench.model));
    let wire = bench.render(&VendorReply::text(&["one ", "two"]));
    let reply = bench.call(wire.response()).await;
    assert_secret_hidden("the reply", &format!("{reply:?}"));
    let _reply = reply.reply();
    let seen = bench.server.request(0).await;
    assert_secret_hidden("the URL", &seen.path);
    assert!(
        seen.headers.iter().any(|(_, value)| value.contains(KEY)),
        "the key was not sent at all"
    );
    // Servers often repeat the invalid key.
    let echo = ScriptedFailure {
        kind: ScriptedFailureKind::Unauthenticated,
        message: format!("invalid key: {KEY}"),
    };
    let mut responses = vec![
        harness.render_failure(&echo).response(),
        Response::text(500, echo.message.clone()),
        Response::html(403, format!("<html>{KEY}</html>")),
        Response::json(200, format!("{{\"{KEY}\"")),
        Response::new(302).header("location", format!("/?key={KEY}")),
    ];
    if let Some(event) = harness.render_failure_event(&echo) {
        let last = wire.ending - 1;
        responses.push(wire.with_piece(last, event).first_pieces(last + 1));
    }
    for response in responses {
        let error = bench.call(response).await.error();
        assert_secret_hidden("an error", &error_text(&error));
    }
    let port = RefusingPort::reserve();
    let refused = Bench {
        model: harness.connect(&port.base_url(), KEY),
        ..Bench::new(harness).await
    };
    let error = refused.call_with(&refused.request()).await.error();
    assert_secret_hidden("an error", &error_text(&error));
    drop(guard);
    for told in recording.records() {
        assert_secret_hidden("a span or an event", &format!("{:?}", told.fields));
    }
}

pub(in super::super) async fn spans_carry_provider_and_model<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let wire = bench.render(&VendorReply::text(&["one ", "two"]));
    let failure = harness.render_failure(&ScriptedFailure::new(ScriptedFailureKind::Overloaded));
    for response in [wire.response(), failure.response()] {
        let (recording, guard) = spans::record();
        let _asked = bench.call(response).await;
        drop(guard);
        let spans = recording.records();
        assert!(
            spans.iter().any(|span| {
                span.has("gen_ai.operation.name", "chat")
                    && span.has("gen_ai.provider.name", harness.provider())
                    && span.has("gen_ai.request.model", harness.model())
            }),
            "{spans:?}"
        );
    }
}

#[track_caller]
fn assert_secret_hidden(what: &str, text: &str) {
    assert!(!text.contains(KEY), "{what} tells the key: {text}");
}

/// One of each kind of media, with its type.
fn media() -> [(&'static str, Content); 3] {
    let source = |media_type: &str| MediaSource::Base64 {
        data: MEDIA.into(),
        media_type: media_type.into(),
    };
    [
        (
            "audio/wav",
            Content::Audio(Audio {
                source: source("audio/wav"),
                transcript: None,
            }),
        ),
        (
            "application/pdf",
            Content::Document(Document {
                cite: false,
                context: None,
                source: source("application/pdf"),
                title: None,
            }),
        ),
        (
            "image/png",
            Content::Image(Image {
                detail: None,
                source: source("image/png"),
            }),
        ),
    ]
}

/// Whether these capabilities include this content.
const fn takes(can: Capabilities, content: &Content) -> bool {
    match content {
        Content::Audio(_) => can.audio,
        Content::Document(_) => can.documents,
        Content::Image(_) => can.images,
        Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => true,
    }
}

/// The data of all media.
const MEDIA: &str = "Y29udHJhY3Q=";

/// The request, with a further message that contains this content.
fn with_content(mut request: ModelRequest, content: Content) -> ModelRequest {
    let blocks = vec![Block::text("What is this?"), content.into()];
    request.messages = [Message::new(Role::User, blocks)].into_iter().collect();
    request
}

/// The request, with other settings.
fn with_settings(mut request: ModelRequest, change: impl FnOnce(&mut Settings)) -> ModelRequest {
    change(Arc::make_mut(&mut request.settings));
    request
}

//! The scripted model.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolCallId, ToolName, TurnId};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Messages, Role};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::{OpaqueState, StateScope};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{Effort, ResponseFormat, Settings};
use jackfield_domain::tool::{Catalog, ToolChoice};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::Capabilities;
use jackfield_testkit::arb;
use jackfield_testkit::fakes::{Gate, ScriptedModel, ScriptedReply};
use proptest::prelude::*;

use super::{complaint, is_ready};

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: Messages::from_iter(messages),
        model: ModelRef {
            model: "m".into(),
            provider: "p".into(),
        },
        turn: None,
        settings: Arc::default(),
        strict: None,
        system: Arc::default(),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

fn hello() -> ModelRequest {
    request(vec![Message::user("hello")])
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime
        .unwrap_or_else(|error| panic!("{error}"))
        .block_on(future)
}

#[test]
fn a_model_says_its_replies_in_order_and_in_valid_pieces() {
    let model = ScriptedModel::new();
    model
        .push_reply(ScriptedReply::calls([("a", "{\"n\": 1}"), ("b", "")]).with_text("and so on"))
        .push_reply(ScriptedReply::text("привет"));
    let port = model.port();
    let turn = TurnId::derive(&SessionId::parse("s").expect("a valid id"), 1);
    let mut replies = Vec::new();
    for round in 1..3 {
        let mut deltas: Vec<Delta> = Vec::new();
        let end =
            block_on(port.reply(&hello(), &CallContext::default(), &mut deltas)).expect("a reply");
        let attempt = ModelAttempt { round, attempt: 1 };
        let mut reply = ReplyAccumulator::new(turn.clone(), attempt);
        for delta in &deltas {
            reply.push(delta).expect("a valid piece");
        }
        let reply = reply.finish(end, &Catalog::default());
        replies.push(reply.expect("a whole reply"));
    }
    let [calls, text] = &replies[..] else {
        panic!("{replies:?}");
    };
    let raw: Vec<_> = calls
        .message
        .calls()
        .map(|call| call.name.as_str())
        .collect();
    assert_eq!(
        (raw, calls.message.to_text()),
        (vec!["a", "b"], "and so on".to_owned())
    );
    assert_eq!(calls.end.finish, FinishReason::ToolCalls);
    assert_eq!(text.message.to_text(), "привет");
    assert_eq!((model.requests().len(), model.remaining_replies()), (2, 0));
}

#[test]
fn a_model_refuses_reasons_and_calls_with_text() {
    let owner = ScriptedModel::new().port().state_owner("m");
    let state = OpaqueState {
        kind: "signature".into(),
        json: "s".into(),
        owner,
        scope: StateScope::Block,
    };
    let model = ScriptedModel::new();
    model
        .push_reply(ScriptedReply::refusal("not that"))
        .push_reply(
            ScriptedReply::custom_call("note", "{\"a\": 1}").reasoning("hm", state.clone()),
        );
    let port = model.port();
    let mut blocks = Vec::new();
    for round in 1..3 {
        let mut deltas: Vec<Delta> = Vec::new();
        let end =
            block_on(port.reply(&hello(), &CallContext::default(), &mut deltas)).expect("a reply");
        let turn = TurnId::derive(&SessionId::parse("s").expect("a valid id"), 1);
        let mut reply = ReplyAccumulator::new(turn, ModelAttempt { round, attempt: 1 });
        for delta in &deltas {
            reply.push(delta).expect("a valid piece");
        }
        let reply = reply.finish(end, &Catalog::default());
        blocks.extend(reply.expect("a whole reply").message.blocks.clone());
    }
    let [refusal, call, thinking] = &blocks[..] else {
        panic!("{blocks:?}");
    };
    assert_eq!(refusal.content, Content::Refusal("not that".into()));
    let Content::ToolCall(call) = &call.content else {
        panic!("{call:?}");
    };
    assert_eq!(call.input, ToolInput::Text("{\"a\": 1}".into()));
    assert_eq!(thinking.opaque, [state]);
}

#[test]
fn what_the_model_cannot_be_asked_is_unsupported() {
    let with = |settings: Settings| ModelRequest {
        settings: Arc::new(settings),
        ..hello()
    };
    let reasoning = with(Settings {
        effort: Some(Effort::High),
        ..Settings::default()
    });
    let structured = with(Settings {
        response_format: ResponseFormat::JsonObject,
        ..Settings::default()
    });
    let image = Content::Image(Image {
        detail: None,
        source: MediaSource::Base64 {
            data: "AAAA".into(),
            media_type: "image/png".into(),
        },
    });
    let picture = request(vec![Message::new(Role::User, vec![image.into()])]);
    for (request, what) in [
        (&reasoning, "`reasoning`"),
        (&structured, "`structured_output`"),
        (&picture, "`images`"),
    ] {
        let model = ScriptedModel::with_capabilities(Capabilities::NONE);
        model.push_reply(ScriptedReply::text("fine"));
        let error = block_on(
            model
                .port()
                .reply(request, &CallContext::default(), &mut Vec::new()),
        )
        .unwrap_err();
        assert_eq!(error.failure.kind, ModelFailureKind::Unsupported);
        assert_eq!(error.failure.phase, Phase::BeforeSend);
        assert!(error.failure.message.contains(what), "{error}");
        let able = ScriptedModel::new();
        able.push_reply(ScriptedReply::text("fine"));
        assert!(
            block_on(
                able.port()
                    .reply(request, &CallContext::default(), &mut Vec::new())
            )
            .is_ok()
        );
    }
}

#[test]
fn a_request_that_is_strict_about_a_note_is_unsupported() {
    let note = Note::new(NoteKind::Dropped, NoteEffect::Cost, "code", "settings.seed");
    for (strict, refused) in [
        (None, false),
        (Some(NoteEffect::Cosmetic), true),
        (Some(NoteEffect::Cost), true),
        (Some(NoteEffect::Quality), false),
    ] {
        let model = ScriptedModel::new();
        model.push_reply(ScriptedReply::text("fine").with_note(note.clone()));
        let mut request = hello();
        request.strict = strict;
        let asked = block_on(model.port().reply(
            &request,
            &CallContext::default(),
            &mut Vec::new(),
        ));
        match asked {
            Ok(end) => {
                assert!(!refused, "{strict:?}");
                assert_eq!(end.notes, std::slice::from_ref(&note));
            }
            Err(error) => {
                assert!(refused, "{strict:?}");
                assert_eq!(error.failure.phase, Phase::BeforeSend);
                assert!(error.failure.message.contains("settings.seed"), "{error}");
            }
        }
    }
}

#[test]
fn a_failure_comes_after_the_pieces_before_it() {
    let failure = ModelFailure::new(ModelFailureKind::Interrupted, Phase::MidReply, "gone");
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("so far").failing(failure.clone()));
    model.push_reply(ScriptedReply::failure(failure.clone()));
    let port = model.port();
    for pieces in [4, 0] {
        let mut deltas: Vec<Delta> = Vec::new();
        let error = block_on(port.reply(&hello(), &CallContext::default(), &mut deltas))
            .expect_err("a failure");
        assert_eq!((error.failure, deltas.len()), (failure.clone(), pieces));
    }
}

#[tokio::test]
async fn a_held_reply_waits_for_its_gate() {
    let (model, gate) = (ScriptedModel::new(), Gate::new());
    model.push_reply(ScriptedReply::text("abcd").held_after(2, &gate));
    let port = model.port();
    let reply = tokio::spawn(async move {
        let mut deltas: Vec<Delta> = Vec::new();
        port.reply(&hello(), &CallContext::default(), &mut deltas)
            .await
            .map(|_| deltas.len())
    });
    gate.reached().await;
    assert!(!reply.is_finished());
    gate.open();
    assert_eq!(reply.await.expect("no panic").expect("a reply"), 4);
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_makes_nobody_impatient_at_a_gate() {
    let (model, gate) = (ScriptedModel::new(), Gate::new());
    model.push_reply(ScriptedReply::text("late").held_at(&gate));
    let port = model.port();
    let reply = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        port.reply(&hello(), &CallContext::default(), &mut Vec::<Delta>::new())
            .await
    });
    gate.reached().await;
    gate.open();
    assert!(reply.await.expect("no panic").is_ok());
}

#[test]
fn a_dropped_call_counts() {
    let (model, gate) = (ScriptedModel::new(), Gate::new());
    model.push_reply(ScriptedReply::text("abcd").held_at(&gate));
    let (port, mut deltas) = (model.port(), Vec::new());
    assert!(!is_ready(port.reply(
        &hello(),
        &CallContext::default(),
        &mut deltas
    )));
    assert_eq!(
        (model.dropped(), deltas.len(), gate.is_reached()),
        (1, 0, true)
    );
}

#[test]
fn a_request_that_breaks_a_rule_is_refused_and_fails_the_test() {
    let refusal = Block::from(Content::Refusal("I begin".into()));
    let alone = Message::new(Role::Assistant, vec![refusal]);
    let unpaired = calling();
    let named = ModelRequest {
        choice: ToolChoice::Named(ToolName::parse("gone").expect("a valid name")),
        ..hello()
    };
    let cases = [
        (request(Vec::new()), "no message"),
        (request(vec![alone]), "model's own"),
        (request(vec![Message::user("do"), unpaired]), "no outcome"),
        (named, "no such tool"),
    ];
    for (request, word) in cases {
        let model = ScriptedModel::new();
        model.push_reply(ScriptedReply::text("never said"));
        let refused = block_on(model.port().reply(
            &request,
            &CallContext::default(),
            &mut Vec::<Delta>::new(),
        ));
        let kind = refused.map_err(|error| error.failure.kind);
        assert_eq!(kind, Err(ModelFailureKind::InvalidRequest), "{word}");
        let complaint = complaint(model).unwrap_or_default();
        assert!(complaint.contains(word), "{complaint}");
    }
}

#[test]
fn a_request_too_many_fails_the_test_unless_it_is_expected() {
    let model = ScriptedModel::new();
    let port = model.port();
    assert!(
        block_on(port.reply(&hello(), &CallContext::default(), &mut Vec::<Delta>::new())).is_err()
    );
    let violations = model.take_violations();
    assert!(
        violations[0].contains("no reply in the script"),
        "{violations:?}"
    );
    assert_eq!(complaint(model), None);
}

/// A reply with a call of the engine's.
fn calling() -> Message {
    let id = ToolCallId::parse("c").unwrap_or_else(|invalid| panic!("{invalid}"));
    let call = Content::ToolCall(Arc::new(ToolCall {
        id,
        input: ToolInput::Json(JsonInput::parse("{}")),
        name: CalledName::new("act"),
        ran_by: RanBy::Engine,
        upstream: None,
    }));
    Message::new(Role::Assistant, vec![call.into()])
}

proptest! {
    #[test]
    fn a_valid_request_is_answered(request in arb::model_request()) {
        let model = ScriptedModel::new();
        model.push_reply(ScriptedReply::text("yes"));
        let answered = block_on(model.port().reply(&request, &CallContext::default(), &mut Vec::<Delta>::new()));
        prop_assert!(answered.is_ok(), "{:?}", model.take_violations());
    }
}

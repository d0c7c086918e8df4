//! Clauses about the vendor's data that is sent back, and to which owners it is not sent.

use jackfield_domain::block::{Block, Content, Thinking};
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::request::ModelRequest;
use jackfield_ports::chat_model::ChatModel as _;
use serde_json::json;

use super::super::bench::{Bench, request as request_of, request_with};
use super::super::comparison::has_part;
use super::super::reply_meaning::ReplyMeaning;
use super::super::rounds::Talk;
use super::super::{
    BlockKind, ChatModelHarness, EchoedPart, EchoedReasoning, Manner, RequestPart, ScriptedBlock,
    VendorReply,
};
use super::scripts::{for_manner, with_calls};

pub(in super::super) async fn calls_and_outcomes_go_back_in_pairs<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    for script in with_calls(harness) {
        let mut talk = Talk::new(&bench);
        talk.round(&bench.render(&script)).await;
        let sent = talk.sent_in_pairs().await;
        let back: Vec<&str> = sent.echo.calls().map(|call| &*call.id).collect();
        if has_part(
            harness,
            RequestPart::CallId,
            back.iter().any(|id| !id.is_empty()),
        ) {
            assert_eq!(back, ids(&script), "the vendor's own ids go back to it");
        }
    }
}

pub(in super::super) async fn calls_with_unusable_ids_are_kept_apart<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    for manner in [Manner::IdEmpty, Manner::IdMissing, Manner::IdSame] {
        for script in for_manner(harness, manner) {
            let Some(wire) = bench.render_if_possible(&script) else {
                break;
            };
            let mut talk = Talk::new(&bench);
            talk.round(&wire).await;
            assert_eq!(
                ReplyMeaning::from_reply(&talk.replies[0]),
                ReplyMeaning::from_script(harness, &script),
                "{script:?}"
            );
            let _sent = talk.sent_in_pairs().await;
        }
    }
    // A vendor that numbers the calls of each reply from the start.
    for script in with_calls(harness) {
        let wire = bench.render(&script);
        let mut talk = Talk::new(&bench);
        for _ in 0..3 {
            talk.round(&wire).await;
        }
        let _sent = talk.sent_in_pairs().await;
    }
}

pub(in super::super) async fn reasoning_goes_back_as_it_came<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let rounds = [
        (
            ["First ", "the weather."].as_slice(),
            "st4te-of-the-first+/=",
        ),
        (&[], "st4te-of-the-second"),
        (&["Then the clock 🕰."], "st4te-of-the-third"),
    ];
    let mut talk = Talk::new(&bench);
    let (mut expected, mut is_said) = (Vec::new(), Vec::new());
    for (nth, (pieces, state)) in rounds.into_iter().enumerate() {
        let mut blocks = vec![ScriptedBlock::reasoning(pieces, state)];
        if harness.capabilities().tools {
            let id = format!("call_{nth}");
            blocks.push(ScriptedBlock::call(&id, "weather", &[r#"{"city":"Oslo"}"#]));
        } else {
            blocks.push(ScriptedBlock::text(&["Fine."]));
        }
        let script = VendorReply::from_blocks(blocks);
        let Some(wire) = bench.with_block(BlockKind::Reasoning, &script) else {
            return;
        };
        let has_state = wire.contains(state);
        talk.round(&wire).await;
        let told = ReplyMeaning::from_reply(&talk.replies[nth]);
        assert_eq!(told.reasoning, pieces.concat());
        // Without words and without state there is nothing to give back.
        let says_something = has_state || !pieces.is_empty();
        is_said.push(says_something);
        if says_something {
            expected.push((pieces.concat(), has_state.then_some(state)));
        }
    }
    let sent = talk.sent_in_pairs().await;
    let says_something = |back: &&EchoedReasoning| {
        back.state.is_some() || back.text.as_ref().is_some_and(|text| !text.is_empty())
    };
    let returned: Vec<_> = sent.echo.reasoning().filter(says_something).collect();
    assert_eq!(
        returned.len(),
        expected.len(),
        "the blocks of reasoning\n{sent}"
    );
    for (back, (text, state)) in returned.into_iter().zip(expected) {
        assert_eq!(
            back.state.as_deref(),
            state,
            "the state of reasoning\n{sent}"
        );
        assert!(
            back.text
                .as_ref()
                .map_or_else(|| state.is_some(), |back| *back == text),
            "reasoning without state goes back in words, and unchanged\n{sent}"
        );
    }
    let (mut reasoned, mut is_said) = (false, is_said.into_iter());
    for part in &sent.echo.parts {
        match part {
            EchoedPart::Reasoning(_) => reasoned = true,
            EchoedPart::Call(_) => {
                let is_needed = is_said.next() == Some(true);
                assert!(
                    reasoned || !is_needed,
                    "reasoning stands before its call\n{sent}"
                );
                reasoned = false;
            }
            EchoedPart::Outcome(_) | EchoedPart::Text(_) => {}
        }
    }
}

pub(in super::super) async fn state_of_texts_and_calls_goes_back_as_it_came<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    for kind in [BlockKind::CallWithState, BlockKind::TextWithState] {
        let Some((talk, expected)) = talk_with_state(&bench, kind).await else {
            continue;
        };
        let sent = talk.sent_in_pairs().await;
        let calls = sent.echo.calls().map(|call| call.state.as_deref());
        let texts = sent.echo.model_texts().map(|text| text.state.as_deref());
        let said: Vec<Option<&str>> = if kind == BlockKind::CallWithState {
            calls.collect()
        } else {
            texts.collect()
        };
        assert_eq!(said.len(), expected.len(), "the number of {kind:?}\n{sent}");
        for (said, expected) in said.into_iter().zip(expected) {
            // A vendor may have state of its own where none was scripted.
            let own = expected.is_none() && said.is_some_and(|state| !state.contains("st4te"));
            assert!(
                said == expected || own,
                "the state {expected:?} went back as {said:?}\n{sent}"
            );
        }
    }
}

/// A conversation in which some blocks of a kind have state, and these states in order; `None` if the vendor has none.
async fn talk_with_state<'a, 'b, H: ChatModelHarness>(
    bench: &'a Bench<'b, H>,
    kind: BlockKind,
) -> Option<(Talk<'a, 'b, H>, Vec<Option<&'static str>>)> {
    let mut talk = Talk::new(bench);
    let mut expected = Vec::new();
    for (nth, state) in [
        Some("st4te-of-the-first+/=="),
        None,
        Some("st4te-of-the-last"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut blocks = blocks_for(bench.harness, kind, nth);
        expected.push(state);
        expected.resize(expected.len() + blocks.len() - 1, None);
        if let Some(state) = state {
            blocks[0] = blocks[0].clone().with_state(state);
        }
        let wire = bench.with_block(kind, &VendorReply::from_blocks(blocks))?;
        talk.round(&wire).await;
    }
    Some((talk, expected))
}

/// The blocks of a reply, of which the first may have state.
fn blocks_for<H: ChatModelHarness>(harness: &H, kind: BlockKind, nth: usize) -> Vec<ScriptedBlock> {
    if kind != BlockKind::CallWithState {
        return vec![ScriptedBlock::text(&["I shall ", "look."])];
    }
    let call = |tool| {
        let id = format!("call_{tool}_{nth}");
        ScriptedBlock::call(&id, tool, &[r#"{"city":"Oslo"}"#])
    };
    let mut blocks = vec![call("weather")];
    if harness.capabilities().parallel_calls {
        blocks.push(call("clock"));
    }
    blocks
}

pub(in super::super) async fn state_of_another_owner_is_withheld_and_noted<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let own = bench.model.state_owner(harness.model());
    let of = |change: fn(&mut StateOwner)| {
        let mut owner = own.clone();
        change(&mut owner);
        owner
    };
    let others = [
        of(|owner| owner.dialect = "elsewhere".into()),
        of(|owner| owner.endpoint = "https://elsewhere.example".into()),
        of(|owner| owner.model = "another-model".into()),
    ];
    let mut requests = vec![with_reasoning(&bench).await];
    for kind in [BlockKind::CallWithState, BlockKind::TextWithState] {
        requests.extend(
            talk_with_state(&bench, kind)
                .await
                .map(|(talk, _)| talk.request()),
        );
    }
    for (request, other) in requests
        .iter()
        .flat_map(|one| others.iter().map(move |other| (one, other)))
    {
        let Some(sent) = bench.sent(&owned_by(request, other)).await else {
            panic!("a conversation with another owner's state is refused");
        };
        assert!(
            !sent.text.contains("st4te"),
            "the state of {other:?} was sent\n{sent}"
        );
        assert!(
            sent.notes
                .iter()
                .any(|note| note.path.starts_with("messages")),
            "the state of {other:?} was withheld without a note\n{sent}"
        );
    }
}

pub(in super::super) async fn strict_requests_are_refused_where_others_are_noted<
    H: ChatModelHarness,
>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let fine = bench.render(&VendorReply::text(&["fine"]));
    let elsewhere = StateOwner {
        dialect: "elsewhere".into(),
        endpoint: "https://elsewhere.example".into(),
        model: "another-model".into(),
    };
    let mut request = owned_by(&with_reasoning(&bench).await, &elsewhere);
    bench.answer(fine.response());
    let noted = bench.call_with(&request).await.reply().end.notes;
    let worst = noted.iter().map(|note| note.effect).max();
    assert!(worst.is_some(), "what was left out has to be noted");
    let before = bench.server.requests().len();
    for least in [
        NoteEffect::Cosmetic,
        NoteEffect::Cost,
        NoteEffect::Quality,
        NoteEffect::Meaning,
    ] {
        if worst < Some(least) {
            continue;
        }
        request.strict = Some(least);
        bench.answer(fine.response());
        let failure = bench.call_with(&request).await.failure();
        assert_eq!(failure.kind, ModelFailureKind::Unsupported, "{failure:?}");
        assert_eq!(failure.phase, Phase::BeforeSend, "{failure:?}");
        assert_eq!(failure.advice, RetryAdvice::Never, "{failure:?}");
        let mut paths = noted.iter().map(|note| &*note.path);
        assert!(
            paths.any(|path| failure.message.contains(path)),
            "the message has to say where: {failure:?}, {noted:?}"
        );
        assert_eq!(bench.server.requests().len(), before, "it was sent");
    }
    // A request without losses is not refused at any strictness; nor is one with smaller losses.
    // Sent without tools: some models cannot be offered any without a note.
    let mut plain = request_of(harness.model(), false);
    plain.strict = Some(NoteEffect::Cosmetic);
    let _reply = bench.call_with(&plain).await.reply();
    if worst < Some(NoteEffect::Meaning) {
        request.strict = Some(NoteEffect::Meaning);
        bench.answer(fine.response());
        let _reply = bench.call_with(&request).await.reply();
    }
}

/// A conversation with reasoning: the vendor's own if it sends any with state.
async fn with_reasoning<H: ChatModelHarness>(bench: &Bench<'_, H>) -> ModelRequest {
    let own = bench.model.state_owner(bench.harness.model());
    let reasoning = ScriptedBlock::reasoning(&["Let me see."], STATE);
    let script = VendorReply::from_blocks(vec![reasoning, ScriptedBlock::text(&["It is cold."])]);
    let block = Block {
        opaque: vec![OpaqueState {
            kind: "signature".into(),
            json: json!(STATE),
            owner: own,
            scope: StateScope::Block,
        }],
        ..Content::Thinking(Thinking {
            redacted: false,
            text: "Let me see.".into(),
        })
        .into()
    };
    let mut answer = Message::new(Role::Assistant, vec![block, Block::text("It is cold.")]);
    if let Some(wire) = bench.with_block(BlockKind::Reasoning, &script)
        && wire.contains(STATE)
    {
        answer = Message::clone(&bench.call(wire.response()).await.reply().message);
    }
    let messages = [
        Message::user("What is the weather in Oslo?"),
        answer,
        Message::user("And in Bergen?"),
    ];
    request_with(bench.harness.model(), &[], messages)
}

/// The request, with all state as that of this owner.
fn owned_by(request: &ModelRequest, owner: &StateOwner) -> ModelRequest {
    let messages = request.messages.iter().map(|message| {
        let mut message = Message::clone(message);
        let of_blocks = message
            .blocks
            .iter_mut()
            .flat_map(|block| &mut block.opaque);
        for state in of_blocks.chain(&mut message.opaque) {
            state.owner = owner.clone();
        }
        message
    });
    ModelRequest {
        messages: messages.collect(),
        ..request.clone()
    }
}

fn ids(script: &VendorReply) -> Vec<&str> {
    let ids = script.blocks.iter().filter_map(|block| match block {
        ScriptedBlock::CustomCall { id, .. } | ScriptedBlock::ToolCall { id, .. } => Some(&**id),
        ScriptedBlock::Reasoning { .. }
        | ScriptedBlock::Refusal(_)
        | ScriptedBlock::Text { .. } => None,
    });
    ids.collect()
}

/// A vendor's state that appears in no other text.
const STATE: &str = "st4te-that-is-owned";

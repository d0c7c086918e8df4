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
use super::super::reply_meaning::ReplyMeaning;
use super::super::rounds::Talk;
use super::super::{BlockKind, ChatModelHarness, Manner, ScriptedBlock, VendorReply, WireReply};
use super::scripts::{for_manner, with_calls};

pub(in super::super) async fn calls_and_outcomes_go_back_in_pairs<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    for script in with_calls(harness) {
        let mut talk = Talk::new(&bench);
        talk.round(&bench.render(&script)).await;
        let echo = talk.echo().await;
        talk.check_pairs(&echo);
        let sent: Vec<&str> = ids(&script);
        let back: Vec<&str> = echo.calls.iter().map(|call| &*call.id).collect();
        assert_eq!(back, sent, "the vendor's own ids go back to it");
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
                ReplyMeaning::from_script(&script),
                "{script:?}"
            );
            talk.check_pairs(&talk.echo().await);
        }
    }
    // A vendor that numbers the calls of each reply from the start.
    for script in with_calls(harness) {
        let wire = bench.render(&script);
        let mut talk = Talk::new(&bench);
        for _ in 0..3 {
            talk.round(&wire).await;
        }
        talk.check_pairs(&talk.echo().await);
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
    let mut expected = Vec::new();
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
        let has_state = contains(&wire, state);
        talk.round(&wire).await;
        let told = ReplyMeaning::from_reply(&talk.replies[nth]);
        assert_eq!(told.reasoning, pieces.concat());
        expected.push((pieces.concat(), has_state.then_some(state)));
    }
    let echo = talk.echo().await;
    if harness.capabilities().tools {
        talk.check_pairs(&echo);
    }
    assert_eq!(echo.reasoning.len(), expected.len(), "{echo:?}");
    for (back, (text, state)) in echo.reasoning.iter().zip(expected) {
        assert_eq!(back.state.as_deref(), state, "{echo:?}");
        assert!(
            back.text
                .as_ref()
                .map_or_else(|| state.is_some(), |back| *back == text),
            "reasoning without state goes back in words, and unchanged: {echo:?}"
        );
    }
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
    for other in others {
        let request = with_state_of(&bench, &other).await;
        let fine = bench.render(&VendorReply::text(&["fine"]));
        bench.server.answer(fine.response());
        let before = bench.server.requests().len();
        let reply = bench.call_with(&request).await.reply();
        let sent = bench.server.request(before).await.text();
        assert!(
            !sent.contains(STATE),
            "the state of {other:?} was sent: {sent}"
        );
        assert!(
            reply
                .end
                .notes
                .iter()
                .any(|note| note.path.starts_with("messages")),
            "the state of {other:?} was withheld without a note: {:?}",
            reply.end.notes
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
    let mut request = with_state_of(&bench, &elsewhere).await;
    bench.server.answer(fine.response());
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
        bench.server.answer(fine.response());
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
        bench.server.answer(fine.response());
        let _reply = bench.call_with(&request).await.reply();
    }
}

/// A conversation with reasoning of this owner: the vendor's own if it sends any.
async fn with_state_of<H: ChatModelHarness>(
    bench: &Bench<'_, H>,
    owner: &StateOwner,
) -> ModelRequest {
    let own = bench.model.state_owner(bench.harness.model());
    let reasoning = ScriptedBlock::reasoning(&["Let me see."], STATE);
    let script = VendorReply::from_blocks(vec![reasoning, ScriptedBlock::text(&["It is cold."])]);
    let block = Block {
        opaque: vec![OpaqueState {
            kind: "signature".into(),
            json: json!(STATE),
            owner: own.clone(),
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
        && contains(&wire, STATE)
    {
        answer = Message::clone(&bench.call(wire.response()).await.reply().message);
    }
    let of_blocks = answer.blocks.iter_mut().flat_map(|block| &mut block.opaque);
    for state in of_blocks.chain(&mut answer.opaque) {
        state.owner = owner.clone();
    }
    let messages = [
        Message::user("What is the weather in Oslo?"),
        answer,
        Message::user("And in Bergen?"),
    ];
    request_with(bench.harness.model(), &[], messages)
}

fn ids(script: &VendorReply) -> Vec<&str> {
    let ids = script.blocks.iter().filter_map(|block| match block {
        ScriptedBlock::CustomCall { id, .. } | ScriptedBlock::ToolCall { id, .. } => Some(&**id),
        ScriptedBlock::Reasoning { .. } | ScriptedBlock::Refusal(_) | ScriptedBlock::Text(_) => {
            None
        }
    });
    ids.collect()
}

fn contains(wire: &WireReply, text: &str) -> bool {
    String::from_utf8_lossy(&wire.pieces.concat()).contains(text)
}

/// A vendor's state that appears in no other text.
const STATE: &str = "st4te-that-is-owned";

//! The reply accumulator: any cutting of a reply gives that reply, and nothing else is taken.

use std::sync::Arc;

use jackfield_domain::accumulator::{ProtocolViolation, ReplyAccumulator};
use jackfield_domain::block::{Annotation, Block, Content, RanBy, Text};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolCallId, TurnId};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::tool::Catalog;
use jackfield_domain::tool_input::ToolInput;
use jackfield_testkit::arb;
use proptest::prelude::*;

const FIRST: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};

fn turn() -> TurnId {
    TurnId::derive(&SessionId::parse("s").expect("a valid id"), 1)
}

fn empty() -> ReplyAccumulator {
    ReplyAccumulator::new(turn(), FIRST)
}

fn taken(deltas: &[Delta]) -> ReplyAccumulator {
    let mut accumulator = empty();
    for delta in deltas {
        assert_eq!(accumulator.push(delta), Ok(()), "{delta:?}");
    }
    accumulator
}

fn finished(deltas: &[Delta]) -> Reply {
    let end = ReplyEnd::new(FinishReason::Stop);
    taken(deltas)
        .finish(end, &Catalog::default())
        .expect("a whole reply")
}

const fn start(index: u32, start: BlockStart) -> Delta {
    Delta::BlockStarted { index, start }
}

fn call_start(index: u32) -> Delta {
    let start = BlockStart::ToolCall {
        json: true,
        name: "read".into(),
        ran_by: RanBy::Engine,
        upstream: None,
    };
    Delta::BlockStarted { index, start }
}

fn words(index: u32, text: &str) -> Delta {
    let text = text.into();
    Delta::TextAppended { index, text }
}

fn arguments(index: u32, text: &str) -> Delta {
    let text = text.into();
    Delta::ArgumentsAppended { index, text }
}

const fn end(index: u32) -> Delta {
    Delta::BlockEnded { index }
}

fn remark(index: u32) -> Delta {
    let annotation = Annotation {
        json: serde_json::json!({}),
        dialect: "claude".into(),
        title: None,
        url: None,
    };
    Delta::AnnotationAdded { index, annotation }
}

fn state(index: u32, kind: &str, value: &str) -> Delta {
    let owner = StateOwner {
        dialect: "claude".into(),
        endpoint: "https://api.example".into(),
        model: "m".into(),
    };
    let state = OpaqueState {
        kind: kind.into(),
        json: value.into(),
        owner,
        scope: StateScope::Block,
    };
    Delta::StateSet { index, state }
}

/// Blocks of a reply, two cuttings of it, and its end.
fn cut_twice() -> impl Strategy<Value = (Vec<Block>, Vec<Delta>, Vec<Delta>, ReplyEnd)> {
    arb::reply_blocks(turn(), FIRST).prop_flat_map(|blocks| {
        let (one, two) = (arb::deltas_of(&blocks), arb::deltas_of(&blocks));
        (Just(blocks), one, two, arb::reply_end())
    })
}

proptest! {
    #[test]
    fn any_cutting_of_a_reply_gives_that_reply((blocks, one, two, end) in cut_twice()) {
        let finish = |deltas: &[Delta]| {
            taken(deltas).finish(end.clone(), &Catalog::default()).expect("a whole reply")
        };
        let reply = finish(&one);
        prop_assert_eq!(&reply.message.blocks, &blocks);
        prop_assert_eq!(&reply.message.opaque, &end.opaque);
        prop_assert_eq!(&reply.end, &end);
        prop_assert_eq!(finish(&two), reply);
    }

    #[test]
    fn what_does_not_fit_changes_nothing((_, deltas, others, _) in cut_twice(), picks in proptest::collection::vec(any::<(bool, u8)>(), 1..20)) {
        let mut accumulator = empty();
        let (mut deltas, mut ends) = (deltas.into_iter(), 0);
        for (foreign, pick) in picks {
            let delta = match deltas.next() {
                Some(delta) if !foreign => delta,
                _ => match others.get(usize::from(pick) % others.len().max(1)) {
                    Some(delta) => delta.clone(),
                    None => continue,
                },
            };
            let before = accumulator.clone();
            match accumulator.push(&delta) {
                Ok(()) => ends += u32::from(matches!(delta, Delta::BlockEnded { .. })),
                Err(_) => prop_assert_eq!(&accumulator, &before),
            }
        }
        // However it was got at, every block that has ended is there.
        if accumulator.check_ended().is_ok() {
            let end = ReplyEnd::new(FinishReason::Stop);
            let reply = accumulator.finish(end, &Catalog::default()).expect("all have ended");
            prop_assert_eq!(reply.message.blocks.len(), ends as usize);
        }
    }

    #[test]
    fn a_reply_that_lacks_a_pieces_end_is_not_whole((_, mut deltas, _, end) in cut_twice()) {
        let last = deltas.iter().rposition(|delta| matches!(delta, Delta::BlockEnded { .. }));
        if let Some(last) = last {
            let index = deltas.remove(last).index();
            let finished = taken(&deltas).finish(end, &Catalog::default());
            prop_assert_eq!(finished, Err(ProtocolViolation::NeverEnded { index }));
        }
    }
}

#[test]
fn pieces_that_break_the_rules_are_named() {
    let text = || start(0, BlockStart::Text);
    let whole_text = Content::Text(Text {
        annotations: Vec::new(),
        text: "x".into(),
    });
    let not_open = |index| ProtocolViolation::NotOpen { index };
    let wrong = |index| ProtocolViolation::WrongKind { index };
    for (before, piece, violation) in [
        (vec![], words(0, "x"), not_open(0)),
        (vec![], end(3), not_open(3)),
        (vec![], state(0, "k", "v"), not_open(0)),
        (vec![text()], words(1, "x"), not_open(1)),
        (vec![text(), end(0)], words(0, "x"), not_open(0)),
        (vec![text(), end(0)], end(0), not_open(0)),
        (
            vec![text()],
            call_start(0),
            ProtocolViolation::AlreadyOpen { index: 0 },
        ),
        (vec![text()], arguments(0, "{}"), wrong(0)),
        (vec![call_start(2)], words(2, "x"), wrong(2)),
        (vec![call_start(2)], remark(2), wrong(2)),
        (vec![start(0, BlockStart::Refusal)], remark(0), wrong(0)),
        (vec![], start(0, BlockStart::Whole(whole_text)), wrong(0)),
    ] {
        let mut accumulator = taken(&before);
        let untouched = accumulator.clone();
        assert_eq!(accumulator.push(&piece), Err(violation), "{piece:?}");
        assert_eq!(accumulator, untouched, "{piece:?}");
    }
}

#[test]
fn a_number_may_come_again_once_its_block_has_ended() {
    // As from servers that send every call under the number 0.
    let deltas = [
        call_start(0),
        arguments(0, "{\"n\":1}"),
        end(0),
        call_start(0),
        arguments(0, "{\"n\":2}"),
        end(0),
    ];
    let reply = finished(&deltas);
    let raw: Vec<String> = reply.message.calls().map(|call| raw(&call.input)).collect();
    assert_eq!(raw, ["{\"n\":1}", "{\"n\":2}"]);
}

#[test]
fn blocks_stand_in_the_order_of_their_starts_whatever_their_numbers() {
    let deltas = [
        start(u32::MAX, BlockStart::Text),
        start(0, BlockStart::Refusal),
        words(0, "no"),
        words(u32::MAX, "ye"),
        end(0),
        words(u32::MAX, "s"),
        end(u32::MAX),
    ];
    let message = finished(&deltas).message;
    let expected = vec![
        Block::text("yes"),
        Block::from(Content::Refusal("no".into())),
    ];
    assert_eq!(message.blocks, expected);
}

fn raw(input: &ToolInput) -> String {
    match input {
        ToolInput::Json(json) => json.raw().to_owned(),
        ToolInput::Text(text) => text.to_string(),
    }
}

#[test]
fn no_arguments_are_an_empty_object_and_malformed_ones_are_kept_as_text() {
    for (pieces, fields) in [
        (&[][..], Some(0)),
        (&["", " "][..], Some(0)),
        (&["{\"a\"", ": 1}"][..], Some(1)),
        (&["{\"a\"", ": 1"][..], None),
        (&["[]"][..], None),
    ] {
        let mut deltas = vec![call_start(0)];
        deltas.extend(pieces.iter().map(|text| arguments(0, text)));
        deltas.push(end(0));
        let reply = finished(&deltas);
        let call = reply.message.calls().next().expect("a call");
        let ToolInput::Json(input) = &call.input else {
            panic!("{call:?}")
        };
        assert_eq!(input.raw(), pieces.concat());
        assert_eq!(input.object().ok().map(|object| object.len()), fields);
    }
}

#[test]
fn the_id_of_a_call_depends_on_the_turn_the_try_and_the_place_alone() {
    let second = [
        start(0, BlockStart::Text),
        end(0),
        call_start(9),
        arguments(9, "{}"),
        end(9),
    ];
    let streamed = taken(&second);
    let id = ToolCallId::derive(&turn(), FIRST, 1);
    assert_eq!(streamed.call_id(9), Some(id.clone()));
    assert_eq!(streamed.call_id(0), None, "text has no id");
    assert_eq!(streamed.call_id(1), None, "it was never begun");
    let reply = finished(&second);
    assert_eq!(reply.message.calls().next().expect("a call").id, id);
    let other_turn = TurnId::derive(&SessionId::parse("s").expect("a valid id"), 2);
    let next = ModelAttempt {
        attempt: 2,
        ..FIRST
    };
    let others = [
        ToolCallId::derive(&turn(), FIRST, 0),
        ToolCallId::derive(&turn(), next, 1),
        ToolCallId::derive(&other_turn, FIRST, 1),
    ];
    assert!(!others.contains(&id));
}

#[test]
fn state_of_one_kind_is_replaced_and_of_another_is_added() {
    let deltas = [
        start(0, BlockStart::Thinking { redacted: false }),
        state(0, "signature", "a"),
        state(0, "id", "x"),
        state(0, "signature", "b"),
        end(0),
    ];
    let opaque = finished(&deltas).message.blocks[0].opaque.clone();
    let said: Vec<_> = opaque
        .iter()
        .map(|state| (&*state.kind, state.json.as_str().expect("a text")))
        .collect();
    assert_eq!(said, [("id", "x"), ("signature", "b")]);
}

#[test]
fn what_a_broken_reply_said_is_its_text_alone() {
    let deltas = [
        start(0, BlockStart::Thinking { redacted: false }),
        words(0, "hm"),
        end(0),
        start(1, BlockStart::Text),
        words(1, "First."),
        remark(1),
        state(1, "signature", "a"),
        end(1),
        call_start(2),
        arguments(2, "{"),
        start(3, BlockStart::Text),
        words(3, " \n"),
        start(4, BlockStart::Text),
        words(4, "Sec"),
    ];
    let partial = taken(&deltas).partial().expect("some text");
    let expected = vec![Block::text("First."), Block::text("Sec")];
    assert_eq!(partial.blocks, expected);
    assert_eq!(taken(&deltas[..3]).partial(), None);
    assert_eq!(empty().partial(), None);
}

#[test]
fn a_reply_is_visible_from_its_first_word_or_call() {
    let text = start(0, BlockStart::Text);
    assert!(!taken(&[text.clone(), words(0, "")]).is_visible());
    assert!(taken(&[text, words(0, "a")]).is_visible());
    assert!(taken(&[call_start(0)]).is_visible());
    assert!(!empty().is_visible());
}

#[test]
fn a_reply_is_not_longer_than_its_units() {
    let mebibyte: Arc<str> = "x".repeat(1 << 20).into();
    let mut accumulator = taken(&[start(0, BlockStart::Text)]);
    let piece = |text: &Arc<str>| Delta::TextAppended {
        index: 0,
        text: Arc::clone(text),
    };
    for _ in 0..15 {
        assert_eq!(accumulator.push(&piece(&mebibyte)), Ok(()));
    }
    // One unit is the start, and one more than there are would be the next fact's cursor; all that is
    // left but one.
    let rest = &mebibyte[3..];
    assert_eq!(accumulator.push(&words(0, rest)), Ok(()));
    let too_long = Err(ProtocolViolation::TooLong);
    assert_eq!(accumulator.push(&words(0, "xy")), too_long);
    assert_eq!(accumulator.push(&start(1, BlockStart::Refusal)), Ok(()));
    assert_eq!(accumulator.push(&end(0)), too_long);
    assert_eq!(accumulator.push(&words(1, "x")), too_long);
    // What takes no units still goes.
    assert_eq!(accumulator.push(&remark(0)), Ok(()));
    assert_eq!(
        accumulator.check_ended(),
        Err(ProtocolViolation::NeverEnded { index: 0 })
    );
}

//! Telling: whoever watches is told the same, live or later, from wherever it goes on.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::Block;
use jackfield_domain::cursor::{Cursor, InvalidCursor};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Envelope, Fact, InputKind, Late, ModelCallEnd, ToolUse, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::session_events::{EventStream, FactEvent, SessionEvent};
use jackfield_domain::text_event::{TextEvent, TextEventKind};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool::Catalog;
use jackfield_domain::usage::Usage;
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;

const FIRST: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};

fn turn() -> TurnId {
    TurnId::derive(&SessionId::parse("s").expect("a valid id"), 1)
}

fn step(facts: Vec<Fact>) -> Envelope {
    Envelope {
        facts,
        input: InputKind::Woke,
        now: Now {
            mono: MonoTime::from_start(Duration::ZERO),
            wall: WallTime::from_millis(0),
        },
        step: 0,
        version: 1,
    }
}

const fn started(attempt: ModelAttempt) -> Fact {
    Fact::ModelCallStarted {
        active: Duration::ZERO,
        attempt,
        tools: ToolUse::Allowed,
        choice: None,
        reserved: Vec::new(),
        target: 0,
    }
}

fn received(reply: &Reply) -> Fact {
    Fact::ReplyReceived {
        attempt: FIRST,
        reply: reply.clone().into(),
        first_token: None,
        settled: Vec::new(),
    }
}

fn late() -> Fact {
    Fact::Late(Late::Usage {
        attempt: FIRST,
        usage: Usage::default(),
    })
}

fn ended(attempt: ModelAttempt, why: ModelCallEnd, retries: bool) -> Fact {
    Fact::ModelCallEnded {
        attempt,
        partial: None,
        retry_at: retries.then(|| WallTime::from_millis(1)),
        usage: None,
        why,
        at_once: false,
        first_token: None,
        settled: Vec::new(),
        withdrawn: false,
    }
}

fn failed() -> ModelCallEnd {
    let kind = ModelFailureKind::Interrupted;
    ModelCallEnd::Failed(ModelFailure::new(kind, Phase::MidReply, "broken"))
}

fn cursor(facts: u64, units: usize) -> Cursor {
    let number = (facts << 24) + units as u64;
    number.to_string().parse().expect("a cursor")
}

/// What is told, cut into units: the same for every cutting.
#[derive(Clone, Debug, PartialEq)]
enum Unit {
    Byte(u32, u8),
    Whole(SessionEvent),
}

fn units(told: &SessionEvent) -> Vec<Unit> {
    match told {
        SessionEvent::Text {
            piece:
                TextEvent {
                    block,
                    kind: TextEventKind::Text { text, .. },
                },
            ..
        } => text.bytes().map(|byte| Unit::Byte(*block, byte)).collect(),
        other => vec![Unit::Whole(other.clone())],
    }
}

fn all_units(told: &[(Cursor, SessionEvent)]) -> Vec<Unit> {
    told.iter().flat_map(|(_, told)| units(told)).collect()
}

fn rest(teller: &mut EventStream) -> Vec<(Cursor, SessionEvent)> {
    std::iter::from_fn(|| teller.next()).collect()
}

/// What is told of these steps from this cursor on.
fn told(steps: &[Envelope], from: Cursor) -> Vec<(Cursor, SessionEvent)> {
    let mut teller = EventStream::new(from);
    steps.iter().cloned().for_each(|step| teller.feed(step));
    assert_eq!(teller.check(), Ok(()));
    rest(&mut teller)
}

fn grow(told: &[(Cursor, SessionEvent)]) -> bool {
    told.is_sorted_by(|(one, _), (two, _)| one < two)
}

/// Blocks, a cutting of them, and after which of its pieces the watcher looks.
fn watched() -> impl Strategy<Value = (Vec<Block>, Vec<Delta>, Vec<bool>)> {
    arb::reply_blocks(turn(), FIRST).prop_flat_map(|blocks| {
        let deltas = arb::deltas_of(&blocks);
        (Just(blocks), deltas, vec(any::<bool>(), 1..40))
    })
}

fn taken(deltas: &[Delta]) -> ReplyAccumulator {
    let mut reply = ReplyAccumulator::new(turn(), FIRST);
    for delta in deltas {
        assert_eq!(reply.push(delta), Ok(()));
    }
    reply
}

fn finished(deltas: &[Delta]) -> Reply {
    let end = ReplyEnd::new(FinishReason::Stop);
    taken(deltas)
        .finish(end, &Catalog::default())
        .expect("whole")
}

proptest! {
    #[test]
    fn live_and_later_are_told_the_same((_, deltas, looks) in watched(), late_at in any::<proptest::sample::Index>()) {
        let reply = finished(&deltas);
        let steps = [step(vec![started(FIRST)]), step(vec![late()]), step(vec![received(&reply)])];
        let mut teller = EventStream::new(Cursor::START);
        teller.feed(steps[0].clone());
        let mut live = rest(&mut teller);
        let late_at = late_at.index(deltas.len() + 1);
        let mut so_far = ReplyAccumulator::new(turn(), FIRST);
        for (at, (delta, look)) in deltas.iter().zip(looks.iter().cycle()).enumerate() {
            if at == late_at {
                teller.feed(steps[1].clone());
                live.extend(rest(&mut teller));
            }
            so_far.push(delta).expect("it fits");
            while *look && let Some(more) = teller.next_live_piece(1, &so_far) {
                live.push(more);
            }
        }
        let before_the_end = live.len();
        if late_at == deltas.len() {
            teller.feed(steps[1].clone());
        }
        teller.feed(steps[2].clone());
        live.extend(rest(&mut teller));
        let later = told(&steps, Cursor::START);
        prop_assert_eq!(all_units(&live), all_units(&later));
        prop_assert!(grow(&live), "{:?}", live);
        // Nothing is held back: what is whole is told before the reply has ended.
        if looks.iter().all(|look| *look) {
            prop_assert_eq!(before_the_end + 1, live.len());
        }
        // Whoever comes back with any of the cursors is told the rest, and nothing twice.
        for (at, (cursor, _)) in live.iter().enumerate() {
            let seen = all_units(&live[..=at]);
            let rest = all_units(&told(&steps, *cursor));
            prop_assert_eq!([seen, rest].concat(), all_units(&later));
        }
    }

    #[test]
    fn every_cursor_parts_the_text_in_two((_, deltas, _) in watched()) {
        let reply = finished(&deltas);
        let steps = [step(vec![started(FIRST)]), step(vec![received(&reply)])];
        let whole = all_units(&told(&steps, cursor(1, 0)));
        // The last one is the fact itself, which has a place of its own.
        for at in 0..whole.len() {
            let rest = told(&steps, cursor(1, at));
            let expected = match whole[at] {
                // Inside a character: that whole character comes again.
                Unit::Byte(_, byte) if (0x80..0xC0).contains(&byte) => {
                    let back = whole[..at].iter().rev().take_while(|unit| {
                        matches!(unit, Unit::Byte(_, byte) if (0x80..0xC0).contains(byte))
                    });
                    &whole[at - 1 - back.count()..]
                }
                _ => &whole[at..],
            };
            prop_assert_eq!(&all_units(&rest), expected);
            prop_assert!(rest.iter().all(|(told, _)| *told > cursor(1, at)));
            // A reply that is not that far yet is waited for, and nothing of it is said twice.
            let mut teller = EventStream::new(cursor(1, at));
            teller.feed(steps[0].clone());
            let nothing = taken(&[]);
            prop_assert_eq!(teller.next_live_piece(1, &nothing), None);
            let mut live = Vec::new();
            let so_far = taken(&deltas);
            while let Some(more) = teller.next_live_piece(1, &so_far) {
                live.push(more);
            }
            teller.feed(steps[1].clone());
            live.extend(self::rest(&mut teller));
            prop_assert_eq!(&all_units(&live), expected);
        }
    }

    #[test]
    fn any_session_goes_on_from_every_cursor(steps in arb::envelopes(0, 6)) {
        let whole = told(&steps, Cursor::START);
        prop_assert!(grow(&whole));
        for (at, (cursor, _)) in whole.iter().enumerate() {
            prop_assert_eq!(told(&steps, *cursor), &whole[at + 1..]);
        }
        let facts = steps.iter().flat_map(|step| &step.facts);
        let told = whole.iter().filter(|(_, told)| !matches!(told, SessionEvent::Text { .. }));
        prop_assert_eq!(told.count(), facts.filter(|fact| FactEvent::from_fact(fact) != FactEvent::Nothing).count());
    }

    #[test]
    fn cursors_grow_over_turns((opening, setup) in (arb::opening(), arb::setup()), turns in 2..4_u32) {
        let one = |ordinal| {
            let opened = Fact::TurnOpened {
                opening: opening.clone(),
                ordinal,
                setup: Arc::new(setup.clone()),
                turn: turn(),
            };
            let end = TurnEnd::ClientExpired;
            [step(vec![opened, started(FIRST)]), step(vec![Fact::TurnEnded { end, view: None }])]
        };
        let steps: Vec<Envelope> = (1..=turns).flat_map(one).collect();
        let whole = told(&steps, Cursor::START);
        prop_assert!(grow(&whole), "{:?}", whole);
        for (at, (cursor, _)) in whole.iter().enumerate() {
            prop_assert_eq!(cursor.facts(), at as u64 + 1);
            prop_assert_eq!(told(&steps, *cursor), &whole[at + 1..]);
        }
    }

    #[test]
    fn any_number_is_a_cursor_or_is_refused(steps in arb::envelopes(0, 6), facts in 0..12_u64, units in 0..1_usize << 24) {
        let mut teller = EventStream::new(cursor(facts, units));
        steps.iter().cloned().for_each(|step| teller.feed(step));
        let known: Vec<&Fact> = steps.iter().flat_map(|step| &step.facts).collect();
        let last = facts.checked_sub(1).and_then(|last| known.get(last as usize));
        let fits = facts <= known.len() as u64
            && (units == 0 || matches!(last, Some(Fact::ModelCallStarted { .. })));
        prop_assert_eq!(teller.check().is_ok(), fits);
        prop_assert!(rest(&mut teller).is_sorted_by(|(one, _), (two, _)| one < two));
    }

    #[test]
    fn a_cursor_is_its_number(number in any::<u64>()) {
        let cursor: Cursor = number.to_string().parse().expect("a number");
        prop_assert_eq!(cursor.to_string(), number.to_string());
        prop_assert_eq!((cursor.facts() << 24) + cursor.units() as u64, number);
    }
}

#[test]
fn what_is_no_number_is_no_cursor() {
    for text in [
        "",
        " 1",
        "+1",
        "-1",
        "1.0",
        "0x1",
        "١",
        "18446744073709551616",
    ] {
        assert_eq!(text.parse::<Cursor>(), Err(InvalidCursor), "{text:?}");
    }
}

#[test]
fn an_attempt_that_is_lost_or_made_again_is_marked() {
    let second = ModelAttempt {
        attempt: 2,
        ..FIRST
    };
    let text = [
        Delta::BlockStarted {
            index: 0,
            start: BlockStart::Text,
        },
        Delta::TextAppended {
            index: 0,
            text: "half of it".into(),
        },
    ];
    for (end, marked) in [
        (ended(FIRST, ModelCallEnd::Lost, false), true),
        (ended(FIRST, failed(), true), true),
        (ended(FIRST, failed(), false), false),
        (ended(FIRST, ModelCallEnd::Cancelled, false), false),
    ] {
        let mut teller = EventStream::new(Cursor::START);
        teller.feed(step(vec![started(FIRST)]));
        let mut all = rest(&mut teller);
        let so_far = taken(&text);
        all.extend(std::iter::from_fn(|| teller.next_live_piece(1, &so_far)));
        assert_eq!(
            all.len(),
            3,
            "the start of the call, of the block, and its text"
        );
        let steps = [step(vec![end.clone()]), step(vec![started(second)])];
        steps.into_iter().for_each(|step| teller.feed(step));
        // The reply has not ended as far as its memory goes, and is not told on all the same.
        assert_eq!(teller.next_live_piece(1, &so_far), None);
        all.extend(rest(&mut teller));
        let superseded = all.iter().any(|(_, told)| {
            matches!(told, SessionEvent::Superseded { attempt, fact, .. } if *attempt == FIRST && **fact == end)
        });
        assert_eq!(superseded, marked, "{end:?}");
        assert!(grow(&all), "{all:?}");
        assert_eq!(all.len(), 5);
    }
}

#[test]
fn late_facts_are_no_news() {
    assert_eq!(FactEvent::from_fact(&late()), FactEvent::Nothing);
    assert!(told(&[step(vec![late(), late()])], Cursor::START).is_empty());
}

#[test]
fn a_session_is_at_rest_when_all_of_its_turns_are_told() {
    let mut teller = EventStream::new(Cursor::START);
    assert!(teller.is_idle());
    teller.feed(step(vec![started(FIRST)]));
    assert!(!teller.is_idle(), "something is not told");
    rest(&mut teller);
    teller.feed(step(vec![late()]));
    assert!(teller.is_idle(), "nothing will be told");
}

#[test]
fn a_long_text_comes_in_few_pieces_and_ends_between_characters() {
    let text = "机".repeat(200_000);
    let deltas = [
        Delta::BlockStarted {
            index: 0,
            start: BlockStart::Text,
        },
        Delta::TextAppended {
            index: 0,
            text: text.as_str().into(),
        },
        Delta::BlockEnded { index: 0 },
    ];
    let reply = finished(&deltas);
    let steps = [step(vec![started(FIRST)]), step(vec![received(&reply)])];
    let pieces: Vec<String> = told(&steps, Cursor::START)
        .into_iter()
        .filter_map(|(_, told)| match told {
            SessionEvent::Text {
                piece:
                    TextEvent {
                        kind: TextEventKind::Text { text, .. },
                        ..
                    },
                ..
            } => Some(text.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces.len(), 3);
    assert_eq!(pieces.concat(), text);
}

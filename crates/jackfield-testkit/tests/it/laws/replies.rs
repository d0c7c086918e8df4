//! The laws of reply mappers: a dialect of one text keeps them, and each mistake in it breaks one.
#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::Phase;
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_testkit::arb;
use jackfield_testkit::laws::replies::{self, Decoded, Event, ReadFailure, ReplyMappers};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Each event is a piece of the text; the last one is [`END`].
struct Toy<const MISTAKE: u8>;

const NONE: u8 = 0;
const FORGETS_A_PIECE: u8 = 1;
const ENDS_ANYWHERE: u8 = 2;
const FORGETS_THE_PHASE: u8 = 3;
const READS_THE_UNKNOWN: u8 = 4;
const FAILS_AT_THE_UNKNOWN: u8 = 5;

const END: &str = "[end]";
const UNKNOWN: &str = "[weather]";

impl<const MISTAKE: u8> ReplyMappers for Toy<MISTAKE> {
    fn attempt() -> (TurnId, ModelAttempt) {
        let session = SessionId::parse("s1").expect("a valid id");
        let attempt = ModelAttempt {
            round: 1,
            attempt: 1,
        };
        (TurnId::derive(&session, 1), attempt)
    }

    fn pieces() -> BoxedStrategy<(Reply, Vec<Delta>)> {
        let pieces = "[a-z]{1,8}".prop_flat_map(|text| {
            let message = Message::new(Role::Assistant, vec![Block::text(text)]);
            let deltas = arb::deltas_of(&message.blocks);
            let reply = Reply {
                end: ReplyEnd::new(FinishReason::Stop),
                message: Arc::new(message),
            };
            (Just(reply), deltas)
        });
        pieces.boxed()
    }

    fn encode(deltas: &[Delta], _end: &ReplyEnd) -> Vec<Event> {
        let texts = deltas.iter().filter_map(|delta| {
            if let Delta::TextAppended { text, .. } = delta {
                return Some(text.to_string()).filter(|text| !text.is_empty());
            }
            None
        });
        let mut events: Vec<Event> = texts.map(|text| (None, text)).collect();
        if MISTAKE == FORGETS_A_PIECE {
            events.pop();
        }
        events.push((None, END.to_owned()));
        events
    }

    fn decode(events: &[Event]) -> Decoded {
        let data = || events.iter().map(|(_, data)| data.as_str());
        let is_text =
            |data: &&str| *data != END && (*data != UNKNOWN || MISTAKE == READS_THE_UNKNOWN);
        let texts: Vec<&str> = data().filter(is_text).collect();
        let fails = MISTAKE == FAILS_AT_THE_UNKNOWN && data().any(|data| data == UNKNOWN);
        let has_end = data().any(|data| data == END) && !fails;
        let is_whole = has_end || MISTAKE == ENDS_ANYWHERE;
        let deltas = deltas(&texts, is_whole);
        let phase = if deltas.is_empty() || MISTAKE == FORGETS_THE_PHASE {
            Phase::BeforeFirstDelta
        } else {
            Phase::MidReply
        };
        let end = ReplyEnd::new(FinishReason::Stop);
        Decoded {
            deltas,
            end: is_whole.then_some(end).ok_or(ReadFailure::Truncated(phase)),
        }
    }

    fn unknown_events() -> Vec<Event> {
        vec![(None, UNKNOWN.to_owned())]
    }

    /// An event is a text, without fields.
    fn with_unknown_fields(event: Event) -> Event {
        event
    }

    fn through_whole(reply: &Reply) -> Result<(Vec<Delta>, ReplyEnd), String> {
        let block = reply.message.blocks.first();
        let Some(Content::Text(text)) = block.map(|block| &block.content) else {
            return Err("no text".to_owned());
        };
        Ok((deltas(&[&*text.text], true), reply.end.clone()))
    }
}

mod sound {
    use super::{NONE, Toy};

    jackfield_testkit::reply_laws!(Toy<NONE>);
}

#[test]
fn each_mistake_breaks_its_law() {
    assert_broken(|reply, deltas, _| {
        replies::streams_are_wholes::<Toy<FORGETS_A_PIECE>>(reply, deltas)
    });
    assert_broken(replies::cut_streams_are_errors::<Toy<ENDS_ANYWHERE>>);
    assert_broken(replies::cut_streams_are_errors::<Toy<FORGETS_THE_PHASE>>);
    assert_broken(|reply, deltas, place| {
        let places = [(place, place)];
        replies::unknown_events_change_nothing::<Toy<READS_THE_UNKNOWN>>(reply, deltas, &places)
    });
    assert_broken(|reply, deltas, place| {
        let places = [(place, place)];
        replies::unknown_events_change_nothing::<Toy<FAILS_AT_THE_UNKNOWN>>(reply, deltas, &places)
    });
}

fn assert_broken(law: impl Fn(&Reply, &[Delta], Index) -> Result<(), TestCaseError>) {
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(64)
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let cases = (Toy::<NONE>::pieces(), any::<Index>());
    let kept = runner.run(&cases, |((reply, deltas), cut)| law(&reply, &deltas, cut));
    assert!(kept.is_err(), "no reply breaks the law");
}

/// The deltas of one text in these pieces.
fn deltas(texts: &[&str], is_whole: bool) -> Vec<Delta> {
    if texts.is_empty() && !is_whole {
        return Vec::new();
    }
    let start = BlockStart::Text;
    let mut deltas = vec![Delta::BlockStarted { index: 0, start }];
    deltas.extend(texts.iter().map(|text| Delta::TextAppended {
        index: 0,
        text: (*text).into(),
    }));
    deltas.extend(is_whole.then_some(Delta::BlockEnded { index: 0 }));
    deltas
}

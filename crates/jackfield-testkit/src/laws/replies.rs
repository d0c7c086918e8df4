//! The laws of a dialect's reply mappers: a streamed reply is the whole one, a cut stream is none, and what is unknown
//! changes nothing.

use jackfield_domain::block::Block;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::Phase;
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::reply::{Reply, ReplyEnd};
use proptest::prop_assert;
use proptest::prop_assert_eq;
use proptest::sample::Index;
use proptest::strategy::BoxedStrategy;

use super::{Law, fail};
use crate::{outline, replies};

/// An event of a stream: its name, if the dialect has names, and its data.
pub type Event = (Option<&'static str>, String);

/// The mappers of replies, in both directions.
pub trait ReplyMappers {
    /// The turn and attempt of the replies.
    fn attempt() -> (TurnId, ModelAttempt);

    /// Any reply that the dialect can express, and its deltas in any order in which a decoder may give them.
    fn pieces() -> BoxedStrategy<(Reply, Vec<Delta>)>;

    /// The stream of these deltas.
    fn encode(deltas: &[Delta], end: &ReplyEnd) -> Vec<Event>;

    /// What a stream says.
    fn decode(events: &[Event]) -> Decoded;

    /// What is read of a reply that is written whole.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    fn through_whole(reply: &Reply) -> Result<(Vec<Delta>, ReplyEnd), String>;

    /// The blocks in the order of a whole reply, in a dialect that has one of its own.
    #[must_use]
    fn gathered(message: &Message) -> Vec<Block> {
        message.blocks.clone()
    }

    /// The end of a reply without what only one of the two forms has.
    #[must_use]
    fn common_end(end: &ReplyEnd) -> ReplyEnd {
        end.clone()
    }

    /// Events that the vendor might introduce; the decoder ignores them.
    fn unknown_events() -> Vec<Event>;

    /// The event with fields that the vendor might introduce.
    fn with_unknown_fields(event: Event) -> Event;

    /// How many events of a stream come before any unknown one.
    #[must_use]
    fn known_beginning() -> usize {
        0
    }

    /// How many events of a whole stream are needed.
    #[must_use]
    fn needed(events: &[Event]) -> usize {
        events.len()
    }
}

/// What a decoder gave for the events of a stream.
#[derive(Debug)]
pub struct Decoded {
    /// The deltas.
    pub deltas: Vec<Delta>,
    /// The end.
    pub end: Result<ReplyEnd, ReadFailure>,
}

/// Why a stream has no end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReadFailure {
    /// Another error.
    Other(String),
    /// It broke off.
    Truncated(Phase),
}

/// Tests the laws of a dialect's reply mappers: `reply_laws!(Claude);`, in a crate with `proptest`.
#[macro_export]
macro_rules! reply_laws {
    ($mappers:ty) => {
        ::proptest::proptest! {
            #[test]
            fn a_streamed_reply_is_the_whole_one(
                (reply, deltas) in <$mappers as $crate::laws::replies::ReplyMappers>::pieces(),
            ) {
                $crate::laws::replies::streams_are_wholes::<$mappers>(&reply, &deltas)?;
            }

            #[test]
            fn a_stream_cut_anywhere_is_an_error(
                (reply, deltas) in <$mappers as $crate::laws::replies::ReplyMappers>::pieces(),
                cut in ::proptest::arbitrary::any::<::proptest::sample::Index>(),
            ) {
                $crate::laws::replies::cut_streams_are_errors::<$mappers>(&reply, &deltas, cut)?;
            }

            #[test]
            fn what_is_unknown_is_ignored_wherever_it_comes(
                (reply, deltas) in <$mappers as $crate::laws::replies::ReplyMappers>::pieces(),
                places in ::proptest::collection::vec(
                    ::proptest::arbitrary::any::<(
                        ::proptest::sample::Index,
                        ::proptest::sample::Index,
                    )>(),
                    1..6,
                ),
            ) {
                $crate::laws::replies::unknown_events_change_nothing::<$mappers>(
                    &reply, &deltas, &places,
                )?;
            }
        }
    };
}

/// A streamed reply is the whole one.
///
/// # Errors
///
/// A broken law.
pub fn streams_are_wholes<M: ReplyMappers>(reply: &Reply, deltas: &[Delta]) -> Law {
    let events = M::encode(deltas, &reply.end);
    let streamed = M::decode(&events);
    let streamed_end = streamed.end.map_err(|why| fail(format!("{why:?}")))?;
    let (whole, whole_end) = M::through_whole(reply).map_err(fail)?;
    prop_assert_eq!(M::common_end(&streamed_end), M::common_end(&whole_end));
    let gathered = |deltas: &[Delta], end: ReplyEnd| {
        let reply = replies::accumulated(M::attempt(), deltas, end);
        outline::of_blocks(&M::gathered(&reply.message))
    };
    let differences = outline::differences(
        &gathered(&streamed.deltas, streamed_end),
        &gathered(&whole, whole_end),
    );
    prop_assert!(
        differences.is_empty(),
        "{differences:?}\n{events:#?}\n{reply:#?}"
    );
    Ok(())
}

/// A stream that is cut is truncated, in the phase that its deltas tell.
///
/// # Errors
///
/// A broken law.
pub fn cut_streams_are_errors<M: ReplyMappers>(reply: &Reply, deltas: &[Delta], cut: Index) -> Law {
    let events = M::encode(deltas, &reply.end);
    let kept = events.iter().take(cut.index(M::needed(&events)));
    let decoded = M::decode(&kept.cloned().collect::<Vec<Event>>());
    let phase = if decoded.deltas.is_empty() {
        Phase::BeforeFirstDelta
    } else {
        Phase::MidReply
    };
    prop_assert_eq!(decoded.end, Err(ReadFailure::Truncated(phase)));
    Ok(())
}

/// Unknown events at these places, each with its choice of event, and unknown fields change nothing.
///
/// # Errors
///
/// A broken law.
pub fn unknown_events_change_nothing<M: ReplyMappers>(
    reply: &Reply,
    deltas: &[Delta],
    places: &[(Index, Index)],
) -> Law {
    let plain = M::encode(deltas, &reply.end);
    let known = plain.iter().cloned();
    let mut events: Vec<Event> = known.map(M::with_unknown_fields).collect();
    let (unknown, first) = (M::unknown_events(), M::known_beginning());
    prop_assert!(!unknown.is_empty(), "there is no unknown event");
    for (place, which) in places {
        let behind = events.len().saturating_sub(first).max(1);
        let place = (first + place.index(behind)).min(events.len());
        events.insert(place, which.get(&unknown).clone());
    }
    let (read, expected) = (M::decode(&events), M::decode(&plain));
    prop_assert_eq!(read.end, expected.end, "{:#?}", events);
    prop_assert_eq!(read.deltas, expected.deltas, "{:#?}", events);
    Ok(())
}

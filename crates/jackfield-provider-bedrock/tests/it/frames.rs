//! The laws of frames: any cut gives the same events, and damage is an error.

use bytes::BytesMut;
use jackfield_provider_bedrock::frames::EventFrames;
use jackfield_provider_kit::frames::FrameDecoder as _;
use jackfield_provider_kit::sse::RawEvent;
use jackfield_testservers::bedrock::frame;
use proptest::collection::vec;
use proptest::prelude::*;

/// The events of pieces of a stream, up to an error.
fn read<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> (Vec<RawEvent>, Option<String>) {
    let (mut buffer, mut decoder) = (BytesMut::new(), EventFrames::new());
    let mut events = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match decoder.next_event(&mut buffer) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(why) => return (events, Some(why)),
            }
        }
    }
    (events, None)
}

fn event(name: &str, data: &str) -> RawEvent {
    RawEvent {
        data: data.to_owned(),
        name: Some(name.to_owned()),
    }
}

#[test]
fn events_exceptions_and_errors_have_their_names() {
    let error = [
        (":message-type", "error"),
        (":error-code", "InternalFailure"),
        (":error-message", "it broke"),
    ];
    let bytes = [
        frame::event("messageStart", "{\"role\":\"assistant\"}"),
        frame::exception("throttlingException", "{\"message\":\"slow\"}"),
        frame::message(&error, b""),
        frame::message(&[], b""),
    ];
    let (events, error) = read([bytes.concat().as_slice()]);
    assert_eq!(error, None);
    assert_eq!(
        events,
        [
            event("messageStart", "{\"role\":\"assistant\"}"),
            event("exception/throttlingException", "{\"message\":\"slow\"}"),
            event("exception/InternalFailure", "{\"message\":\"it broke\"}"),
            event("", ""),
        ]
    );
}

/// The example `empty_message` of the specification's test vectors.
#[test]
fn an_empty_message_has_the_bytes_of_the_specification() {
    let bytes = frame::message(&[], b"");
    assert_eq!(
        bytes,
        [
            0, 0, 0, 16, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff
        ]
    );
}

#[test]
fn a_payload_that_is_no_text_is_an_error() {
    let bytes = frame::message(&[(":message-type", "event")], &[0xff, 0xfe]);
    let (events, error) = read([bytes.as_slice()]);
    assert_eq!(events, []);
    assert!(error.unwrap().contains("UTF-8"));
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_events(
        told in vec(("[a-zA-Z]{0,20}", ".{0,60}"), 0..6),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes: Vec<u8> = told.iter().flat_map(|(name, data)| frame::event(name, data)).collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces = places.windows(2).map(|places| &bytes[places[0]..places[1]]);
        let (events, error) = read(pieces);
        prop_assert_eq!(error, None);
        let told: Vec<RawEvent> = told.iter().map(|(name, data)| event(name, data)).collect();
        prop_assert_eq!(events, told);
    }

    /// One that is lost, or one that is changed in its first four bytes to a longer one, is not there yet.
    #[test]
    fn a_damaged_frame_is_no_event(
        name in "[a-zA-Z]{1,20}",
        data in ".{0,60}",
        place in any::<prop::sample::Index>(),
        damage in 1..=255_u8,
    ) {
        let mut bytes = frame::event(&name, &data);
        let place = place.index(bytes.len());
        bytes[place] ^= damage;
        let (events, _) = read([bytes.as_slice()]);
        prop_assert_eq!(events, []);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..200), frames in any::<bool>()) {
        let mut all = if frames { frame::event("messageStart", "{}") } else { Vec::new() };
        all.extend(&bytes);
        drop(read([all.as_slice()]));
    }
}

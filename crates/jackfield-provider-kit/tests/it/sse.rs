//! Server-sent events.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_ports::chat_model::ModelError;
use jackfield_provider_kit::sse::{MAX_EVENT, RawEvent, RawEvents};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};

#[test]
fn events_have_names_and_data() {
    check(
        "event: a\ndata: 1\n\ndata: 2\n\ndata:3\ndata: 4\n\n",
        &[(Some("a"), "1"), (None, "2"), (None, "3\n4")],
    );
}

#[test]
fn every_line_ending_is_one() {
    check(
        "data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n",
        &[(None, "1"), (None, "2"), (None, "3")],
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    check("\u{feff}data: 1\n\n", &[(None, "1")]);
}

#[test]
fn comments_and_blocks_without_data_are_no_events() {
    check(
        ": ping\n\nevent: a\n\nid: 7\nretry: 3\n\ndata\n\n",
        &[(None, "")],
    );
}

#[tokio::test]
async fn ids_and_pauses_are_known_also_from_blocks_without_data() {
    let text = "id: 7\nretry: 3\n\ndata: 1\n\nid\ndata: 2\n\n";
    let mut events = RawEvents::new(stream::iter([Ok(Bytes::from_static(text.as_bytes()))]));
    assert_eq!((events.last_id(), events.retry()), (None, None));
    assert_eq!(events.next().await.unwrap(), Some(event(None, "1")));
    assert_eq!(events.last_id(), Some("7"));
    assert_eq!(events.retry(), Some(Duration::from_millis(3)));
    assert_eq!(events.next().await.unwrap(), Some(event(None, "2")));
    assert_eq!(events.last_id(), None);
}

#[test]
fn fields_that_nobody_knows_are_ignored() {
    check("flavour: sweet\ndata: 1\n\n", &[(None, "1")]);
}

#[test]
fn an_event_that_was_cut_off_is_never_told() {
    check("data: 1\n\ndata: 2\n", &[(None, "1")]);
}

#[test]
fn invalid_text_is_a_violation_and_the_end() {
    let (events, error) = read(vec![Bytes::from_static(
        b"data: 1\n\ndata: \xff\n\ndata: 3\n\n",
    )]);
    assert_eq!(events, [event(None, "1")]);
    let failure = error.unwrap().failure;
    assert_eq!(failure.kind, ModelFailureKind::ProtocolViolation);
    assert_eq!(failure.advice, RetryAdvice::Never);
}

#[test]
fn an_event_without_an_end_is_a_violation_before_it_fills_the_memory() {
    let mebibyte = Bytes::from(vec![b'x'; 1 << 20]);
    let pieces = std::iter::once(Bytes::from_static(b"data: "))
        .chain(std::iter::repeat_n(mebibyte, TOO_MANY));
    let (events, error) = read(pieces.collect());
    assert_eq!(events, []);
    let failure = error.unwrap().failure;
    assert_eq!(failure.kind, ModelFailureKind::ProtocolViolation);
}

#[test]
fn many_events_are_not_one_long_one() {
    let mebibyte = format!("data: {}\n\n", "x".repeat(1 << 20));
    let pieces = vec![Bytes::from(mebibyte); TOO_MANY];
    let (events, error) = read(pieces);
    assert_eq!(events.len(), TOO_MANY);
    assert!(error.is_none());
}

#[test]
fn a_failure_of_the_body_comes_through_unchanged() {
    let failure = ModelFailure::new(
        ModelFailureKind::Interrupted,
        Phase::BeforeFirstDelta,
        "broken",
    );
    let pieces = vec![
        Ok(Bytes::from_static(b"data: 1\n\n")),
        Err(ModelError::from(failure.clone())),
    ];
    let (events, error) = read_all(pieces);
    assert_eq!(events, [event(None, "1")]);
    assert_eq!(error.unwrap().failure, failure);
}

proptest! {
    /// However a body is cut, its events are the same: also inside of characters and line endings.
    #[test]
    fn any_split_of_the_bytes_gives_the_same_events(body in body(), cuts in vec(1_usize..40, 0..40)) {
        let whole = read(vec![Bytes::from(body.clone())]);
        let mut left = Bytes::from(body);
        let mut pieces = Vec::new();
        for size in cuts {
            pieces.push(left.split_to(size.min(left.len())));
        }
        pieces.push(left);
        let cut = read(pieces);
        prop_assert_eq!(cut.0, whole.0);
        prop_assert_eq!(
            cut.1.map(|error| error.failure),
            whole.1.map(|error| error.failure)
        );
    }
}

/// Bodies of lines as servers send them, with nonsense between.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        "(data|event|id|retry|x|)(: ?)?[a-zäあ🦀 :]{0,8}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..6),
        proptest::strategy::Just(b"\xef\xbb\xbfdata: 1".to_vec()),
    ];
    let ending = prop_oneof!["\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r"];
    vec((line, ending), 0..12).prop_map(|lines| {
        let bytes = lines
            .into_iter()
            .flat_map(|(line, ending)| [line, ending.into_bytes()]);
        bytes.flatten().collect()
    })
}

/// Checks the events of a body, cut nowhere and everywhere.
fn check(body: &str, expected: &[(Option<&str>, &str)]) {
    let expected: Vec<RawEvent> = expected
        .iter()
        .map(|(name, data)| event(*name, data))
        .collect();
    let everywhere = body.bytes().map(|byte| Bytes::from(vec![byte])).collect();
    for pieces in [vec![Bytes::from(body.to_owned())], everywhere] {
        let (events, error) = read(pieces);
        assert!(error.is_none());
        assert_eq!(events, expected);
    }
}

/// So many pieces of a mebibyte are more than one event may have.
const TOO_MANY: usize = 2 * (MAX_EVENT >> 20);

fn event(name: Option<&str>, data: &str) -> RawEvent {
    RawEvent {
        data: data.to_owned(),
        name: name.map(str::to_owned),
    }
}

fn read(pieces: Vec<Bytes>) -> (Vec<RawEvent>, Option<ModelError>) {
    read_all(pieces.into_iter().map(Ok).collect())
}

/// Every event, and how it ended.
fn read_all(pieces: Vec<Result<Bytes, ModelError>>) -> (Vec<RawEvent>, Option<ModelError>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut events = RawEvents::new(stream::iter(pieces));
        let mut told = Vec::new();
        loop {
            match events.next().await {
                Ok(Some(event)) => told.push(event),
                Ok(None) => return (told, None),
                Err(error) => return (told, Some(error)),
            }
        }
    })
}

//! Lines of a body, one JSON document each.

use bytes::Bytes;
use futures_util::stream;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_ports::chat_model::ModelError;
use jackfield_provider_kit::lines::{JsonLines, MAX_LINE};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};

#[test]
fn lines_end_in_a_line_feed_with_or_without_a_carriage_return() {
    check("{\"a\":1}\n{\"b\":2}\r\n", &["{\"a\":1}", "{\"b\":2}"]);
}

#[test]
fn blank_lines_are_no_events() {
    check(
        "\n\r\n  \n{\"a\":1}\n\n\n{\"b\":2}\n\n",
        &["{\"a\":1}", "{\"b\":2}"],
    );
}

#[test]
fn a_last_line_that_does_not_end_is_told_if_it_is_whole() {
    check("{\"a\":1}\n{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"]);
    check("{\"a\":1}\n{\"b\":", &["{\"a\":1}"]);
    check("{\"a\":1}\n{\"b\":\"ü", &["{\"a\":1}"]);
}

#[test]
fn a_line_that_ended_is_told_whatever_it_says() {
    check("{\"a\n{\"b\":2}\n", &["{\"a", "{\"b\":2}"]);
}

#[test]
fn invalid_text_is_a_violation_and_the_end() {
    let (lines, error) = read(vec![Bytes::from_static(b"1\n\xff\n3\n")]);
    assert_eq!(lines, ["1"]);
    let failure = error.unwrap().failure;
    assert_eq!(failure.kind, ModelFailureKind::ProtocolViolation);
}

#[test]
fn a_line_without_an_end_is_a_violation_before_it_fills_the_memory() {
    let mebibyte = Bytes::from(vec![b'x'; 1 << 20]);
    let (lines, error) = read(vec![mebibyte; TOO_MANY]);
    assert_eq!(lines.len(), 0);
    let failure = error.unwrap().failure;
    assert_eq!(failure.kind, ModelFailureKind::ProtocolViolation);
}

#[test]
fn many_lines_are_not_one_long_one() {
    let mebibyte = Bytes::from(format!("{}\n", "x".repeat(1 << 20)));
    let (lines, error) = read(vec![mebibyte; TOO_MANY]);
    assert_eq!(lines.len(), TOO_MANY);
    assert!(error.is_none());
}

#[test]
fn a_failure_of_the_body_comes_through_unchanged_and_is_the_end() {
    for (last, told) in [
        ("2", None),
        ("{\"b\":2", None),
        ("{\"b\":2}", Some("{\"b\":2}")),
        (" [2] ", Some("[2]")),
    ] {
        let (kind, phase) = (ModelFailureKind::Interrupted, Phase::BeforeFirstDelta);
        let failure = ModelFailure::new(kind, phase, "broken");
        let pieces = vec![
            Ok(Bytes::from(format!("1\n{last}"))),
            Err(ModelError::from(failure.clone())),
            Ok(Bytes::from_static(b"3\n")),
        ];
        let (lines, error) = read_all(pieces);
        let expected: Vec<&str> = ["1"].into_iter().chain(told).collect();
        assert_eq!(lines, expected, "{last}");
        assert_eq!(error.unwrap().failure, failure, "{last}");
    }
}

proptest! {
    /// However a body is cut, its lines are the same: also inside of characters and line endings.
    #[test]
    fn any_split_of_the_bytes_gives_the_same_lines(body in body(), cuts in vec(1_usize..20, 0..30)) {
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
        "\\{\"[a-zäあ🦀 ]{0,8}\":[0-9]{1,3}\\}".prop_map(String::into_bytes),
        "[a-zäあ🦀 {}\"]{0,8}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..6),
    ];
    let ending = prop_oneof!["\n", "\r\n", "\n\n", ""];
    vec((line, ending), 0..10).prop_map(|lines| {
        let bytes = lines
            .into_iter()
            .flat_map(|(line, ending)| [line, ending.into_bytes()]);
        bytes.flatten().collect()
    })
}

/// Checks the lines of a body, cut nowhere and everywhere.
fn check(body: &str, expected: &[&str]) {
    let everywhere = body.bytes().map(|byte| Bytes::from(vec![byte])).collect();
    for pieces in [vec![Bytes::from(body.to_owned())], everywhere] {
        let (lines, error) = read(pieces);
        assert!(error.is_none());
        assert_eq!(lines, expected);
    }
}

/// So many pieces of a mebibyte are more than one line may have.
const TOO_MANY: usize = 2 * (MAX_LINE >> 20);

fn read(pieces: Vec<Bytes>) -> (Vec<String>, Option<ModelError>) {
    read_all(pieces.into_iter().map(Ok).collect())
}

/// Every line, and how it ended; nothing comes after that.
fn read_all(pieces: Vec<Result<Bytes, ModelError>>) -> (Vec<String>, Option<ModelError>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut lines = JsonLines::new(stream::iter(pieces));
        let mut told = Vec::new();
        let error = loop {
            match lines.next().await {
                Ok(Some(line)) => {
                    assert_eq!(line.name, None);
                    told.push(line.data);
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        assert!(matches!(lines.next().await, Ok(None)), "it is over");
        (told, error)
    })
}

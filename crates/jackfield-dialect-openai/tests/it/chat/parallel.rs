//! Several calls in one reply, told apart however a server numbers them.

use jackfield_dialect_openai::chat::stream::{DecodeError, DecodeReply as _, Decoder};
use jackfield_domain::delta::Delta;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::read::{accumulated, calls, chunk, owner, read, reply_of};

/// How a server numbers calls.
#[derive(Clone, Copy, Debug)]
enum Numbering {
    AlwaysZero,
    FromOne,
    FromZero,
    Missing,
    Negative,
}

impl Numbering {
    fn index(self, nth: usize) -> Value {
        match self {
            Self::AlwaysZero => json!(0),
            Self::FromOne => json!(nth + 1),
            Self::FromZero => json!(nth),
            Self::Missing => Value::Null,
            Self::Negative => json!(-1),
        }
    }

    /// Whether the numbers alone tell calls apart.
    const fn tells_apart(self) -> bool {
        matches!(self, Self::FromOne | Self::FromZero)
    }
}

const NUMBERINGS: [Numbering; 5] = [
    Numbering::AlwaysZero,
    Numbering::FromOne,
    Numbering::FromZero,
    Numbering::Missing,
    Numbering::Negative,
];

/// Name and arguments of calls.
fn wanted() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let arguments = prop_oneof![
        Just(json!({})),
        Just(json!({ "a": { "a": 1 }, "b": "{\"b\": \"\\\"}" })),
        Just(json!({ "text": "две строки\n{" })),
        Just(json!({ "list": [[], [{}], "]"] })),
    ];
    prop::collection::vec((select(&["f", "g", "long_name"][..]), arguments), 1..5)
}

fn expected(wanted: &[(&str, Value)], id: impl Fn(usize) -> String) -> Vec<String> {
    let numbered = wanted.iter().enumerate();
    numbered
        .map(|(n, (name, arguments))| format!("{} {name} {arguments}", id(n)))
        .collect()
}

proptest! {
    #[test]
    fn whole_calls_are_told_apart_without_ids(
        wanted in wanted(),
        numbering in select(&NUMBERINGS[..]),
        together in any::<bool>(),
    ) {
        let entries: Vec<Value> = wanted
            .iter()
            .enumerate()
            .map(|(n, (name, arguments))| json!({
                "index": numbering.index(n),
                "function": { "name": name, "arguments": arguments.to_string() },
            }))
            .collect();
        let deltas: Vec<Value> = if together {
            vec![json!({ "tool_calls": entries })]
        } else {
            entries.iter().map(|entry| json!({ "tool_calls": [entry] })).collect()
        };
        let reply = reply_of(&deltas, json!("stop")).expect("a whole reply");
        prop_assert_eq!(calls(&reply), expected(&wanted, |_| "-".to_owned()));
    }

    #[test]
    fn pieces_of_calls_are_told_apart_by_numbers_or_ids(
        wanted in wanted(),
        numbering in select(&NUMBERINGS[..]),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
        order in prop::collection::vec(any::<Index>(), 40),
    ) {
        // Each call in pieces; where numbers tell calls apart, the pieces of several are mixed.
        let mut queues: Vec<Vec<Value>> = wanted
            .iter()
            .enumerate()
            .map(|(n, (name, arguments))| pieces(numbering, n, name, &arguments.to_string(), &cuts))
            .collect();
        let mut deltas = Vec::new();
        let mut choices = order.iter();
        let mut begun = 0;
        while queues.iter().any(|queue| !queue.is_empty()) {
            let open: Vec<usize> = (0..queues.len()).filter(|n| !queues[*n].is_empty()).collect();
            let may = if numbering.tells_apart() { open.len().min(begun + 1 - (queues.len() - open.len()).min(begun)) } else { 1 };
            let place = choices.next().map_or(0, |choice| choice.index(may.max(1)));
            let n = open[place.min(open.len() - 1)];
            begun = begun.max(n + 1);
            let piece = queues[n].remove(0);
            deltas.push(json!({ "tool_calls": [piece] }));
        }
        let reply = reply_of(&deltas, json!("tool_calls")).expect("a whole reply");
        let mut told = calls(&reply);
        let mut wanted = expected(&wanted, |n| format!("id_{n}"));
        told.sort();
        wanted.sort();
        prop_assert_eq!(told, wanted);
    }

    #[test]
    fn any_cutting_of_a_stream_gives_the_same_reply(
        wanted in wanted(),
        words in "[a-z \n]{0,12}",
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        let whole = told(&wanted, &words, &[]);
        prop_assert_eq!(told(&wanted, &words, &cuts), whole);
    }
}

/// The pieces of one call: the first one says what it is.
fn pieces(
    numbering: Numbering,
    n: usize,
    name: &str,
    arguments: &str,
    cuts: &[Index],
) -> Vec<Value> {
    let index = numbering.index(n);
    let mut pieces = vec![json!({
        "index": index, "id": format!("id_{n}"), "type": "function",
        "function": { "name": name, "arguments": "" },
    })];
    for part in cut(arguments, cuts) {
        pieces.push(json!({ "index": index, "function": { "arguments": part } }));
    }
    pieces
}

/// A text cut at these places.
fn cut(text: &str, cuts: &[Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
    places.extend([0, chars.len()]);
    places.sort_unstable();
    let ranges = places.windows(2);
    ranges
        .map(|range| chars[range[0]..range[1]].iter().collect())
        .collect()
}

/// What a stream comes to whose texts are cut at these places.
fn told(wanted: &[(&str, Value)], words: &str, cuts: &[Index]) -> jackfield_domain::reply::Reply {
    let mut events = Vec::new();
    for field in ["reasoning_content", "content"] {
        for part in cut(words, cuts) {
            events.push(chunk(&json!({ field: part }), &Value::Null));
        }
    }
    for (n, (name, arguments)) in wanted.iter().enumerate() {
        let numbering = Numbering::FromZero;
        for piece in pieces(numbering, n, name, &arguments.to_string(), cuts) {
            events.push(chunk(&json!({ "tool_calls": [piece] }), &Value::Null));
        }
    }
    events.push(chunk(&json!({}), &json!("tool_calls")));
    let read = read(Decoder::new(owner()), events.iter().map(String::as_str));
    let (deltas, end) = read.expect("a whole reply");
    accumulated(&deltas, end)
}

/// The pieces of a reply, each by what it does to which block.
fn step_by_step(pieces: &[Value]) -> Vec<Vec<String>> {
    let mut decoder = Decoder::new(owner());
    let tell = |delta: &Delta| match delta {
        Delta::BlockEnded { index } => format!("end {index}"),
        Delta::BlockStarted { index, .. } => format!("start {index}"),
        Delta::ArgumentsAppended { index, text } => format!("{index} {text}"),
        other => format!("{other:?}"),
    };
    let mut events: Vec<String> = pieces
        .iter()
        .map(|call| chunk(&json!({ "tool_calls": [call] }), &Value::Null))
        .collect();
    events.push(chunk(&json!({}), &json!("tool_calls")));
    let mut steps: Vec<Vec<Delta>> = Vec::new();
    for data in &events {
        steps.push(decoder.push(None, data).expect("a chunk"));
    }
    steps.push(decoder.rest().expect("a rest"));
    let told = |deltas: &Vec<Delta>| deltas.iter().map(tell).collect();
    steps.iter().map(told).collect()
}

fn begun(index: u32, arguments: &str) -> Value {
    json!({ "index": index, "id": format!("call_{index}"), "function": { "name": "f", "arguments": arguments } })
}

fn more(index: u32, arguments: &str) -> Value {
    json!({ "index": index, "function": { "arguments": arguments } })
}

#[test]
fn a_call_that_is_whole_ends_where_the_next_one_begins() {
    let told = step_by_step(&[
        begun(0, ""),
        more(0, "{\"a\""),
        more(0, ":1}"),
        begun(1, ""),
        more(1, "{}"),
    ]);
    let expected: [&[&str]; 7] = [
        &[],
        &["start 0", "0 {\"a\""],
        &["0 :1}"],
        &["end 0"],
        &["start 1", "1 {}"],
        &[],
        &["end 1"],
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_call_that_is_not_whole_stays_open_while_others_begin() {
    let told = step_by_step(&[
        begun(0, "{\"a\":"),
        begun(1, "{\"b\":"),
        more(0, "1}"),
        more(1, "2}"),
    ]);
    let expected: [&[&str]; 6] = [
        &["start 0", "0 {\"a\":"],
        &["start 1", "1 {\"b\":"],
        &["0 1}", "end 0"],
        &["1 2}"],
        &[],
        &["end 1"],
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_call_takes_what_is_added_to_it_unless_it_has_ended() {
    let finished = |pieces: &[Value], late: Value| {
        let mut events: Vec<String> = pieces
            .iter()
            .map(|call| chunk(&json!({ "tool_calls": [call] }), &Value::Null))
            .collect();
        events.push(chunk(&json!({}), &json!("tool_calls")));
        events.push(chunk(&json!({ "tool_calls": [late] }), &Value::Null));
        read(Decoder::new(owner()), events.iter().map(String::as_str))
    };
    let whole = "{\"a\":1}";
    for (early, late) in [("", whole), (whole, ""), (whole, " "), (whole, whole)] {
        let (deltas, end) = finished(&[begun(0, early)], more(0, late)).expect("a call");
        assert_eq!(
            calls(&accumulated(&deltas, end)),
            [format!("call_0 f {whole}")]
        );
    }
    let early = [begun(0, whole), begun(1, "{}"), more(0, "{\"b\":2}")];
    let events = early.map(|call| chunk(&json!({ "tool_calls": [call] }), &Value::Null));
    let fault = read(Decoder::new(owner()), events.iter().map(String::as_str));
    assert!(
        matches!(fault, Err(DecodeError::Violation { .. })),
        "{fault:?}"
    );
}

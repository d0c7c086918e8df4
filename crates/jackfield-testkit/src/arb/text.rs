//! Texts of every script, identifiers, and JSON.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Number, Value};

/// Any text: empty, blank, in any script, with control characters; short.
pub fn text() -> impl Strategy<Value = Arc<str>> + Clone {
    prop_oneof![
        6 => select(SPOKEN).prop_map(Arc::from),
        2 => select(AWKWARD).prop_map(Arc::from),
        2 => vec(any::<char>(), 0..8).prop_map(|chars| chars.into_iter().collect::<String>().into()),
    ]
    .boxed()
}

/// Text that is neither empty nor blank.
pub fn words() -> impl Strategy<Value = Arc<str>> + Clone {
    prop_oneof![
        6 => select(SPOKEN).prop_map(Arc::from),
        2 => (select(AWKWARD), select(SPOKEN)).prop_map(|(one, two)| format!("{one}{two}").into()),
        1 => vec(any::<char>(), 0..8).prop_map(|chars| format!("x{}", chars.into_iter().collect::<String>()).into()),
    ]
    .boxed()
}

/// A short ordinary name of a model, kind or place.
pub fn word() -> impl Strategy<Value = Arc<str>> + Clone {
    select(NAMES).prop_map(Arc::from)
}

/// The text of a valid identifier of at most this many characters.
pub fn id(longest: usize) -> impl Strategy<Value = String> + Clone {
    let anything = vec(select(ID_CHARACTERS), 1..=longest.min(40));
    prop_oneof![
        4 => (select(&["a", "b", "id_1", "Id-2", "0"][..])).prop_map(str::to_owned),
        1 => anything.prop_map(|bytes| bytes.into_iter().map(char::from).collect()),
    ]
    .boxed()
}

/// A JSON value: shallow, with keys in any order.
pub fn json() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        select(FRACTIONS)
            .prop_map(|number| Number::from_f64(number).map_or(Value::Null, Value::from)),
        text().prop_map(|text| Value::from(&*text)),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((text(), inner), 0..3).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(key, value)| (key.to_string(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
    .boxed()
}

/// A JSON object.
pub fn json_object() -> impl Strategy<Value = Map<String, Value>> + Clone {
    vec((text(), json()), 0..3)
        .prop_map(|fields| {
            fields
                .into_iter()
                .map(|(key, value)| (key.to_string(), value))
                .collect()
        })
        .boxed()
}

const SPOKEN: &[&str] = &[
    "hello",
    "What is 17% of 2480?",
    "今天上海的天气怎么样？",
    "Какая сегодня погода?",
    "👩\u{200d}👩\u{200d}👧 🚀",
    "e\u{301}te\u{301}",
    "שלום",
    "{\"not\": \"arguments\"}",
    "two\nlines",
];

const AWKWARD: &[&str] = &[
    "",
    " ",
    "\t\r\n",
    "\u{3000}",
    "\0",
    "\u{7}\u{1b}[31m",
    "\u{feff}",
    "\u{2028}",
    "\u{202e}abc",
    "\"\\/",
    "data: [DONE]\n\n",
    "\u{10ffff}",
];

const NAMES: &[&str] = &["alpha", "beta", "gamma-2", "модель", "模型"];

const ID_CHARACTERS: &[u8] = b"ABYZabyz0189_-";

/// Fractions that every JSON parser reads exactly, regardless of rounding.
const FRACTIONS: &[f64] = &[0.5, -1.25, 0.1, 3.75e10, 1e-7];

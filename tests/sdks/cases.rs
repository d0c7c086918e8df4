//! What the models say, case by case: the same for every SDK.

use jackfield_testkit::server::Gate;
use jackfield_testservers::script::{Part, Turn};
use serde_json::json;

use crate::upstream::Wire;

/// The cases in which a model is asked. A user's first words begin with the name in brackets.
pub(crate) const NAMES: &[&str] = &[
    "abort",
    "background",
    "both_sides",
    "broken_connection",
    "broken_stream",
    "cancel",
    "client_full",
    "client_parallel",
    "client_rounds",
    "deletion",
    "fork",
    "image",
    "provider_refuses",
    "server_rounds",
    "stream",
    "stream_again",
    "structured",
    "thinking",
    "words",
];

/// What is said in a case, one turn after another. Before the gate is open, a reply that breaks is not whole.
pub(crate) fn turns(case: &str, wire: Wire, gate: &Gate) -> Vec<Turn> {
    match case {
        "abort" => vec![
            Turn::text("One, two, three, ".repeat(100)).stall_after(ABORT),
            Turn::text("Here again."),
        ],
        "background" => vec![Turn::text("In its own time.")],
        "both_sides" => vec![
            Turn::text("Both at once.")
                .and_call("calculator", &json!({ "expression": "6*7" }))
                .and_call("add", &json!({ "a": 1, "b": 2 })),
            Turn::text("42 and 3.").when("3"),
        ],
        "broken_connection" => vec![Turn::text("Said once.")],
        "broken_stream" => vec![Turn::text("Said once.").pause_after(begun(wire), gate)],
        "cancel" => vec![Turn::text("One, two, three, ".repeat(100)).stall_after(ABORT)],
        "client_parallel" => vec![
            Turn::text("Two sums.")
                .and_call("add", &json!({ "a": 1, "b": 2 }))
                .and_call("add", &json!({ "a": 3, "b": 4 })),
            Turn::text("3 and 7.").when("7"),
        ],
        "client_full" | "client_rounds" => vec![
            Turn::call("add", &json!({ "a": 1, "b": 2 })),
            Turn::text("And now with four.").and_call("add", &json!({ "a": 3, "b": 4 })),
            Turn::text("It is 7.").when("7"),
        ],
        "deletion" => vec![Turn::text("To be forgotten.")],
        "fork" => vec![
            Turn::text("Red it is."),
            Turn::text("Because it is red."),
            Turn::text("Blue, then."),
        ],
        "image" => vec![Turn::text("A red dot.")],
        "provider_refuses" => vec![Turn::status(
            400,
            &json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "not like this" } }),
        )],
        "server_rounds" => vec![
            Turn::text("First a product.").and_call("calculator", &json!({ "expression": "6*7" })),
            Turn::call("calculator", &json!({ "expression": "42+1" })),
            Turn::text("It is 43.").when("43"),
        ],
        "stream" | "stream_again" => vec![Turn::text("One word after another, 一个字一个字地。")],
        "structured" => vec![Turn::text("{\"city\":\"Oslo\",\"degrees\":7}")],
        "thinking" => {
            let thought = Part::Thinking {
                signature: "c2lnbmVk".to_owned(),
                text: "Two and two.".to_owned(),
            };
            let thought = wire.shows_reasoning().then_some(thought);
            let answer = Part::Text("Four.".to_owned());
            vec![
                Turn::reply(thought.into_iter().chain([answer])),
                Turn::text("Still four."),
            ]
        }
        "words" => vec![Turn::text("Hello! 你好")],
        other => panic!("there is no case {other}"),
    }
}

/// The bytes of a stream after which some of its words have been told, and it is not over.
const fn begun(wire: Wire) -> usize {
    match wire {
        Wire::Chat | Wire::Claude => 700,
        Wire::Responses => 3400,
    }
}

/// The bytes of a stream after which the vendor falls silent: many of its words have been told, whatever
/// stands before them, and many have not.
const ABORT: usize = 20_000;

//! What the models say, case by case: the same for every SDK.

use jackfield_testkit::server::Gate;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
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
pub(crate) fn turns(case: &str, wire: Wire, gate: &Gate) -> Vec<ScriptTurn> {
    match case {
        "abort" => vec![
            ScriptTurn::text("One, two, three, ".repeat(100)).stall_after(ABORT),
            ScriptTurn::text("Here again."),
        ],
        "background" => vec![ScriptTurn::text("In its own time.")],
        "both_sides" => vec![
            ScriptTurn::text("Both at once.")
                .and_call("calculator", &json!({ "expression": "6*7" }))
                .and_call("add", &json!({ "a": 1, "b": 2 })),
            ScriptTurn::text("42 and 3.").when("3"),
        ],
        "broken_connection" => vec![ScriptTurn::text("Said once.")],
        "broken_stream" => vec![ScriptTurn::text("Said once.").pause_after(begun(wire), gate)],
        "cancel" => vec![ScriptTurn::text("One, two, three, ".repeat(100)).stall_after(ABORT)],
        "client_parallel" => vec![
            ScriptTurn::text("Two sums.")
                .and_call("add", &json!({ "a": 1, "b": 2 }))
                .and_call("add", &json!({ "a": 3, "b": 4 })),
            ScriptTurn::text("3 and 7.").when("7"),
        ],
        "client_full" | "client_rounds" => vec![
            ScriptTurn::call("add", &json!({ "a": 1, "b": 2 })),
            ScriptTurn::text("And now with four.").and_call("add", &json!({ "a": 3, "b": 4 })),
            ScriptTurn::text("It is 7.").when("7"),
        ],
        "deletion" => vec![ScriptTurn::text("To be forgotten.")],
        "fork" => vec![
            ScriptTurn::text("Red it is."),
            ScriptTurn::text("Because it is red."),
            ScriptTurn::text("Blue, then."),
        ],
        "image" => vec![ScriptTurn::text("A red dot.")],
        "provider_refuses" => vec![ScriptTurn::status(
            400,
            &json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "not like this" } }),
        )],
        "server_rounds" => vec![
            ScriptTurn::text("First a product.")
                .and_call("calculator", &json!({ "expression": "6*7" })),
            ScriptTurn::call("calculator", &json!({ "expression": "42+1" })),
            ScriptTurn::text("It is 43.").when("43"),
        ],
        "stream" | "stream_again" => {
            vec![ScriptTurn::text("One word after another, 一个字一个字地。")]
        }
        "structured" => vec![ScriptTurn::text("{\"city\":\"Oslo\",\"degrees\":7}")],
        "thinking" => {
            let thought = ScriptPart::Thinking {
                signature: "c2lnbmVk".to_owned(),
                text: "Two and two.".to_owned(),
            };
            let thought = wire.shows_reasoning().then_some(thought);
            let answer = ScriptPart::Text("Four.".to_owned());
            vec![
                ScriptTurn::reply(thought.into_iter().chain([answer])),
                ScriptTurn::text("Still four."),
            ]
        }
        "words" => vec![ScriptTurn::text("Hello! 你好")],
        other => panic!("there is no case {other}"),
    }
}

/// The bytes of a stream after which some of its words have been told, and it is not over.
const fn begun(wire: Wire) -> usize {
    match wire {
        Wire::Chat | Wire::Claude | Wire::Gemini => 700,
        Wire::Responses => 3400,
    }
}

/// The bytes of a stream after which the vendor falls silent: many of its words have been told, whatever
/// stands before them, and many have not.
const ABORT: usize = 20_000;

//! A session goes on with another provider: what was one's own is withheld from the other, with a note.

use std::collections::BTreeSet;

use jackfield_domain::block::Content;
use jackfield_domain::fact::TurnEnd;
use jackfield_engine::TurnReport;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use jackfield_testservers::scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::harness::kept;
use crate::models::{Chat, Wire};

const WIRES: [Wire; 8] = [
    Wire::Claude,
    Wire::DeepSeek,
    Wire::Gemini,
    Wire::Mistral,
    Wire::Ollama,
    Wire::OllamaNative,
    Wire::OpenAiChat,
    Wire::OpenAiResponses,
];

#[tokio::test]
async fn every_provider_goes_on_where_every_other_one_stopped() {
    for (from, to) in pairs() {
        let way = format!("{from:?} to {to:?}");
        let first = from
            .serve([
                ScriptTurn::reply([
                    thinking("first"),
                    call("add", "firstadd1"),
                    call("multiply", "firstmul2"),
                ]),
                ScriptTurn::reply([thinking("second"), ScriptPart::Text("2 and 6.".to_owned())]),
                ScriptTurn::text("Back again.").when("And you?"),
            ])
            .await;
        let second = to
            .serve([
                ScriptTurn::reply([thinking("third"), call("add", "thirdadd3")])
                    .when("And once more?"),
                ScriptTurn::text("Still 2."),
            ])
            .await;
        let chat = Chat::new([(from, &*first), (to, &*second)]);
        let begun = chat.say(from, "Calculate.").await;
        assert_eq!(begun.answer(), "2 and 6.", "{way}");

        let switched = chat.say(to, "And once more?").await;
        assert_eq!(second.violations(), [""; 0], "{way}");
        assert_eq!(switched.answer(), "Still 2.", "{way}");
        // The words are told, and nothing that is the first one's own.
        let told = last_request(&second);
        assert!(told.contains("2 and 6."), "{way}: {told}");
        for own in own_ids(&begun).iter().chain(&secrets(&["first", "second"])) {
            assert!(!told.contains(own.as_str()), "{way}: {own} in {told}");
        }
        let expected: &[&str] = if from.shows_reasoning() {
            &["messages[1].blocks[0]", "messages[3].blocks[0]"]
        } else {
            &[]
        };
        assert_eq!(
            withheld(&switched),
            expected.iter().copied().collect(),
            "{way}"
        );

        // Back at the first, its own comes back, and the other's is withheld.
        let back = chat.say(from, "And you?").await;
        assert_eq!(first.violations(), [""; 0], "{way} and back");
        assert_eq!(back.answer(), "Back again.", "{way} and back");
        let told = last_request(&first);
        for own in own_ids(&begun) {
            assert!(told.contains(&own), "{way} and back: {own} not in {told}");
        }
        for own in own_ids(&switched).iter().chain(&secrets(&["third"])) {
            assert!(
                !told.contains(own.as_str()),
                "{way} and back: {own} in {told}"
            );
        }
        let expected: &[&str] = if to.shows_reasoning() {
            &["messages[5].blocks[0]"]
        } else {
            &[]
        };
        assert_eq!(
            withheld(&back),
            expected.iter().copied().collect(),
            "{way} and back"
        );
        kept(&first);
        kept(&second);
    }
}

/// A history that ends with outcomes, and not with an answer: not every server takes a question after it.
#[tokio::test]
async fn a_session_goes_on_after_a_turn_that_broke_off_at_its_outcomes() {
    let refusal = json!({
        "type": "error",
        "error": { "type": "invalid_request_error", "message": "not today" },
    });
    for wire in WIRES {
        let server = wire
            .serve([
                ScriptTurn::call("add", &json!({})).and_call("multiply", &json!({})),
                ScriptTurn::status(400, &refusal),
                ScriptTurn::text("Here I am.").when("Are you there?"),
            ])
            .await;
        let chat = Chat::new([(wire, &*server)]);
        let broken = chat.say(wire, "Calculate.").await;
        assert!(
            matches!(broken.end, TurnEnd::Failed(_)),
            "{wire:?} {:?}",
            broken.end
        );
        let on = chat.say(wire, "Are you there?").await;
        assert_eq!(server.violations(), [""; 0], "{wire:?}");
        assert_eq!(on.answer(), "Here I am.", "{wire:?}");
        kept(&server);
    }
}

/// All ordered pairs of two providers.
fn pairs() -> impl Iterator<Item = (Wire, Wire)> {
    let pairs = WIRES
        .into_iter()
        .flat_map(|from| WIRES.map(|to| (from, to)));
    pairs.filter(|(from, to)| from != to)
}

fn thinking(secret: &str) -> ScriptPart {
    ScriptPart::Thinking {
        signature: signature(secret),
        text: thought(secret),
    }
}

fn signature(secret: &str) -> String {
    format!("c2lnbmVk{secret}")
}

fn thought(secret: &str) -> String {
    format!("the {secret} thought")
}

/// What nobody but its owner is told.
fn secrets(secrets: &[&str]) -> Vec<String> {
    let secrets = secrets.iter();
    secrets
        .flat_map(|secret| [signature(secret), thought(secret)])
        .collect()
}

/// Its id has nine letters and digits: so every server could have given it.
fn call(name: &str, id: &str) -> ScriptPart {
    ScriptPart::Call {
        arguments: "{}".to_owned(),
        id: Some(id.to_owned()),
        name: name.to_owned(),
    }
}

/// The provider's own ids of the calls of a turn, as they stand in a request.
fn own_ids(report: &TurnReport) -> Vec<String> {
    let blocks = report.messages.iter().flat_map(|message| &message.blocks);
    let ids = blocks.filter_map(|block| match &block.content {
        Content::ToolCall(call) => Some(format!("\"{}\"", call.upstream.as_ref()?.id)),
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolOutcome(_) => None,
    });
    let ids: Vec<String> = ids.collect();
    assert!(!ids.is_empty(), "the calls have ids of the provider");
    ids
}

fn last_request(server: &ScriptedServer) -> String {
    let requests = server.requests();
    requests.last().map(Value::to_string).unwrap_or_default()
}

/// The reasoning that was withheld, by its place.
fn withheld(report: &TurnReport) -> BTreeSet<&str> {
    let notes = report.notes.iter();
    let withheld = notes.filter(|note| note.code == "thinking_withheld");
    withheld.map(|note| note.path.as_str()).collect()
}

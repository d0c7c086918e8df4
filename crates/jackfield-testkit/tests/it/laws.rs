//! The laws of request mappers: a small dialect keeps them, and each mistake in it breaks one.

mod replies;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::ToolChoice;
use jackfield_testkit::laws::{self, RequestMappers, beginnings};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// A dialect of texts, each with a state that goes back to its owner; it has no `seed`.
struct Toy<const MISTAKE: u8>;

const NONE: u8 = 0;
const REFUSES_ELSEWHERE: u8 = 1;
const BREAKS_A_RULE: u8 = 2;
const READS_ARRAYS: u8 = 3;
const FORGETS: u8 = 4;
const NOTES_NOTHING: u8 = 5;
const CHANGES_ON_THE_WAY: u8 = 6;
const TELLS_STRANGERS: u8 = 7;
const NAMES_NO_FIELD: u8 = 8;

impl<const MISTAKE: u8> RequestMappers for Toy<MISTAKE> {
    type Profile = ();

    const FREE_FIELDS: &'static [&'static str] = &["state"];
    const NOTES: &'static [&'static str] = &["setting_not_supported"];

    fn owner() -> StateOwner {
        StateOwner {
            dialect: "toy".into(),
            endpoint: "https://toy.example".into(),
            model: "toy-1".into(),
        }
    }

    fn profiles() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn requests() -> BoxedStrategy<ModelRequest> {
        let texts = prop::collection::vec(("[a-z]{1,8}", any::<bool>()), 1..4);
        let requests = (texts, any::<Option<i64>>()).prop_map(|(texts, seed)| {
            let blocks = texts.into_iter().map(|(text, is_marked)| {
                let mut block = Block::text(text);
                block
                    .opaque
                    .extend(is_marked.then(|| mark(json!({ "n": 1 }))));
                block
            });
            request(blocks.collect(), seed)
        });
        requests.boxed()
    }

    fn write(
        request: &ModelRequest,
        owner: &StateOwner,
        (): &(),
    ) -> Result<(Value, Vec<Note>), String> {
        let mut texts = Vec::new();
        for (n, message) in request.messages.iter().enumerate() {
            for (b, block) in message.blocks.iter().enumerate() {
                let Content::Text(text) = &block.content else {
                    let b = if MISTAKE == REFUSES_ELSEWHERE {
                        1000
                    } else {
                        b
                    };
                    return Err(format!("messages[{n}].blocks[{b}]"));
                };
                let mut fields = Map::new();
                fields.insert("text".to_owned(), json!(*text.text));
                let is_shown =
                    |state: &&OpaqueState| state.owner == *owner || MISTAKE == TELLS_STRANGERS;
                if let Some(state) = block.opaque.iter().find(is_shown) {
                    fields.insert("state".to_owned(), state.json.clone());
                }
                texts.push(Value::Object(fields));
            }
        }
        if MISTAKE == FORGETS && texts.len() > 1 {
            texts.pop();
        }
        let mut body = json!({ "texts": texts });
        if MISTAKE == BREAKS_A_RULE {
            body["stray"] = json!(1);
        }
        let note = |path: &str| {
            let (kind, effect) = (NoteKind::Dropped, NoteEffect::Quality);
            Note::new(kind, effect, "setting_not_supported", path.to_owned())
        };
        let lost = request.settings.seed.map(|_| note("settings.seed"));
        let mut notes: Vec<Note> = lost.into_iter().collect();
        if MISTAKE == NOTES_NOTHING {
            notes.push(note("settings.top_k"));
        }
        Ok((body, notes))
    }

    fn read(body: &[u8]) -> Result<ModelRequest, String> {
        let body: Value = serde_json::from_slice(body).map_err(|fault| fault.to_string())?;
        let texts = body.get("texts").and_then(Value::as_array);
        let mut blocks = Vec::new();
        for fields in texts.ok_or("no texts")? {
            let text = match fields.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None if MISTAKE == READS_ARRAYS => fields.to_string(),
                None => return Err("no text".to_owned()),
            };
            let more = if MISTAKE == CHANGES_ON_THE_WAY {
                "!"
            } else {
                ""
            };
            let mut block = Block::text(text + more);
            block.opaque.extend(fields.get("state").cloned().map(mark));
            blocks.push(block);
        }
        Ok(request(blocks, None))
    }

    fn serve(body: &[u8]) -> Result<(), Option<String>> {
        let field = (MISTAKE != NAMES_NO_FIELD).then(|| "texts".to_owned());
        Self::read(body).map(drop).map_err(|_| field)
    }

    fn faults(body: &Value, (): &()) -> Vec<String> {
        let fields = body.as_object().into_iter().flatten();
        let strays = fields.filter(|(key, _)| *key != "texts");
        strays.map(|(key, _)| key.clone()).collect()
    }

    fn state_in(body: &Value) -> Option<String> {
        let texts = body.get("texts").and_then(Value::as_array);
        let mut states = texts
            .into_iter()
            .flatten()
            .map(|fields| fields.get("state"));
        states.find_map(|state| state.map(Value::to_string))
    }
}

mod sound {
    use super::{NONE, Toy};

    jackfield_testkit::request_laws!(Toy<NONE>);
}

#[test]
fn each_mistake_breaks_its_law() {
    let any = jackfield_testkit::arb::model_request().boxed();
    assert_broken(
        &any,
        laws::a_refusal_names_a_block::<Toy<REFUSES_ELSEWHERE>>,
    );
    let ours = Toy::<NONE>::requests();
    assert_broken(&ours, laws::rules_accept_bodies::<Toy<BREAKS_A_RULE>>);
    assert_broken(&ours, laws::arrays_are_no_objects::<Toy<READS_ARRAYS>>);
    assert_broken(&ours, laws::arrays_are_no_objects::<Toy<NAMES_NO_FIELD>>);
    assert_broken(&ours, laws::notes_tell_differences::<Toy<FORGETS>>);
    assert_broken(&ours, laws::notes_tell_differences::<Toy<NOTES_NOTHING>>);
    assert_broken(
        &ours,
        laws::what_came_back_is_stable::<Toy<CHANGES_ON_THE_WAY>>,
    );
    assert_broken(&ours, laws::strangers_get_no_state::<Toy<TELLS_STRANGERS>>);
}

#[test]
#[should_panic(expected = "unknown: [\"setting_not_supported\"]")]
fn a_note_that_is_not_listed_is_found() {
    laws::every_note_is_reached::<Unlisted>();
}

/// The same dialect with a list of notes that lacks one.
struct Unlisted;

impl RequestMappers for Unlisted {
    type Profile = ();

    const FREE_FIELDS: &'static [&'static str] = &[];
    const NOTES: &'static [&'static str] = &[];

    fn owner() -> StateOwner {
        Toy::<NONE>::owner()
    }

    fn profiles() -> BoxedStrategy<()> {
        Toy::<NONE>::profiles()
    }

    fn requests() -> BoxedStrategy<ModelRequest> {
        Toy::<NONE>::requests()
    }

    fn write(
        request: &ModelRequest,
        owner: &StateOwner,
        profile: &(),
    ) -> Result<(Value, Vec<Note>), String> {
        Toy::<NONE>::write(request, owner, profile)
    }

    fn read(body: &[u8]) -> Result<ModelRequest, String> {
        Toy::<NONE>::read(body)
    }

    fn serve(body: &[u8]) -> Result<(), Option<String>> {
        Toy::<NONE>::serve(body)
    }

    fn faults(body: &Value, profile: &()) -> Vec<String> {
        Toy::<NONE>::faults(body, profile)
    }

    fn state_in(body: &Value) -> Option<String> {
        Toy::<NONE>::state_in(body)
    }
}

fn assert_broken(
    requests: &BoxedStrategy<ModelRequest>,
    law: fn(&ModelRequest, &()) -> Result<(), TestCaseError>,
) {
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(64)
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let kept = runner.run(requests, |request| law(&request, &()));
    assert!(kept.is_err(), "no request breaks the law");
}

fn mark(json: Value) -> OpaqueState {
    OpaqueState {
        kind: "mark".into(),
        json,
        owner: Toy::<NONE>::owner(),
        scope: StateScope::Block,
    }
}

fn request(blocks: Vec<Block>, seed: Option<i64>) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::new(Role::User, blocks)].into_iter().collect(),
        model: ModelRef {
            model: "toy-1".into(),
            provider: "toy".into(),
        },
        turn: None,
        settings: std::sync::Arc::new(Settings {
            seed,
            ..Settings::default()
        }),
        strict: None,
        system: std::sync::Arc::default(),
        tools: std::sync::Arc::default(),
        searchable: std::sync::Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

#[test]
fn a_request_begins_like_another_with_more_at_its_end() {
    let before = json!({
        "model": "m",
        "tools": [{ "name": "a", "cache_control": {} }],
        "messages": [{ "role": "user", "content": [{ "text": "hi" }] }],
    });
    let changed = |change: fn(&mut Value)| {
        let mut next = before.clone();
        change(&mut next);
        beginnings::changed_beginning(&before, &next)
    };
    let same: [fn(&mut Value); 5] = [
        |_| {},
        |next| next["tools"] = json!([{ "name": "a" }, { "name": "b" }]),
        |next| next["messages"] = json!([next["messages"][0], { "role": "assistant" }]),
        |next| next["messages"][0]["content"] = json!([{ "text": "hi" }, { "text": "you" }]),
        |next| next["messages"][0]["content"] = json!("hi you"),
    ];
    assert!(same.iter().all(|change| changed(*change).is_none()));
    let others: [fn(&mut Value); 5] = [
        |next| next["model"] = json!("n"),
        |next| next["tools"] = json!([{ "name": "b" }, { "name": "a" }]),
        |next| next["messages"] = json!([]),
        |next| next["messages"][0]["role"] = json!("system"),
        |next| next["system"] = json!("Be careful."),
    ];
    assert!(others.iter().all(|change| changed(*change).is_some()));
}

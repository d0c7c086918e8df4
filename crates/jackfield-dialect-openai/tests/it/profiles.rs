//! Which profile a model of OpenAI's has.

use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::{chat, responses};
use jackfield_domain::message::Message;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{Effort, Settings};
use jackfield_domain::tool::ToolChoice;

fn asked(settings: &Settings) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::user("hi")].into_iter().collect(),
        model: ModelRef {
            model: "something-new".into(),
            provider: "p".into(),
        },
        rounds: None,
        settings: Arc::new(settings.clone()),
        strict: None,
        system: Arc::default(),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

#[test]
fn current_models_have_the_current_profile() {
    for model in [
        "",
        "gpt-6-astra",
        "gpt-5.6-sol",
        "gpt-5.4-mini",
        "ft:gpt-6-astra:acme::1",
        "o3",
        "o4-mini",
    ] {
        let current = Profile {
            tool_search: Profile::openai(model).tool_search,
            ..Profile::OPENAI
        };
        assert_eq!(Profile::openai(model), current, "{model}");
    }
}

/// The strictest profile would take the temperature out of a request, and add an effort to it.
#[test]
fn a_model_that_is_not_known_is_sent_what_is_set_and_no_more_and_that_is_noted() {
    for model in [
        "something-new",
        "my-deployment",
        "opus",
        "o",
        "llama-4",
        "ft:mine",
    ] {
        assert_eq!(Profile::openai(model), Profile::OPENAI_PLAIN, "{model}");
    }
    let mut settings = Settings {
        temperature: Some(0.5),
        ..Settings::default()
    };
    let owner = StateOwner {
        dialect: "d".into(),
        endpoint: "https://models.example".into(),
        model: "something-new".into(),
    };
    let bodies = |settings: &Settings| {
        let request = asked(settings);
        let profile = Profile::openai(&request.model.model);
        let chat = chat::request::to_wire(&request, &owner, &profile, true);
        let responses = responses::request::to_wire(&request, &owner, &profile, true);
        let (chat, responses) = (chat.expect("a body"), responses.expect("a body"));
        for notes in [&chat.1, &responses.1] {
            let codes: Vec<_> = notes.iter().map(|note| &*note.code).collect();
            assert_eq!(codes, ["unknown_model"]);
        }
        (
            serde_json::to_value(&chat.0).expect("JSON"),
            serde_json::to_value(&responses.0).expect("JSON"),
        )
    };
    let (chat, responses) = bodies(&settings);
    assert_eq!(chat["temperature"], 0.5);
    assert_eq!(chat.get("reasoning_effort"), None);
    assert_eq!(responses["temperature"], 0.5);
    assert_eq!(responses.get("reasoning"), None);
    assert_eq!(responses.get("include"), None);
    settings.effort = Some(Effort::High);
    let (chat, responses) = bodies(&settings);
    assert_eq!(chat["reasoning_effort"], "high");
    assert_eq!(responses["reasoning"]["effort"], "high");
}

#[test]
fn models_before_reasoning_have_their_own() {
    for model in [
        "gpt-4o",
        "gpt-4.1-mini",
        "gpt-3.5-turbo",
        "ft:gpt-4o-mini-2024-07-18:acme::1",
    ] {
        let profile = Profile::openai(model);
        assert_eq!(profile, Profile::OPENAI_WITHOUT_REASONING, "{model}");
    }
}

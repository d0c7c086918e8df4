//! Which profile a model of OpenAI's has.

use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::{chat, responses};
use jackfield_domain::message::Message;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::{Effort, Settings, ThinkingMode};
use jackfield_domain::tool::ToolChoice;
use serde_json::Value;

use crate::chat::examples::tool;

fn asked(model: &str, settings: &Settings) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::user("hi")].into_iter().collect(),
        model: ModelRef {
            model: model.into(),
            provider: "p".into(),
        },
        turn: None,
        settings: Arc::new(settings.clone()),
        strict: None,
        system: Arc::default(),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

fn owner() -> StateOwner {
    StateOwner {
        dialect: "d".into(),
        endpoint: "https://models.example".into(),
        model: "m".into(),
    }
}

/// A body, and the codes of its notes.
type Sent = (Value, Vec<String>);

/// The bodies of a request over both APIs, by its model's profile.
fn bodies(request: &ModelRequest) -> (Sent, Sent) {
    let profile = Profile::openai(&request.model.model);
    let codes = |notes: Vec<Note>| notes.iter().map(|note| note.code.to_string()).collect();
    let chat = chat::request::to_wire(request, &owner(), &profile, true).expect("a body");
    let responses = responses::request::to_wire(request, &owner(), &profile, true);
    let responses = responses.expect("a body");
    (
        (serde_json::to_value(&chat.0).expect("JSON"), codes(chat.1)),
        (
            serde_json::to_value(&responses.0).expect("JSON"),
            codes(responses.1),
        ),
    )
}

#[test]
fn each_line_of_models_has_its_efforts_and_its_tools_on_chat_completions() {
    use Effort::{ExtraHigh, High, Low, Max, Medium, Minimal, None};
    let thinking = &[Low, Medium, High, ExtraHigh, Max][..];
    let all = &[None, Low, Medium, High, ExtraHigh, Max][..];
    let to_extra_high = &[None, Low, Medium, High, ExtraHigh][..];
    for (model, efforts, tools_without_effort, max_effort) in [
        ("gpt-6.2-sol", thinking, false, true),
        ("gpt-6.2-astra-law", thinking, false, true),
        ("gpt-6.1-sol", thinking, true, false),
        ("gpt-6-astra", thinking, true, false),
        ("ft:gpt-6-astra:acme::1", thinking, true, false),
        ("gpt-6-sol", all, true, true),
        ("gpt-6-luna-2026-09-22", all, true, true),
        ("gpt-6.1-terra", all, true, true),
        ("gpt-5.6", all, true, false),
        ("gpt-5.6-sol", all, true, false),
        ("gpt-5.5", to_extra_high, true, true),
        ("gpt-5.4-mini", to_extra_high, true, true),
        ("gpt-5.4-pro", &[Medium, High, ExtraHigh], false, true),
        (
            "gpt-5.3-codex",
            &[Low, Medium, High, ExtraHigh],
            false,
            true,
        ),
        ("gpt-5.2", to_extra_high, false, true),
        ("gpt-5.1", &[None, Low, Medium, High], false, true),
        ("gpt-5-mini", &[Minimal, Low, Medium, High], false, true),
        ("gpt-5-pro", &[High], false, true),
        ("o3", &[Low, Medium, High], false, true),
        ("o4-mini", &[Low, Medium, High], false, true),
        ("codex-mini-latest", Profile::OPENAI.efforts, false, true),
    ] {
        let expected = Profile {
            efforts,
            max_effort,
            tool_search: Profile::openai(model).tool_search,
            tools_without_effort,
            ..Profile::OPENAI
        };
        assert_eq!(Profile::openai(model), expected, "{model}");
    }
    assert_eq!(Profile::openai(""), Profile::OPENAI);
}

#[test]
fn a_model_of_a_line_that_is_not_known_is_plain() {
    for model in [
        "gpt-7",
        "gpt-6.3-sol",
        "gpt-6-rosalind",
        "gpt-60-astra",
        "gpt-6.2-solar",
        "gpt-5.2-chat-latest",
        "gpt-oss-120b",
        "o30",
    ] {
        let plain = Profile {
            tool_search: Profile::openai(model).tool_search,
            ..Profile::OPENAI_PLAIN
        };
        assert_eq!(Profile::openai(model), plain, "{model}");
    }
}

/// A client's effort, or its wish for no thinking, and what is sent of it over both APIs.
#[test]
fn a_line_is_sent_the_efforts_that_it_has() {
    use Effort::{Max, Minimal, None as Nothing};
    let off = Some(ThinkingMode::Off);
    for (model, effort, thinking, on_chat, on_responses) in [
        ("gpt-6.2-sol", Some(Nothing), None, Some("low"), Some("low")),
        ("gpt-6.2-sol", None, off, None, None),
        ("gpt-6.2-sol", Some(Minimal), None, Some("low"), Some("low")),
        ("gpt-6.2-sol", None, None, None, None),
        ("gpt-6-sol", Some(Nothing), None, Some("none"), Some("none")),
        ("gpt-6-sol", None, off, Some("none"), Some("none")),
        ("gpt-6-astra", Some(Max), None, Some("xhigh"), Some("max")),
        (
            "gpt-5",
            Some(Nothing),
            None,
            Some("minimal"),
            Some("minimal"),
        ),
        // The client alone knows an unknown model.
        ("gpt-7", Some(Nothing), None, Some("none"), Some("none")),
        (
            "gpt-7",
            Some(Minimal),
            None,
            Some("minimal"),
            Some("minimal"),
        ),
        ("gpt-7", Some(Max), None, Some("max"), Some("max")),
        ("gpt-7", None, None, None, None),
    ] {
        let settings = Settings {
            effort,
            thinking,
            ..Settings::default()
        };
        let request = asked(model, &settings);
        let (chat, responses) = bodies(&request);
        let sent = [
            &chat.0["reasoning_effort"],
            &responses.0["reasoning"]["effort"],
        ];
        assert_eq!(sent.map(Value::as_str), [on_chat, on_responses], "{model}");
        let mut names = Effort::NAMES.iter();
        let word = names.find(|(_, level)| Some(*level) == effort);
        let word = word.map(|(name, _)| *name);
        for (sent, codes) in [(on_chat, &chat.1), (on_responses, &responses.1)] {
            let is_told = codes.iter().any(|code| code == "effort_changed");
            assert_eq!(
                is_told,
                sent != word && effort.is_some(),
                "{model}: {codes:?}"
            );
            let is_told = codes.iter().any(|code| code == "thinking_not_sent");
            assert_eq!(
                is_told,
                thinking.is_some() && sent.is_none(),
                "{model}: {codes:?}"
            );
        }
    }
}

#[test]
fn tools_on_chat_completions_get_the_effort_that_their_model_takes_them_with() {
    for (model, effort, sent) in [
        ("gpt-6-sol", None, Ok(Some("none"))),
        ("gpt-6-sol", Some(Effort::High), Ok(Some("none"))),
        ("gpt-5.2", Some(Effort::High), Ok(Some("high"))),
        ("gpt-5.2", None, Ok(None)),
        ("gpt-5", None, Ok(None)),
        ("o3", Some(Effort::Low), Ok(Some("low"))),
        ("gpt-6.2-sol", None, Ok(None)),
        ("gpt-6.2-sol", Some(Effort::High), Ok(Some("high"))),
        ("gpt-7", None, Ok(None)),
        ("gpt-7", Some(Effort::High), Ok(Some("high"))),
        ("gpt-6-astra", Some(Effort::High), Err(())),
        ("gpt-6.1-sol", None, Err(())),
    ] {
        let settings = Settings {
            effort,
            ..Settings::default()
        };
        let mut request = asked(model, &settings);
        request.tools = Arc::new(vec![tool("f")]);
        let profile = Profile::openai(model);
        let body = chat::request::to_wire(&request, &owner(), &profile, true);
        let told = match &body {
            Ok((body, _)) => Ok(body.reasoning_effort.as_deref()),
            Err(refusal) => {
                assert_eq!(
                    refusal.to_string(),
                    "this model takes no tools on Chat Completions; \
                     set `api = \"responses\"` for its provider (tools)"
                );
                Err(())
            }
        };
        assert_eq!(told, sent, "{model}");
        let body = responses::request::to_wire(&request, &owner(), &profile, true);
        assert!(body.expect("a body").0.tools.is_some(), "{model}");
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
    let plain = |settings: &Settings| {
        let (chat, responses) = bodies(&asked("something-new", settings));
        assert_eq!(
            [chat.1, responses.1],
            [["unknown_model"], ["unknown_model"]]
        );
        (chat.0, responses.0)
    };
    let (chat, responses) = plain(&settings);
    assert_eq!(chat["temperature"], 0.5);
    assert_eq!(chat.get("reasoning_effort"), None);
    assert_eq!(responses["temperature"], 0.5);
    assert_eq!(responses.get("reasoning"), None);
    assert_eq!(responses.get("include"), None);
    settings.effort = Some(Effort::High);
    let (chat, responses) = plain(&settings);
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

//! How hard to think, and in what form to answer.

use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_domain::block::Block;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use serde_json::{Value, json};

use super::examples::{of, sent, tool};

#[test]
fn effort_is_none_beside_tools_where_they_are_refused_otherwise() {
    for (effort, tools, told, notes) in [
        (None, vec![], Value::Null, vec![]),
        (Some(Effort::High), vec![], json!("high"), vec![]),
        (
            None,
            vec![tool("f")],
            json!("none"),
            vec!["effort_not_with_tools"],
        ),
        (
            Some(Effort::High),
            vec![tool("f")],
            json!("none"),
            vec!["effort_not_with_tools"],
        ),
        (Some(Effort::None), vec![tool("f")], json!("none"), vec![]),
    ] {
        let mut request = of(vec![Message::user("go")]);
        request.tools = Arc::new(tools);
        request.settings = Arc::new(Settings {
            effort,
            ..Settings::default()
        });
        let (body, codes) = sent(&request, &Profile::OPENAI);
        assert_eq!(body["reasoning_effort"], told);
        assert_eq!(codes, notes);
    }
}

fn with(settings: Settings) -> ModelRequest {
    ModelRequest {
        settings: Arc::new(settings),
        ..of(vec![Message::user("hi")])
    }
}

#[test]
fn deepseek_is_told_not_to_think_by_a_field_of_its_own() {
    for (effort, thinking, reasoning_effort, switch, codes) in [
        (
            Some(Effort::None),
            None,
            Value::Null,
            json!({ "type": "disabled" }),
            &["thinking_by_field"; 2][..],
        ),
        (
            Some(Effort::High),
            Some(ThinkingMode::Off),
            Value::Null,
            json!({ "type": "disabled" }),
            &["thinking_by_field"; 3],
        ),
        (Some(Effort::Low), None, json!("low"), Value::Null, &[]),
    ] {
        let request = with(Settings {
            effort,
            thinking,
            ..Settings::default()
        });
        let (body, notes) = sent(&request, &Profile::DEEPSEEK);
        assert_eq!(body["reasoning_effort"], reasoning_effort);
        assert_eq!(body["thinking"], switch);
        assert_eq!(notes, codes);
    }
}

fn asked(system: &[&str], said: &str, later: &str) -> ModelRequest {
    let parts = system.iter().map(|text| SystemPart {
        origin: PartOrigin::Flag,
        text: (*text).into(),
    });
    let settings = Settings {
        response_format: ResponseFormat::JsonObject,
        ..Settings::default()
    };
    ModelRequest {
        settings: Arc::new(settings),
        system: Arc::new(SystemPrompt {
            parts: parts.collect(),
        }),
        ..of(vec![
            Message::user(said),
            Message::new(Role::Assistant, vec![Block::text("What?")]),
            Message::user(later),
        ])
    }
}

#[test]
fn an_answer_that_is_to_be_any_json_is_asked_for_in_words_once() {
    let ask = "Answer with a JSON object.";
    let appended = format!("Be brief.\n\n{ask}");
    let part = |text: &str| json!({ "type": "text", "text": text });
    let added = &["json_asked_in_words"][..];
    for (system, said, role, content, codes) in [
        (&[][..], "hi", "developer", json!(ask), added),
        (&["Be brief."], "hi", "developer", json!(appended), added),
        (
            &["Be brief.", "Be kind."],
            "hi",
            "developer",
            json!([part("Be brief."), part("Be kind."), part(ask)]),
            added,
        ),
        (
            &[],
            "as Json, please",
            "user",
            json!("as Json, please"),
            &[],
        ),
        (&["JSON only."], "hi", "developer", json!("JSON only."), &[]),
    ] {
        // What comes later may be gone in the next round.
        let (body, notes) = sent(&asked(system, said, "json!"), &Profile::OPENAI);
        assert_eq!(body["messages"][0]["role"], role);
        assert_eq!(body["messages"][0]["content"], content);
        assert_eq!(notes, codes);
    }
    let (body, _) = sent(&asked(&[], "hi", "go"), &Profile::DEEPSEEK);
    assert_eq!(
        body["messages"][0],
        json!({ "role": "system", "content": ask })
    );
    let unasked = ModelRequest {
        settings: Arc::default(),
        ..asked(&[], "hi", "go")
    };
    let (body, notes) = sent(&unasked, &Profile::OPENAI);
    assert_eq!(
        (&body["messages"][0]["role"], notes.len()),
        (&json!("user"), 0)
    );
}

//! The rules of what stands in messages, and in which order.

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_rules::claude::{self, Rule};
use serde_json::{Value, json};

use super::Edit::{Remove, Set};
use super::{check, edited, sound};

#[test]
fn blocks_stand_where_they_may() {
    check(
        "/messages/0/content/0/source/media_type",
        Set(|| json!("image/tiff")),
        "messages.0.content.0.source",
        Rule::ImageType,
    );
    check(
        "/messages/0/content/0/source/type",
        Set(|| json!("path")),
        "messages.0.content.0.source.type",
        Rule::WrongValue,
    );
    check(
        "/messages/0/content/2",
        Set(|| json!({ "type": "input_text", "text": "hi" })),
        "messages.0.content.2.type",
        Rule::WrongValue,
    );
    check(
        "/messages/0/content/2",
        Set(|| json!({ "type": "thinking", "thinking": "", "signature": "s" })),
        "messages.0.content.2",
        Rule::BlockOutOfPlace,
    );
    check(
        "/messages/0/content/2/text",
        Set(|| json!(" \n")),
        "messages.0.content.2.text",
        Rule::Empty,
    );
    check(
        "/messages/0/content",
        Set(|| json!([])),
        "messages.0.content",
        Rule::Empty,
    );
    check(
        "/messages/0/content/2/citations",
        Set(|| json!([{}])),
        "messages.0.content.2.citations",
        Rule::CitationsOfUser,
    );
    check(
        "/messages/1/content/3",
        Set(
            || json!({ "type": "document", "source": { "type": "url", "url": "https://a.example" } }),
        ),
        "messages.1.content.3",
        Rule::DocumentOfAssistant,
    );
    check(
        "/messages/1/content/4/input",
        Set(|| json!("{}")),
        "messages.1.content.4.input",
        Rule::InputNoObject,
    );
    check(
        "/messages/1/content/4/name",
        Set(|| json!("a clock")),
        "messages.1.content.4.name",
        Rule::Name,
    );
    check(
        "/messages/1/content/0/cache_control",
        Set(|| json!({ "type": "ephemeral" })),
        "messages.1.content.0.cache_control",
        Rule::UnknownField,
    );
    check(
        "/system/0/cache_control/ttl",
        Set(|| json!("2h")),
        "system.0.cache_control",
        Rule::CacheControl,
    );
    check(
        "/messages/0/role",
        Set(|| json!("developer")),
        "messages.0.role",
        Rule::WrongValue,
    );
    check(
        "/messages/3/content",
        Set(
            || json!([{ "type": "image", "source": { "type": "url", "url": "https://a.example" } }]),
        ),
        "messages.3.content.0",
        Rule::BlockOutOfPlace,
    );
    let mut older = sound();
    older["thinking"] = json!({ "type": "adaptive" });
    let found = claude::check(&older, &Profile::of("claude-opus-4-7"));
    assert_eq!(
        found.iter().map(|broken| broken.rule).collect::<Vec<_>>(),
        [Rule::SystemRole]
    );
}

#[test]
fn calls_and_results_pair_in_order() {
    let both = |body: &Value| {
        let found = claude::check(body, &Profile::NEWEST);
        found
            .into_iter()
            .map(|broken| (broken.path, broken.rule))
            .collect::<Vec<_>>()
    };
    let told = both(&edited(
        "/messages/2/content/0/tool_use_id",
        Set(|| json!("toolu_2")),
    ));
    assert_eq!(
        told,
        [
            ("messages.2.content.0".to_owned(), Rule::ResultWithoutCall),
            ("messages.1.content.4".to_owned(), Rule::UnansweredCall),
        ]
    );
    check(
        "/messages/2/content/0",
        Remove,
        "messages.1.content.4",
        Rule::UnansweredCall,
    );
    check(
        "/messages/1/content/4",
        Remove,
        "messages.2.content.0",
        Rule::ResultWithoutCall,
    );
    check(
        "/messages/2/content/1",
        Set(|| json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": "again" })),
        "messages.2.content.1",
        Rule::Repeated,
    );
    let mut late = sound();
    let blocks = late["messages"][2]["content"]
        .as_array_mut()
        .expect("blocks");
    blocks.reverse();
    assert_eq!(
        both(&late),
        [("messages.2.content.1".to_owned(), Rule::ResultNotFirst)]
    );
    let mut twice = sound();
    let again = [twice["messages"][1].clone(), twice["messages"][2].clone()];
    twice["messages"]
        .as_array_mut()
        .expect("messages")
        .extend(again);
    assert_eq!(
        both(&twice),
        [("messages.5.content.4.id".to_owned(), Rule::Repeated)]
    );
    check(
        "/messages/2/content/0",
        Set(|| json!({ "type": "tool_result", "tool_use_id": "toolu_1", "is_error": true })),
        "messages.2.content.0",
        Rule::ErrorWithoutText,
    );
    check(
        "/messages/1/content/2",
        Remove,
        "messages.1.content.1",
        Rule::ProviderCallSplit,
    );
    check(
        "/messages/1/content/1",
        Remove,
        "messages.1.content.1",
        Rule::ProviderCallSplit,
    );
    let mut bare = sound();
    let fields = bare.as_object_mut().expect("an object");
    fields.remove("tools");
    fields.remove("tool_choice");
    assert_eq!(both(&bare), [("tools".to_owned(), Rule::ToolsMissing)]);
}

#[test]
fn a_conversation_ends_with_somebody_else() {
    check(
        "/messages/4",
        Set(|| json!({ "role": "assistant", "content": "Well" })),
        "messages.4.content",
        Rule::Prefill,
    );
    let older = Profile::of("claude-haiku-4-5");
    let ends = |text: &str| {
        let body = json!({ "model": "m", "max_tokens": 10, "messages": [{ "role": "user", "content": "hi" }, { "role": "assistant", "content": text }] });
        claude::check(&body, &older).is_empty()
    };
    assert!(ends("Well"));
    assert!(!ends("Well "));
}

#[test]
fn there_are_at_most_four_cache_points() {
    let mut body = sound();
    let point = json!({ "type": "ephemeral" });
    for pointer in ["/tools/0", "/messages/0/content/1", "/messages/2/content/0"] {
        body.pointer_mut(pointer).expect("a place")["cache_control"] = point.clone();
    }
    assert_eq!(claude::check(&body, &Profile::NEWEST), []);
    body["cache_control"] = point;
    let found = claude::check(&body, &Profile::NEWEST);
    assert_eq!(
        found.iter().map(|broken| broken.rule).collect::<Vec<_>>(),
        [Rule::TooMany]
    );
}

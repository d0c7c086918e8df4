//! What clients are told, to be looked at by a person.

use jackfield_dialect_kit::serve::{ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use jackfield_dialect_openai::models;
use jackfield_domain::block::{Annotation, Block, Content};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::round_break::RoundBreak;
use serde_json::{Value, json};

use super::about;
use super::segments::{Segment, added_up, client_call, of_both_sides, plainly};

fn lines(segment: &Segment, dialect: ChatCompletions, echo: Value) -> String {
    let deltas = plainly(&segment.rounds.concat());
    let events = segment.events(&dialect, &about(echo), &deltas);
    events.iter().map(ToString::to_string).collect()
}

#[test]
fn a_segment_with_tools_of_both_sides() {
    let lines = lines(
        &of_both_sides(),
        ChatCompletions::new(),
        json!({ "include_usage": true }),
    );
    insta::assert_snapshot!(lines);
}

#[test]
fn a_segment_with_tools_of_both_sides_whole() {
    let dialect = ChatCompletions::new().with_extensions();
    let (body, notes) = dialect.reply(&of_both_sides().reply(), &about(json!({})));
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let body = serde_json::to_string_pretty(&body).expect("JSON");
    insta::assert_snapshot!(format!("{body}\n{notes:#?}"));
}

#[test]
fn words_of_rounds_with_nothing_shown_between_them_are_apart() {
    let mut later = Block::text("It is 43.");
    later.opaque.push(RoundBreak::state());
    let mut segment = Segment {
        end: ReplyEnd::new(FinishReason::Stop),
        rounds: vec![
            vec![Block::text("First a "), Block::text("product.")],
            vec![later],
        ],
    };
    let told = |segment: &Segment| {
        let deltas = plainly(&segment.rounds.concat());
        let events = segment.events(&ChatCompletions::new(), &about(json!({})), &deltas);
        let streamed = added_up(&events)["message"]["content"].clone();
        let (body, _) = ChatCompletions::new().reply(&segment.reply(), &about(json!({})));
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(streamed, body["choices"][0]["message"]["content"]);
        streamed
    };
    assert_eq!(told(&segment), "First a product.\n\nIt is 43.");
    // Nothing stands before them.
    segment.rounds.remove(0);
    assert_eq!(told(&segment), "It is 43.");
}

#[test]
fn tools_of_the_server_are_shown_where_there_is_a_form_for_them() {
    let plain = ChatCompletions::new();
    assert!(!plain.shows_server_tools());
    assert!(plain.with_extensions().shows_server_tools());
}

#[test]
fn one_call_of_the_client() {
    // Scenario 3.1: no words, one call, and the client's own name for the model.
    let segment = Segment {
        end: ReplyEnd::new(FinishReason::ToolCalls),
        rounds: vec![vec![client_call(
            "call_1",
            "calculate",
            r#"{"expression":"123 + 456"}"#,
        )]],
    };
    let (body, notes) = ChatCompletions::new().reply(&segment.reply(), &about(json!({})));
    assert_eq!(notes, []);
    insta::assert_snapshot!(String::from_utf8(body).expect("text"));
    insta::assert_snapshot!(
        "one_call_of_the_client_streamed",
        lines(&segment, ChatCompletions::new(), json!({}))
    );
}

#[test]
fn a_segment_that_breaks_off() {
    let segment = Segment {
        end: ReplyEnd::new(FinishReason::Stop),
        rounds: vec![vec![Block::text("Once upon a")]],
    };
    let mut encoder = ChatCompletions::new().encoder(&about(json!({})));
    let deltas = plainly(&segment.rounds.concat());
    let mut events = segment.pushed(&mut *encoder, &deltas);
    let alive = encoder.keep_alive();
    let error = ServeError::new(ServeErrorKind::Cancelled, "the turn was cancelled");
    events.extend(encoder.fail(&error, "req_1"));
    let told: String = events.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(format!("{told}{alive}"));
}

#[test]
fn the_models() {
    let known = ListedModel {
        context: Some(200_000),
        name: Some("Claude Opus 5.5".into()),
        output: Some(32_000),
        ..ListedModel::new("claude-opus-5-5")
    };
    let models = [ListedModel::new("gpt-6-astra"), known];
    let list = models::to_wire(&models, 1_795_000_000);
    insta::assert_snapshot!(serde_json::to_string_pretty(&list).expect("JSON"));
    assert_eq!(
        models::one_to_wire(&models[1], 1_795_000_000),
        list["data"][1]
    );
    let back = models::from_wire(list.to_string().as_bytes()).expect("a list");
    for (back, model) in back.iter().zip(&models) {
        assert_eq!(back.owner.as_deref(), Some("jackfield"));
        assert_eq!(back.created, Some(1_795_000_000));
        let limits = |model: &ListedModel| (model.context, model.output, model.name.clone());
        assert_eq!(limits(back), limits(model));
    }
}

/// The vendor's SDKs take the first list of remarks as it is, and want a place with each of a second one.
#[test]
fn remarks_on_words_of_several_rounds_come_in_lists_that_sdks_can_add_up() {
    let noted = |words: &str, url: &str| {
        let mut block = Block::text(words);
        if let Content::Text(text) = &mut block.content {
            text.annotations.push(Annotation {
                dialect: "openai-chat".into(),
                json: json!({ "type": "url_citation", "url_citation": { "url": url } }),
                title: None,
                url: Some(url.into()),
            });
        }
        block
    };
    let segment = |rounds| Segment {
        end: ReplyEnd::new(FinishReason::Stop),
        rounds,
    };
    let lists = |segment: &Segment| -> Vec<Value> {
        let deltas = plainly(&segment.rounds.concat());
        let events = segment.events(&ChatCompletions::new(), &about(json!({})), &deltas);
        let told = added_up(&events)["message"]["annotations"].clone();
        let (whole, _) = ChatCompletions::new().reply(&segment.reply(), &about(json!({})));
        let whole: Value = serde_json::from_slice(&whole).expect("JSON");
        let urls = |list: &Value| -> Vec<Value> {
            let entries = list.as_array().expect("a list").iter();
            entries
                .map(|entry| entry["url_citation"]["url"].clone())
                .collect()
        };
        let message = &whole["choices"][0]["message"];
        assert_eq!(urls(&told), urls(&message["annotations"]));
        let chunks = events.iter().filter(|event| event.data != "[DONE]");
        let chunks = chunks.map(|event| serde_json::from_str(&event.data).expect("JSON"));
        let lists = chunks.map(|chunk: Value| chunk["choices"][0]["delta"]["annotations"].clone());
        lists.filter(|list| !list.is_null()).collect()
    };
    let two = vec![noted("One.", "a")];
    let two = segment(vec![two, vec![noted("Two.", "b"), noted("Three.", "c")]]);
    assert_eq!(lists(&two).len(), 1);
    let call = client_call("call_c1", "calendar", "{}");
    let around = segment(vec![vec![noted("One.", "a"), call, noted("Two.", "b")]]);
    let lists = lists(&around);
    assert_eq!(lists.len(), 2);
    assert_eq!(lists[1][0]["index"], 1);
}

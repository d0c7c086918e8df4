//! Hidden letters: shown by name to people, and tag letters kept from models.

use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::limits::Limits;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::text::hidden::{
    RANGES, found, json_without_tags, name, revealed, without_tags,
};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use serde_json::json;

use crate::world::setup;

const WALES: &str = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}";

#[test]
fn the_list_is_in_order_and_finds_the_ends_of_its_ranges() {
    for pair in RANGES.windows(2) {
        assert!(pair[0].1 < pair[1].0, "{pair:?}");
    }
    for (first, last, known) in RANGES {
        assert!(first <= last, "{known}");
        assert_eq!((name(*first), name(*last)), (Some(*known), Some(*known)));
    }
    for seen in [' ', '~', 'ж', '読', '\u{3000}', '\u{fffd}', '😀'] {
        assert_eq!(name(seen), None, "{seen:?}");
    }
}

#[test]
fn a_hidden_letter_is_shown_by_name() {
    for (text, shown) in [
        ("a\u{202e}b\nc", "a<U+202E right-to-left override>b\nc"),
        (
            "\u{200b}\u{e0041}",
            "<U+200B zero-width space><U+E0041 tag letter>",
        ),
        (
            "\u{feff}\u{2066}",
            "<U+FEFF byte order mark><U+2066 left-to-right isolate>",
        ),
        // Joiners and selectors where nothing needs them.
        ("a\u{200d}b", "a<U+200D zero-width joiner>b"),
        ("a\u{200c}ن", "a<U+200C zero-width non-joiner>ن"),
        (
            "😀\u{fe0f}\u{fe0f}",
            "😀\u{fe0f}<U+FE0F variation selector>",
        ),
        ("1\u{fe0f}2", "1<U+FE0F variation selector>2"),
        ("👩\u{200d}b", "👩<U+200D zero-width joiner>b"),
        // A flag without an end, and one of a text that is no region.
        ("\u{1f3f4}\u{e0041}", "\u{1f3f4}<U+E0041 tag letter>"),
        ("\u{1f3f4}\u{e007f}", "\u{1f3f4}<U+E007F tag letter>"),
    ] {
        assert_eq!(revealed(text), shown);
    }
}

#[test]
fn letters_that_scripts_and_emoji_need_are_not_shown_as_hidden() {
    for text in [
        "👨\u{200d}👩\u{200d}👧 👩🏽\u{200d}🚀 👁\u{fe0f}\u{200d}🗨\u{fe0f} ❤\u{fe0f} ☎\u{fe0e}",
        "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
        "می\u{200c}خواهم क्\u{200d}ष ශ්\u{200d}රී",
        WALES,
    ] {
        assert_eq!(revealed(text), text);
        assert_eq!(found(&json!([text])).len(), 0, "{text}");
    }
}

#[test]
fn hidden_letters_are_counted_in_names_and_texts() {
    let value = json!({ "a\u{200b}": ["\u{e0041}\u{e0042}", { "b": "x\t\r\n\u{200b}" }], "c": 1 });
    let all = found(&value).into_iter().collect::<Vec<_>>();
    assert_eq!(all, [("tag letter", 2), ("zero-width space", 2)]);
}

#[test]
fn a_model_gets_everything_but_tag_letters() {
    assert_eq!(without_tags("a\u{e0041}\u{e007f}b").as_deref(), Some("ab"));
    let flag = format!("{WALES}\u{e0041}\u{200b}\u{202e}\u{fe0f}");
    let left = format!("{WALES}\u{200b}\u{202e}\u{fe0f}");
    assert_eq!(without_tags(&flag), Some(left));
    for whole in ["", "a\u{200b}", WALES, "\u{f0000}"] {
        assert_eq!(without_tags(whole), None);
    }
    let value = json!({ "a\u{e0041}": ["b\u{e0042}", 1, null], "c": { "d": "e" } });
    let mended = json!({ "a": ["b", 1, null], "c": { "d": "e" } });
    assert_eq!(json_without_tags(&value), Some(mended.clone()));
    assert_eq!(json_without_tags(&mended), None);
}

#[test]
fn the_outcome_for_a_model_has_no_tags_and_the_recorded_one_keeps_them() {
    let sent = ToolResult {
        structured: Some(Arc::new(json!({ "k": "v\u{e0041}" }))),
        ..ToolResult::text("seen\u{e0041}")
    };
    let shown = sent.for_models(None).expect("it has tags");
    assert_eq!(shown.content, [OutcomePart::Text("seen".into())]);
    assert_eq!(shown.structured.as_deref(), Some(&json!({ "k": "v" })));
    assert_eq!(sent.to_text(), "seen\u{e0041}");
    let cut = sent.for_models(Some(4)).expect("it is cut");
    assert!(cut.to_text().starts_with("seen\n[cut: "), "{cut:?}");
    assert_eq!(ToolResult::text("seen").for_models(Some(4)), None);
}

#[test]
fn a_server_defines_tools_without_tags_and_a_client_as_it_likes() {
    let setup = setup(Limits::default());
    let mut entry = setup.catalog.iter().next().expect("a tool").clone();
    let schema = json!({ "type": "object", "description": "who\u{e0041}" });
    entry.definition = Arc::new(ToolDefinition {
        description: "does\u{e0041}".into(),
        input: InputFormat::Json(Arc::new(schema)),
        output: Some(Arc::new(json!({ "title": "t\u{e0041}" }))),
        ..ToolDefinition::clone(&entry.definition)
    });
    let got = entry.definition_for_models();
    assert_eq!(&*got.description, "does");
    let schema = json!({ "type": "object", "description": "who" });
    assert_eq!(got.input, InputFormat::Json(Arc::new(schema)));
    assert_eq!(got.output.as_deref(), Some(&json!({ "title": "t" })));
    entry.ran_by = RanBy::Client;
    assert_eq!(entry.definition_for_models(), entry.definition);
}

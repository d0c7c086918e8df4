//! Whether a text is a JSON.

use jackfield_dialect_kit::json_text::matches;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn any_spelling_says_the_same() {
    let json = json!({ "a": "x \"y\\ \u{e9}", "n": [1, 2.5, null] });
    for text in [
        " { \"a\" : \"x \\\"y\\\\ \u{e9}\" , \"n\" : [ 1 , 2.5 , null ] } ",
        r#"{"n":[1,2.5,null],"a":"x \"y\\ \u00e9"}"#,
    ] {
        assert!(matches(text, &json), "{text}");
    }
}

#[test]
fn blanks_within_a_number_or_a_text_say_something_else() {
    let json = json!({ "a": "x y", "n": 12 });
    for text in [
        r#"{"a":"x  y","n":12}"#,
        r#"{"a":"xy","n":12}"#,
        r#"{"a":"x y","n":1 2}"#,
        r#"{"a":"x y","n":12"#,
        r#"{"a":"x y","n":12}}"#,
    ] {
        assert!(!matches(text, &json), "{text}");
    }
}

proptest! {
    #[test]
    fn a_text_says_what_it_parses_to(json in kit::json(), other in kit::json(), at in any::<prop::sample::Index>(), blank in "[ \n]?") {
        let pretty = serde_json::to_string_pretty(&json).unwrap_or_default();
        prop_assert!(matches(&pretty, &json));
        // Blanks anywhere: within words they change or break it.
        let mut text = json.to_string();
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        text.insert_str(*at.get(&places), &blank);
        let parsed = serde_json::from_str::<Value>(&text).ok();
        prop_assert_eq!(matches(&text, &json), parsed.as_ref() == Some(&json), "{}", text);
        prop_assert_eq!(matches(&text, &other), parsed.as_ref() == Some(&other), "{}", text);
    }
}

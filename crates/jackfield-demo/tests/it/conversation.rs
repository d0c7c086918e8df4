//! Conversations: calls, their outcomes, and answers made of nothing else.

use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::ToolChoice;
use proptest::prelude::*;
use serde_json::json;

use crate::asking::{Talk, calculate, calls, clock, definition, tell};

const BOTH: &str = "What is 15% of 2500, and what time is it in Tokyo?";

#[test]
fn the_text_before_the_calls_is_in_the_users_language() {
    for (text, before) in [
        (BOTH, "Let me look that up."),
        ("2+2", "Let me work that out."),
        ("what time is it", "Let me look at the clock."),
        ("сколько будет 2+2", "Сейчас посчитаю."),
        ("2+2等于多少", "我来算一下。"),
    ] {
        assert_eq!(Talk::asking(text).reply().text, before, "{text}");
    }
}

#[test]
fn the_answer_is_made_of_what_the_tools_said() {
    let mut talk = Talk::asking(BOTH);
    let saying = talk.reply();
    talk.outcomes(
        &saying,
        vec![
            ToolResult::text("375"),
            ToolResult::text("2026-11-22 11:07"),
        ],
    );
    let answer = talk.reply();
    assert!(answer.calls.is_empty());
    assert_eq!(
        answer.text,
        "15% of 2500 = 375\nIn Tokyo it is 2026-11-22 11:07"
    );
}

#[test]
fn a_broken_tool_changes_the_answer() {
    for (text, answer) in [
        ("1/0", "The calculator said (1 / 0): division by zero"),
        (
            "сколько будет 1/0",
            "Инструмент «калькулятор» сообщил об ошибке (1 / 0): division by zero",
        ),
        ("1/0等于多少", "计算器报错（1 / 0）：division by zero"),
    ] {
        let mut talk = Talk::asking(text);
        let saying = talk.reply();
        talk.outcomes(&saying, vec![ToolResult::error("division by zero")]);
        assert_eq!(talk.reply().text, answer);
    }
}

#[test]
fn a_language_without_words_is_the_one_before() {
    let mut talk = Talk::asking("Привет");
    talk.assistant("Здравствуйте!");
    talk.user("12*(3+4)");
    assert_eq!(talk.reply().text, "Сейчас посчитаю.");
}

#[test]
fn only_the_last_question_counts() {
    let mut talk = Talk::asking("2+2");
    let saying = talk.reply();
    talk.outcomes(&saying, vec![ToolResult::text("4")]);
    talk.assistant("2 + 2 = 4");
    talk.user("and what is 3*3?");
    assert_eq!(calls(&talk.reply()), [calculate("3 * 3")]);
    talk.assistant("9");
    talk.user("thanks");
    assert_eq!(talk.reply().text, "You are welcome!");
}

#[test]
fn a_remark_beside_the_outcomes_is_no_new_question() {
    let mut talk = Talk::asking("2+2");
    let saying = talk.reply();
    talk.outcomes(&saying, vec![ToolResult::text("4")]);
    talk.user("answer in words, please");
    assert_eq!(talk.reply().text, "2 + 2 = 4");
}

#[test]
fn one_call_at_a_time_where_the_request_says_so() {
    let mut talk = Talk::asking(BOTH);
    talk.request.settings = Arc::new(Settings {
        parallel_calls: Some(false),
        ..Settings::default()
    });
    let first = talk.reply();
    assert_eq!(calls(&first), [calculate("15% of 2500")]);
    talk.outcomes(&first, vec![ToolResult::text("375")]);
    let second = talk.reply();
    assert_eq!(calls(&second), [tell("Asia/Tokyo")]);
    talk.outcomes(&second, vec![ToolResult::text("noon")]);
    assert_eq!(talk.reply().text, "15% of 2500 = 375\nIn Tokyo it is noon");
}

#[test]
fn only_offered_tools_are_called() {
    let mut talk = Talk::asking(BOTH);
    talk.request.tools = Arc::new(vec![clock()]);
    let saying = talk.reply();
    assert_eq!(calls(&saying), [tell("Asia/Tokyo")]);
    talk.outcomes(&saying, vec![ToolResult::text("noon")]);
    let answer = talk.reply().text;
    assert!(answer.starts_with("In Tokyo it is noon\n"), "{answer}");
    assert!(answer.contains("(calculator)"), "{answer}");

    talk = Talk::asking("2+2");
    talk.request.tools = Arc::default();
    let saying = talk.reply();
    assert!(saying.calls.is_empty());
    assert!(saying.text.contains("(calculator)"), "{}", saying.text);
}

#[test]
fn a_tool_behind_a_toolbox_is_called_by_its_whole_name() {
    let mut talk = Talk::asking("2+2");
    let schema = json!({ "type": "object", "properties": { "expression": {} } });
    talk.request.tools = Arc::new(vec![definition("math__calculator", schema)]);
    let saying = talk.reply();
    assert_eq!(calls(&saying)[0].0, "math__calculator");
    talk.outcomes(&saying, vec![ToolResult::text("4")]);
    assert_eq!(talk.reply().text, "2 + 2 = 4");
}

#[test]
fn a_tool_of_the_same_name_that_takes_other_arguments_is_not_called() {
    for (name, schema) in [
        (
            "calculator",
            json!({ "properties": { "left": {}, "right": {} } }),
        ),
        (
            "calculator",
            json!({ "properties": { "expression": {}, "digits": {} }, "required": ["expression", "digits"] }),
        ),
        // What stands for a tool that has gone.
        ("current_datetime", json!({ "properties": {} })),
        (
            "current_datetime",
            json!({ "properties": { "city": {} }, "required": ["city"] }),
        ),
    ] {
        let mut talk = Talk::asking("2+2, and what time is it in Tokyo?");
        talk.request.tools = Arc::new(vec![definition(name, schema.clone())]);
        assert!(talk.reply().calls.is_empty(), "{schema}");
    }
}

#[test]
fn arguments_that_a_tool_does_not_take_are_left_out() {
    let mut talk = Talk::asking("what time is it in Tokyo?");
    let schema = json!({ "properties": { "timezone": {} } });
    talk.request.tools = Arc::new(vec![definition("current_datetime", schema)]);
    let saying = talk.reply();
    let arguments = serde_json::Value::Object(saying.calls[0].arguments.clone());
    assert_eq!(arguments, json!({ "timezone": "Asia/Tokyo" }));
    talk.outcomes(&saying, vec![ToolResult::text("noon")]);
    assert_eq!(talk.reply().text, "In Tokyo it is noon");
}

#[test]
fn the_choice_of_tools_is_kept_to() {
    let only_clock = ToolName::parse("current_datetime").unwrap();
    for (choice, wanted) in [
        (ToolChoice::Forbidden, vec![]),
        (
            ToolChoice::Required,
            vec![calculate("15% of 2500"), tell("Asia/Tokyo")],
        ),
        (
            ToolChoice::Named(only_clock.clone()),
            vec![tell("Asia/Tokyo")],
        ),
        (
            ToolChoice::Only {
                required: false,
                tools: vec![only_clock],
            },
            vec![tell("Asia/Tokyo")],
        ),
    ] {
        let mut talk = Talk::asking(BOTH);
        talk.request.choice = choice;
        let saying = talk.reply();
        assert_eq!(calls(&saying), wanted);
        if wanted.is_empty() {
            assert!(saying.text.contains("may not use tools"), "{}", saying.text);
        }
    }
}

#[test]
fn many_questions_are_cut_to_eight_calls() {
    let text: Vec<String> = (1..40).map(|n| format!("{n}+{n}")).collect();
    let mut talk = Talk::asking(&text.join(" and "));
    let saying = talk.reply();
    assert_eq!(saying.calls.len(), 8);
    let results = vec![ToolResult::text("some"); 8];
    talk.outcomes(&saying, results);
    assert!(talk.reply().calls.is_empty());
}

proptest! {
    #[test]
    fn any_text_gets_a_reply(text in ".{0,200}") {
        let saying = Talk::asking(&text).reply();
        prop_assert!(!saying.text.trim().is_empty());
    }

    #[test]
    fn any_words_of_the_trade_get_a_reply(words in prop::collection::vec(
        prop::sample::select(vec![
            "2", "15%", "of", "от", "的", "2500", "(", ")", "+", "-", "*", "/", "^", "!", ",", "sqrt", "sin", "30", "deg",
            "百分之", "十五", "次方", "平方根", "multiply", "by", "умножь", "на", "из", "what time is it", "in", "Tokyo",
            "который час", "в", "Париже", "东京", "现在几点", "和", "and", "two hundred", "million", "万", "亿", ".5", "1e9", "0x1f",
        ]), 0..60), spaced in any::<bool>()) {
        let mut talk = Talk::asking(&words.join(if spaced { " " } else { "" }));
        let saying = talk.reply();
        prop_assert!(!saying.text.trim().is_empty());
        prop_assert!(saying.calls.len() <= 8);
        if !saying.calls.is_empty() {
            let results = (0..saying.calls.len()).map(|n| ToolResult::text(format!("outcome {n}"))).collect();
            talk.outcomes(&saying, results);
            let answer = talk.reply();
            prop_assert!(answer.calls.is_empty());
            for n in 0..saying.calls.len() {
                let outcome = format!("outcome {n}");
                prop_assert!(answer.text.contains(&outcome), "{}", answer.text);
            }
        }
    }

    #[test]
    fn the_answer_contains_what_the_tools_said(first in "\\PC{1,80}", second in "\\PC{1,80}", failed in any::<bool>()) {
        let mut talk = Talk::asking(BOTH);
        let saying = talk.reply();
        let second_result = if failed { ToolResult::error(second.as_str()) } else { ToolResult::text(second.as_str()) };
        talk.outcomes(&saying, vec![ToolResult::text(first.as_str()), second_result]);
        let answer = talk.reply();
        prop_assert!(answer.calls.is_empty());
        prop_assert!(answer.text.contains(first.trim()));
        prop_assert!(answer.text.contains(second.trim()));
    }
}

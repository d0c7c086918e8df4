//! Questions about the time and the date as people write them, in three languages.

use serde_json::{Value, json};

use crate::asking::{Talk, calculate, calls, tell};

fn check(cases: &[(&str, &[(String, Value)])]) {
    for (text, wanted) in cases {
        assert_eq!(calls(&Talk::asking(text).reply()), *wanted, "{text}");
    }
}

fn here() -> (String, Value) {
    ("current_datetime".to_owned(), json!({}))
}

#[test]
fn places_are_known_in_three_languages() {
    let tokyo = || tell("Asia/Tokyo");
    let paris = || tell("Europe/Paris");
    check(&[
        ("What time is it in Tokyo?", &[tokyo()]),
        ("what time is it in tokyo and paris?", &[tokyo(), paris()]),
        (
            "What's the time in Tokyo, Paris and New York right now?",
            &[tokyo(), paris(), tell("America/New_York")],
        ),
        ("который час в Токио", &[tokyo()]),
        ("Который сейчас час в Токио и Париже?", &[tokyo(), paris()]),
        (
            "Который час в Москве, Пекине и Нью-Йорке?",
            &[
                tell("Europe/Moscow"),
                tell("Asia/Shanghai"),
                tell("America/New_York"),
            ],
        ),
        ("сколько сейчас времени в Токио", &[tokyo()]),
        ("In Tokyo, what time is it?", &[tokyo()]),
        ("我想知道东京现在几点", &[tokyo()]),
        ("东京现在几点", &[tokyo()]),
        ("东京和巴黎现在几点？", &[tokyo(), paris()]),
        ("请问现在北京时间是几点", &[tell("Asia/Shanghai")]),
        ("现在伦敦几点了", &[tell("Europe/London")]),
        ("What time is it in 东京?", &[tokyo()]),
    ]);
}

#[test]
fn no_place_means_here() {
    check(&[
        ("what time is it here", &[here()]),
        ("What time is it? Answer in words.", &[here()]),
        ("What time is it?", &[here()]),
        ("what's the time now", &[here()]),
        ("current time", &[here()]),
        ("который час?", &[here()]),
        ("现在几点了？", &[here()]),
    ]);
}

#[test]
fn times_are_asked_for_in_the_form_of_the_language() {
    for (text, format) in [
        ("What time is it?", "human"),
        ("который час?", "%d.%m.%Y, %H:%M %Z"),
        ("现在几点了？", "%Y年%-m月%-d日 %H:%M %Z"),
    ] {
        let saying = Talk::asking(text).reply();
        assert_eq!(saying.calls.len(), 1, "{text}");
        assert_eq!(saying.calls[0].arguments["format"], format, "{text}");
    }
}

#[test]
fn an_unknown_place_is_left_to_the_tool() {
    check(&[
        ("What time is it in Springfield?", &[tell("Springfield")]),
        (
            "What time is it in Springfield and Tokyo, please?",
            &[tell("Springfield"), tell("Asia/Tokyo")],
        ),
        ("What time is it in Europe/Sofia", &[tell("Europe/Sofia")]),
        ("который час в Урюпинске?", &[tell("Урюпинске")]),
        ("请问火星现在几点", &[tell("火星")]),
    ]);
}

#[test]
fn sums_and_times_stand_in_the_order_of_the_question() {
    let both = [calculate("15% of 2500"), tell("Asia/Tokyo")];
    check(&[
        ("What is 15% of 2500, and what time is it in Tokyo?", &both),
        ("Сколько будет 15% от 2500 и который час в Токио?", &both),
        ("2500的15%是多少，东京现在几点？", &both),
        (
            "what time is it in Tokyo and what is 2+2",
            &[tell("Asia/Tokyo"), calculate("2 + 2")],
        ),
        (
            "который час в Токио и сколько будет 2+2",
            &[tell("Asia/Tokyo"), calculate("2 + 2")],
        ),
        (
            "帮我算一下2500的15%再告诉我现在几点",
            &[calculate("15% of 2500"), here()],
        ),
    ]);
}

#[test]
fn other_uses_of_time_are_left_alone() {
    check(&[
        ("I had a great weekend in Paris", &[]),
        ("What time does the train leave?", &[]),
        ("what time is it in my city", &[]),
        ("Сколько времени займет дорога?", &[]),
        ("商店几点开门", &[]),
        ("今天上海的商店什么时候开门", &[]),
        ("Once upon a time", &[]),
        ("Long time no see", &[]),
    ]);
}

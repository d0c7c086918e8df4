//! Talk without tools, in three languages.

use crate::asking::Talk;

fn check(cases: &[(&str, &str)]) {
    for (text, part) in cases {
        let saying = Talk::asking(text).reply();
        assert!(saying.calls.is_empty(), "{text}");
        assert!(saying.text.contains(part), "{text}: {}", saying.text);
    }
}

#[test]
fn a_greeting_is_answered_without_tools() {
    check(&[
        ("Hello", "Hello!"),
        ("hi there", "Hello!"),
        ("Good morning!", "Hello!"),
        ("Привет", "Здравствуйте!"),
        ("Добрый день!", "Здравствуйте!"),
        ("你好", "你好！"),
        ("早上好！", "你好！"),
        ("Thanks a lot!", "welcome"),
        ("спасибо", "Пожалуйста"),
        ("谢谢你", "不客气"),
    ]);
}

#[test]
fn asked_who_it_is_the_model_says_that_it_is_no_ai() {
    check(&[
        ("Who are you?", "jackfield-demo-rules"),
        ("are you an AI?", "a rule follower, not an AI"),
        ("Кто ты?", "jackfield-demo-rules"),
        ("ты робот?", "не искусственный интеллект"),
        ("你是谁？", "jackfield-demo-rules"),
        ("你是机器人吗", "不是人工智能"),
        ("What can you do?", "15% of 2500"),
        ("Что ты умеешь?", "15% от 2500"),
        ("你能做什么？", "2500的15%"),
    ]);
}

#[test]
fn what_it_cannot_do_is_said_with_examples() {
    check(&[
        (
            "Hi, write me a poem about the sea",
            "I cannot help with that",
        ),
        ("What is the weather in London?", "I cannot help with that"),
        ("Какая погода в Лондоне?", "не могу помочь"),
        ("帮我写一首诗", "帮不上忙"),
        ("?", "I cannot help with that"),
        ("", "I cannot help with that"),
    ]);
}

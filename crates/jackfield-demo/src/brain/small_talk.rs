//! What the model says where there is nothing to look up.

use super::language::Language;
use super::text::{has_any, lower};
use super::words;

/// The answer to a text without a question for a tool in it.
pub(super) fn reply(language: Language, text: &str) -> String {
    words::small_talk(language, Topic::of(text))
}

/// What a text without such a question is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Topic {
    Greeting,
    Help,
    Thanks,
    Unknown,
}

impl Topic {
    fn of(text: &str) -> Self {
        let text = lower(text);
        // `Hi, write me a poem` is no greeting: what it wants has to be answered.
        let is_short =
            text.iter().filter(|c| **c == ' ').count() < SHORT && text.len() <= SHORT_CHARS;
        let found = TOPICS
            .iter()
            .find(|(topic, phrases)| (is_short || *topic == Self::Help) && has_any(&text, phrases));
        found.map_or(Self::Unknown, |(topic, _)| *topic)
    }
}

/// The most spaces in a text that is nothing but a greeting.
const SHORT: usize = 5;
const SHORT_CHARS: usize = 40;

/// What people say, the more particular first.
#[rustfmt::skip]
const TOPICS: &[(Topic, &[&str])] = &[
    (Topic::Help, &[
        "help", "what can you do", "who are you", "are you an ai",
        "помощь", "что ты умеешь", "что вы умеете", "кто ты", "кто вы",
        "帮助", "你能做什么", "你会做什么", "你是谁",
    ]),
    (Topic::Thanks, &["thanks", "thank you", "спасибо", "благодарю", "谢谢", "感谢"]),
    (Topic::Greeting, &[
        "hello", "hi", "hey", "good morning", "привет", "здравствуй", "здравствуйте", "добрый день", "你好", "您好", "早上好",
    ]),
];

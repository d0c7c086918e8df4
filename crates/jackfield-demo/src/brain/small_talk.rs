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
    Farewell,
    Greeting,
    Help,
    Identity,
    Thanks,
    Unknown,
    Wellbeing,
}

impl Topic {
    fn of(text: &str) -> Self {
        let text = lower(text);
        let is_short =
            text.iter().filter(|c| **c == ' ').count() < SHORT && text.len() <= SHORT_CHARS;
        // `Hi, write me a poem` is no greeting: what it wants has to be answered.
        let topics = [
            (IDENTITY, Self::Identity, true),
            (HELP, Self::Help, true),
            (WELLBEING, Self::Wellbeing, is_short),
            (THANKS, Self::Thanks, is_short),
            (FAREWELLS, Self::Farewell, is_short),
            (GREETINGS, Self::Greeting, is_short),
        ];
        let found = topics
            .into_iter()
            .find(|(phrases, _, may)| *may && has_any(&text, phrases));
        found.map_or(Self::Unknown, |(_, topic, _)| topic)
    }
}

/// The most spaces in a text that is nothing but a greeting.
const SHORT: usize = 5;
const SHORT_CHARS: usize = 40;

const IDENTITY: &[&str] = &[
    "who are you",
    "what are you",
    "your name",
    "are you an ai",
    "are you ai",
    "are you a robot",
    "are you a bot",
    "are you human",
    "are you real",
    "are you chatgpt",
    "are you claude",
    "which model",
    "what model",
    "introduce yourself",
    "кто ты",
    "ты кто",
    "кто вы",
    "вы кто",
    "как тебя зовут",
    "как вас зовут",
    "твое имя",
    "ты робот",
    "ты человек",
    "ты ии",
    "ты бот",
    "какая ты модель",
    "что ты такое",
    "расскажи о себе",
    "представься",
    "你是谁",
    "你叫什么",
    "你的名字",
    "您是谁",
    "你是什么",
    "你是机器人",
    "你是人",
    "你是ai",
    "介绍一下你自己",
    "自我介绍",
];

const HELP: &[&str] = &[
    "help",
    "what can you do",
    "what do you do",
    "what can i ask",
    "how do you work",
    "your abilities",
    "помоги",
    "помощь",
    "что ты умеешь",
    "что ты можешь",
    "что вы умеете",
    "что вы можете",
    "как ты работаешь",
    "你能做什么",
    "你会什么",
    "你会做什么",
    "你可以做什么",
    "能帮我做什么",
    "怎么用",
    "帮助",
];

const WELLBEING: &[&str] = &[
    "how are you",
    "how is it going",
    "how's it going",
    "how do you do",
    "как дела",
    "как ты",
    "как поживаешь",
    "как жизнь",
    "你好吗",
    "最近怎么样",
    "还好吗",
];

const THANKS: &[&str] = &[
    "thanks",
    "thank you",
    "thx",
    "cheers",
    "great job",
    "well done",
    "спасибо",
    "благодарю",
    "спс",
    "молодец",
    "谢谢",
    "多谢",
    "感谢",
    "辛苦了",
];

const FAREWELLS: &[&str] = &[
    "bye",
    "goodbye",
    "see you",
    "good night",
    "пока",
    "до свидания",
    "до встречи",
    "спокойной ночи",
    "прощай",
    "再见",
    "拜拜",
    "晚安",
    "回头见",
];

const GREETINGS: &[&str] = &[
    "hello",
    "hi",
    "hey",
    "hiya",
    "greetings",
    "good morning",
    "good afternoon",
    "good evening",
    "good day",
    "howdy",
    "привет",
    "здравствуй",
    "здравствуйте",
    "добрый день",
    "доброе утро",
    "добрый вечер",
    "приветствую",
    "хай",
    "салют",
    "你好",
    "您好",
    "嗨",
    "哈喽",
    "早上好",
    "下午好",
    "晚上好",
    "早安",
    "大家好",
];

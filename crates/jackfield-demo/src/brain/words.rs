//! Everything that the model says in its own words, in three languages.

use super::language::Language::{self, Chinese, English, Russian};
use super::small_talk::Topic;
use super::{CALCULATOR, DemoCall, DemoTask, NAME, is_named, notes as notes_rules, orders};

/// What comes before the calls.
pub(super) fn before_calls(language: Language, calls: &[DemoCall]) -> String {
    let sums = calls
        .iter()
        .filter(|call| is_named(call.tool.as_str(), CALCULATOR))
        .count();
    if calls
        .iter()
        .all(|call| notes_rules::is_tool(call.tool.as_str()))
    {
        let text = match language {
            English => "Let me look at the notes.",
            Russian => "Сейчас посмотрю заметки.",
            Chinese => "我来看一下笔记。",
        };
        return text.to_owned();
    }
    if calls.iter().any(|call| orders::is_tool(call.tool.as_str())) {
        let text = match language {
            English => "I will see to it.",
            Russian => "Сейчас сделаю.",
            Chinese => "我来办。",
        };
        return text.to_owned();
    }
    let text = match language {
        English if sums == calls.len() => "Let me work that out.",
        English if sums == 0 => "Let me look at the clock.",
        English => "Let me look that up.",
        Russian if sums == calls.len() => "Сейчас посчитаю.",
        Russian if sums == 0 => "Сейчас посмотрю на часы.",
        Russian => "Сейчас узнаю.",
        Chinese if sums == calls.len() => "我来算一下。",
        Chinese if sums == 0 => "我来看一下时间。",
        Chinese => "我来查一下。",
    };
    text.to_owned()
}

/// What an expression comes to.
pub(super) fn result(expression: &str, said: &str) -> String {
    // A tool that repeats the question has said it all.
    let says_all = said.lines().next().is_some_and(|line| line.contains('='));
    if says_all {
        said.to_owned()
    } else {
        format!("{expression} = {said}")
    }
}

pub(super) fn time(language: Language, place: &str, said: &str) -> String {
    match language {
        // A name may be that of several places, and then the tool lists them.
        English if said.contains('\n') => format!("{place}: {said}"),
        English => format!("{place} it is {said}"),
        Russian => format!("Сейчас {place}: {said}"),
        Chinese => format!("{place}现在：{said}"),
    }
}

/// What time it is here.
pub(super) fn now(language: Language, said: &str) -> String {
    match language {
        English => format!("It is {said}"),
        Russian => format!("Сейчас {said}"),
        Chinese => format!("现在是 {said}"),
    }
}

/// Which date it is, so many days from today.
pub(super) fn day(language: Language, more: i64, date: &str) -> String {
    match (language, more) {
        (English, 1) => format!("Tomorrow is {date}."),
        (English, -1) => format!("Yesterday was {date}."),
        (English, _) => format!("Today is {date}."),
        (Russian, 1) => format!("Завтра {date}."),
        (Russian, -1) => format!("Вчера было {date}."),
        (Russian, _) => format!("Сегодня {date}."),
        (Chinese, 1) => format!("明天是 {date}。"),
        (Chinese, -1) => format!("昨天是 {date}。"),
        (Chinese, _) => format!("今天是 {date}。"),
    }
}

/// How many days there are until a date.
pub(super) fn until(language: Language, days: i64, date: &str) -> String {
    let ago = -days;
    match language {
        English if days == 0 => format!("{date} is today."),
        English if days < 0 => format!("{date} was {ago} days ago."),
        English if days == 1 => format!("Until {date}: 1 day."),
        English => format!("Until {date}: {days} days."),
        Russian if days == 0 => format!("{date} — это сегодня."),
        Russian if days < 0 => format!("Дней с {date}: {ago}."),
        Russian => format!("Дней до {date}: {days}."),
        Chinese if days == 0 => format!("{date} 就是今天。"),
        Chinese if days < 0 => format!("{date} 已经过去 {ago} 天。"),
        Chinese => format!("距离 {date} 还有 {days} 天。"),
    }
}

/// What notes there are: own ones, or those of friends.
pub(super) fn notes(language: Language, shared: bool, said: &str) -> String {
    let heading = match (language, shared) {
        (English, false) => "Your notes:",
        (English, true) => "Notes of friends:",
        (Russian, false) => "Ваши заметки:",
        (Russian, true) => "Заметки друзей:",
        (Chinese, false) => "你的笔记：",
        (Chinese, true) => "朋友的笔记：",
    };
    format!("{heading}\n{said}")
}

/// The head of a table of answers.
pub(super) const fn table(language: Language) -> &'static str {
    match language {
        English => "| Asked | Answer |",
        Russian => "| Вопрос | Ответ |",
        Chinese => "| 问题 | 答案 |",
    }
}

pub(super) fn other(language: Language, tool: &str, said: &str) -> String {
    match language {
        English => format!("The tool `{tool}` said: {said}"),
        Russian => format!("Инструмент `{tool}` ответил: {said}"),
        Chinese => format!("工具 `{tool}` 返回：{said}"),
    }
}

/// What a tool said went wrong.
pub(super) fn failed(language: Language, tool: &str, said: &str, asked: Option<&str>) -> String {
    let about = asked.map_or_else(String::new, |asked| match language {
        English | Russian => format!(" ({asked})"),
        Chinese => format!("（{asked}）"),
    });
    match language {
        English => format!("The {tool} said{about}: {said}"),
        Russian => format!("Инструмент «{tool}» сообщил об ошибке{about}: {said}"),
        Chinese => format!("{tool}报错{about}：{said}"),
    }
}

/// What stands for an outcome without a word in it.
pub(super) const fn nothing(language: Language) -> &'static str {
    match language {
        English => "(nothing)",
        Russian => "(ничего)",
        Chinese => "（空）",
    }
}

/// The calculator, by its name in this language.
pub(super) const fn calculator(language: Language) -> &'static str {
    match language {
        English => "calculator",
        Russian => "калькулятор",
        Chinese => "计算器",
    }
}

/// The clock, by its name in this language.
pub(super) const fn clock(language: Language) -> &'static str {
    match language {
        English => "clock",
        Russian => "часы",
        Chinese => "时钟",
    }
}

/// Why some of what was asked for is not looked up.
pub(super) fn not_possible(language: Language, open: &[&DemoTask], forbidden: bool) -> String {
    let mut tools: Vec<&str> = Vec::new();
    for task in open {
        if !tools.contains(&task.tool()) {
            tools.push(task.tool());
        }
    }
    let tools = tools.join(", ");
    match (language, forbidden) {
        (English, true) => format!(
            "I am sorry, I may not use tools in this reply, and without them ({tools}) I do not know the answer."
        ),
        (English, false) => format!(
            "I am sorry, I cannot answer that without a tool ({tools}), and I cannot call it here."
        ),
        (Russian, true) => format!(
            "Извините, в этом ответе мне нельзя пользоваться инструментами, а без них ({tools}) я ответа не знаю."
        ),
        (Russian, false) => format!(
            "Извините, на это я не могу ответить без инструмента ({tools}), а вызвать его здесь нельзя."
        ),
        (Chinese, true) => {
            format!("抱歉，这次回复我不能使用工具，没有工具（{tools}）我就不知道答案。")
        }
        (Chinese, false) => {
            format!("抱歉，没有工具（{tools}）我无法回答，而这里不能调用它。")
        }
    }
}

/// What the model says where there is nothing to look up.
pub(super) fn small_talk(language: Language, topic: Topic) -> String {
    let what = abilities(language);
    match (topic, language) {
        (Topic::Greeting, English) => format!("Hello! {what}"),
        (Topic::Greeting, Russian) => format!("Здравствуйте! {what}"),
        (Topic::Greeting, Chinese) => format!("你好！{what}"),
        (Topic::Help, English) => format!(
            "I am {NAME}, the model built into Jackfield for demonstrations: a rule follower, not an AI. {what}"
        ),
        (Topic::Help, Russian) => format!(
            "Я {NAME}, модель, встроенная в Jackfield для показа: я следую правилам, я не искусственный интеллект. {what}"
        ),
        (Topic::Help, Chinese) => {
            format!("我是 {NAME}，Jackfield 自带的演示模型：我只按规则办事，不是人工智能。{what}")
        }
        (Topic::Thanks, English) => "You are welcome!".to_owned(),
        (Topic::Thanks, Russian) => "Пожалуйста!".to_owned(),
        (Topic::Thanks, Chinese) => "不客气！".to_owned(),
        (Topic::Unknown, English) => format!(
            "I am sorry, I cannot help with that: I am Jackfield's built-in demo model, a rule follower and not an AI. {what}"
        ),
        (Topic::Unknown, Russian) => format!(
            "Извините, с этим я не могу помочь: я встроенная демонстрационная модель Jackfield и следую правилам, я не искусственный интеллект. {what}"
        ),
        (Topic::Unknown, Chinese) => format!(
            "抱歉，这个我帮不上忙：我是 Jackfield 自带的演示模型，只按规则办事，不是人工智能。{what}"
        ),
    }
}

/// What the model can do, with examples.
const fn abilities(language: Language) -> &'static str {
    match language {
        English => {
            "I can calculate and tell the time, with tools. \
             Try \"What is 15% of 2500?\", \"sqrt(2) * 10\" or \"What time is it in Tokyo and Paris?\""
        }
        Russian => {
            "Я умею считать и узнавать время с помощью инструментов. \
             Попробуйте: «Сколько будет 15% от 2500?», «sqrt(2) * 10» или «Который час в Токио и Париже?»"
        }
        Chinese => {
            "我会用工具做计算和查时间。\
             试试看：“2500的15%是多少？”、“sqrt(2) * 10”或“东京和巴黎现在几点？”"
        }
    }
}

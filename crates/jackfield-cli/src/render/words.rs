//! Text for values: calls, results, ends, failures. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, RetryAdvice};
use jackfield_domain::ids::SessionId;
use jackfield_domain::late::LateOutcome;
use jackfield_domain::note::{Note, NoteKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::price::Cost;
use jackfield_domain::request::ModelRef;
use jackfield_domain::text::hidden::{self, revealed};
use jackfield_domain::tool::CatalogEntry;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::usage::Usage;
use jackfield_engine::ToolboxProblem;
use serde_json::{Map, Value};

use crate::render::spent;

pub use jackfield_export::words::{
    Status, cached_from, cancelled, escaped, finish, limit, printable,
};

/// The icon of a tool: one character, or a few that form one.
#[must_use]
pub fn icon(tool: &CatalogEntry) -> Option<String> {
    let icon = shortened(tool.icon.as_deref()?, ICON);
    (!icon.is_empty()).then_some(icon)
}

/// The notice that a message is queued.
#[must_use]
pub fn queued(session: &SessionId) -> String {
    format!("session {session} is at work; this message is sent when its turn is over")
}

/// A foreign text on one line, with hidden letters by name: it must not look like another line of the output.
#[must_use]
pub fn one_line(text: &str) -> String {
    revealed(&text.replace('\r', "").replace(['\n', '\t'], " "))
}

/// The text in one line of at most this many characters.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (place, word) in text.split_whitespace().enumerate() {
        if place > 0 {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most * 4 {
            break;
        }
    }
    let line = revealed(&line);
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// The arguments of a call in short: `expression: "15% of 2500"`.
#[must_use]
pub fn arguments(input: &ToolInput) -> String {
    shortened(&whole_arguments(input, ", "), ARGUMENTS)
}

/// All arguments of a call, with this separator: as they are sent, with hidden characters made visible, and no
/// name or value that could pass for several.
#[must_use]
pub fn whole_arguments(input: &ToolInput, between: &str) -> String {
    match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => {
                let fields = fields.iter().map(|(name, value)| {
                    let value = revealed(&compact(value));
                    format!("{}: {value}", argument(name))
                });
                fields.collect::<Vec<_>>().join(between)
            }
            Err(_) => told(input.raw()),
        },
        ToolInput::Text(text) => told(text),
    }
}

/// The name of an argument, quoted unless it is one word: a model chooses names, too, and one with a colon or a
/// line end must not look like another argument.
fn argument(name: &str) -> Cow<'_, str> {
    let in_a_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.chars().all(in_a_word) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(revealed(&compact(&Value::from(name))))
    }
}

/// A foreign text of several lines, with hidden letters by name. Tabs are shown as in code.
#[must_use]
pub fn told(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(revealed).collect();
    parts.join("\t")
}

/// The arguments of a call as JSON that can be typed: as they are sent, with invisible characters as JSON
/// escapes.
#[must_use]
pub fn typed(fields: &Map<String, Value>) -> String {
    let json = serde_json::to_string(fields).unwrap_or_default();
    let mut typed = String::with_capacity(json.len());
    for c in json.chars() {
        if hidden::name(c).is_some() {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Such characters occur in strings only. Writing to a string cannot fail.
                let _written = write!(typed, "\\u{unit:04x}");
            }
        } else {
            typed.push(c);
        }
    }
    typed
}

fn compact(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The result of a call, in one line.
#[must_use]
pub fn outcome(result: &ToolResult) -> String {
    let text = result.to_text();
    let text = match &result.structured {
        Some(structured) if text.trim().is_empty() => compact(structured),
        Some(_) | None => text,
    };
    let files = files(result).map(|files| format!(" [and {files}]"));
    let files = files.unwrap_or_default();
    format!("{}{files}", shortened(&text, OUTCOME))
}

/// How many parts of a result are not text; `None` if all are.
#[must_use]
pub fn files(result: &ToolResult) -> Option<String> {
    let all = result.content.iter();
    match all.filter(|part| part.as_text().is_none()).count() {
        0 => None,
        1 => Some("1 file".to_owned()),
        many => Some(format!("{many} files")),
    }
}

/// A duration, rounded for people.
#[must_use]
pub fn time(took: Duration) -> String {
    let seconds = took.as_secs();
    match took.as_millis() {
        0 => "<1 ms".to_owned(),
        millis @ 1..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{:.1} s", took.as_secs_f64()),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// The progress of a call: `3 of 10 (30%) · reading`.
#[must_use]
pub fn progress(done: f64, total: Option<f64>, message: Option<&str>) -> String {
    let amount = match total {
        Some(total) if total > 0.0 && total.is_finite() => {
            let share = (done / total * 100.0).clamp(0.0, 100.0);
            format!("{done} of {total} ({share:.0}%)")
        }
        Some(_) | None => done.to_string(),
    };
    let amount = shortened(&amount, 40);
    match message.map(|message| shortened(message, 60)) {
        Some(message) if !message.is_empty() => format!("{amount} · {message}"),
        Some(_) | None => amount,
    }
}

/// The usage of a turn, in one line.
#[must_use]
pub fn usage(
    model: &ModelRef,
    (usage, cost): (&Usage, Option<&Cost>),
    rounds: u32,
    calls: usize,
    took: Duration,
) -> String {
    let mut parts = vec![
        format!("{}/{}", model.provider, model.model),
        counted(u64::from(rounds), "round"),
        counted(calls as u64, "call"),
        spent::tokens(usage),
        time(took),
    ];
    if let Some(cost) = cost {
        parts.insert(4, spent::cost(cost));
    }
    if usage.cache_read > 0 {
        parts.insert(4, format!("{} from cache", spent::cached(usage)));
    }
    parts.join(" · ")
}

/// `1 call`, `2 calls`
#[must_use]
pub fn counted(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// A late result of a call, without its text.
#[must_use]
pub fn late(late: &LateOutcome) -> String {
    let size = counted(late.size as u64, "byte");
    let failed = if late.is_error { ", an error" } else { "" };
    format!("{size} of try {}{failed}", late.attempt.attempt)
}

/// A note, in one line.
#[must_use]
pub fn note(note: &Note) -> String {
    let done = match note.kind {
        // What a reply said, not what was sent.
        NoteKind::Approximated if note.code == "usage_mended" => "cannot be true, and is mended",
        NoteKind::Dropped if note.code == "service_tier_unpriced" => "has no known price",
        NoteKind::Approximated => "is sent as something near it",
        NoteKind::Carried => "is sent in another place",
        NoteKind::Dropped if note.code == "cache_missed" => "is not read from the provider's cache",
        NoteKind::Dropped => "is not sent",
        NoteKind::Refused => "is not passed on",
    };
    // Paths may contain foreign names.
    let (path, code) = (shortened(&note.path, OUTCOME), shortened(&note.code, 64));
    let effect = note.effect.as_str();
    format!("note: {path} {done} ({code}; {effect})")
}

/// A missing toolbox or tool, in one line.
#[must_use]
pub fn problem(problem: &ToolboxProblem) -> String {
    let message = shortened(&problem.message, OUTCOME * 2);
    format!("{}: {message}", problem.toolbox)
}

/// Help for a model that cannot call tools.
fn without_tools(provider: &str) -> String {
    format!("set `tools = \"text\"` under [providers.{provider}], or give --no-tools")
}

/// Help for a failed model call.
#[must_use]
pub fn help(failure: &ModelFailure, model: &ModelRef) -> String {
    let provider = &model.provider;
    match failure.kind {
        ModelFailureKind::ToolsUnsupported => without_tools(provider),
        ModelFailureKind::InvalidRequest | ModelFailureKind::Unsupported
            if refuses_tools(&failure.message) =>
        {
            without_tools(provider)
        }
        ModelFailureKind::BudgetExhausted => {
            "an administrator can raise the budget with `jackfield keys|users|teams limit`".to_owned()
        }
        ModelFailureKind::BudgetUnavailable => {
            "ask again in a while: the journal, which keeps the budgets, cannot be read or written".to_owned()
        }
        ModelFailureKind::ContentFilter => {
            "say it in other words, or take another model with --model: the provider's filter refused this".to_owned()
        }
        ModelFailureKind::ContextTooLong { limit, requested } => {
            let by = limit
                .zip(requested)
                .map(|(limit, requested)| requested.saturating_sub(limit));
            let by = by
                .map(|by| format!(" by at least {by} tokens"))
                .unwrap_or_default();
            format!(
                "shorten the question or what is piped in{by}, or take a model with a longer context"
            )
        }
        ModelFailureKind::Forbidden => {
            format!(
                "look at the rights and the credit of the account that the key of `{provider}` belongs to"
            )
        }
        ModelFailureKind::Interrupted => {
            "ask again; what came before the break is not whole".to_owned()
        }
        ModelFailureKind::InvalidRequest => {
            "look at [settings]: the provider does not take this request for this model".to_owned()
        }
        ModelFailureKind::ModelNotFound => {
            format!(
                "look at the name `{}`; take another with --model, or with `model` in jackfield.toml",
                model.model
            )
        }
        ModelFailureKind::Overloaded => format!(
            "wait {} and ask again, or take another model with --model",
            suggested_pause(failure).as_deref().unwrap_or("a little")
        ),
        ModelFailureKind::ProtocolViolation if **provider == *PROGRAM => {
            format!("look at `command` under [providers.{provider}]: another program may be there")
        }
        ModelFailureKind::ProtocolViolation => {
            format!(
                "look at `base_url` under [providers.{provider}]: something else than the provider may answer there"
            )
        }
        ModelFailureKind::RateLimited => {
            let pause = suggested_pause(failure).map(|pause| format!(" {pause}"));
            format!(
                "wait{} and ask again, or raise the limit of the account",
                pause.unwrap_or_default()
            )
        }
        ModelFailureKind::ServerError => format!(
            "wait {} and ask again, or take another model with --model; the fault is the provider's",
            suggested_pause(failure).as_deref().unwrap_or("a little")
        ),
        ModelFailureKind::Timeout => "ask again, or raise `model_idle` under [limits]".to_owned(),
        ModelFailureKind::TooLarge => {
            "leave out files or images, or send smaller ones: the provider takes fewer bytes".to_owned()
        }
        ModelFailureKind::Transport
            if let Some((_, start)) = LOCAL.iter().find(|(name, _)| **name == **provider) =>
        {
            format!("start it with {start}, or check `base_url` under [providers.{provider}]")
        }
        ModelFailureKind::Transport
            if **provider == *PROGRAM && failure.advice == RetryAdvice::Never =>
        {
            format!(
                "install the program, or set `command` under [providers.{provider}] to its path"
            )
        }
        ModelFailureKind::Transport => {
            format!(
                "check the network, proxies, and `base_url` under [providers.{provider}]"
            )
        }
        ModelFailureKind::Unauthenticated if **provider == *PROGRAM => {
            format!(
                "run `claude` and type `/login`, or name the variable of a key with `api_key_env` under [providers.{provider}]"
            )
        }
        ModelFailureKind::Unauthenticated => {
            format!(
                "check the key of `{provider}`: `api_key_env` under [providers.{provider}] names its variable"
            )
        }
        ModelFailureKind::Unsupported => {
            "take another model with --model, or leave out what it cannot do".to_owned()
        }
        ModelFailureKind::UnusableReply => {
            "ask again, or take another model with --model: this one wrote a call that its provider cannot read".to_owned()
        }
    }
}

/// The provider that is a program of this machine.
const PROGRAM: &str = "claude-code";
/// The commands that start the model servers of this machine.
const LOCAL: &[(&str, &str)] = &[
    ("llama-cpp", "`llama-server -m MODEL.gguf`"),
    ("ollama", "`ollama serve`"),
    ("vllm", "`vllm serve MODEL`"),
];

/// The pause that a provider asks for, if any.
fn suggested_pause(failure: &ModelFailure) -> Option<String> {
    let RetryAdvice::After(pause) = failure.advice else {
        return None;
    };
    let seconds = pause.as_secs_f64().ceil();
    let (many, unit) = match seconds {
        0.0..=120.0 => (seconds, "s"),
        120.0..=7_200.0 => ((seconds / 60.0).ceil(), "min"),
        _ => ((seconds / 3_600.0).ceil(), "h"),
    };
    Some(format!("{many} {unit}, as the provider says,"))
}

/// Whether a provider reports that it or the model does not support tools; there is no error code for that.
fn refuses_tools(message: &str) -> bool {
    let message = message.to_lowercase();
    let refuses = ["not support", "n't support", "unsupported", "not available"];
    message.contains("tool") && refuses.iter().any(|words| message.contains(words))
}

/// The maximum length of arguments in a line, in characters.
const ARGUMENTS: usize = 160;

/// The maximum length of an icon, in characters.
const ICON: usize = 8;

/// The maximum length of a result in a line, in characters.
const OUTCOME: usize = 200;

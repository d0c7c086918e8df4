//! What the demo model says: a pure function from a request to a reply, by rules.

mod answer;
mod arithmetic;
mod calendar;
mod clock;
mod language;
mod notes;
mod orders;
mod places;
mod small_talk;
mod table;
mod text;
mod words;

use std::sync::Arc;

use jackfield_domain::block::{Content, ToolCall};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice};
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Map, Value, json};

use self::language::Language;

pub const NAME: &str = "jackfield-demo-rules";

/// What the model says: a text, and the tools that it calls after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DemoReply {
    /// The text; never blank.
    pub text: String,
    /// The calls; none if the text is the answer.
    pub calls: Vec<DemoCall>,
}

/// A tool call as the model wants it.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoCall {
    /// The tool, by the name under which it was offered.
    pub tool: ToolName,
    pub arguments: Map<String, Value>,
}

/// Returns what the model says to a request.
///
/// Only the last question of the user counts. Its parts that no call since then has asked for are
/// asked for, all at once, unless the request wants one call at a time; when nothing is left to ask
/// for, or nothing may be called, the answer is made of what the tools said.
#[must_use]
pub fn reply(request: &ModelRequest) -> DemoReply {
    let asked = UserRequest::read(request);
    let open: Vec<&DemoTask> = asked
        .tasks
        .iter()
        .filter(|task| !asked.done.iter().any(|done| done.is_for(task)))
        .collect();
    let mut calls: Vec<DemoCall> = open
        .iter()
        .filter_map(|task| task.call(request))
        .take(MAX_CALLS.saturating_sub(asked.done.len()))
        .collect();
    if request.settings.parallel_calls == Some(false) {
        calls.truncate(1);
    }
    if !calls.is_empty() {
        let text = words::before_calls(asked.language, &calls);
        return DemoReply { text, calls };
    }
    DemoReply {
        text: asked.answer(request, &open),
        calls,
    }
}

/// One thing that a tool can find out.
#[derive(Clone, Debug, Eq, PartialEq)]
enum DemoTask {
    /// This note is to be written.
    AddNote { text: String, title: String },
    /// What this expression comes to.
    Calculate { expression: String },
    /// Which invoices were sent.
    ListInvoices,
    /// Which notes there are, own ones or those of friends: the newest, or those about something.
    ListNotes { query: Option<String>, shared: bool },
    /// What this note says in full.
    ReadNote { id: i64, shared: bool },
    /// This invoice is to be sent.
    SendInvoice { number: i64 },
    /// What time or date it is, there, written like this.
    Tell {
        format: &'static str,
        zone: Option<String>,
    },
}

/// What the user asked last, and what has come of it.
struct UserRequest {
    done: Vec<DemoResult>,
    language: Language,
    tasks: Vec<DemoTask>,
    text: String,
}

/// A call since the user asked, with its result.
struct DemoResult {
    call: Arc<ToolCall>,
    outcome: Arc<ToolOutcome>,
}

impl UserRequest {
    fn read(request: &ModelRequest) -> Self {
        let messages: Vec<&Arc<Message>> = request.messages.iter().collect();
        let last = messages
            .iter()
            .rposition(|message| message.role == Role::User);
        let mut start = last.unwrap_or(0);
        let mut text = text_of(last.and_then(|at| messages.get(at)));
        let mut tasks = find_tasks(&text);
        // A remark beside the outcomes ("in words, please") is not a new question.
        let remark = start > 0 && messages.get(start - 1).map(|m| m.role) == Some(Role::Tool);
        if remark && tasks.is_empty() {
            let earlier = messages.get(..start).unwrap_or_default();
            if let Some(at) = earlier.iter().rposition(|m| m.role == Role::User) {
                start = at;
                text = text_of(messages.get(at));
                tasks = find_tasks(&text);
            }
        }
        let done = done_since(messages.get(start..).unwrap_or_default());
        tasks.extend(notes::first(&text, &done));
        let language = messages
            .get(..=start)
            .unwrap_or_default()
            .iter()
            .rev()
            .filter(|message| message.role == Role::User)
            .find_map(|message| Language::of(&text_of(Some(message))));
        Self {
            done,
            language: language.unwrap_or_default(),
            tasks,
            text,
        }
    }

    /// The text that ends the turn.
    fn answer(&self, request: &ModelRequest, open: &[&DemoTask]) -> String {
        let done = self.done.iter();
        let table = table::of(self.language, &self.text, &self.done);
        let mut lines: Vec<String> = match table {
            // What follows a table without a blank line would be a row of it.
            Some(table) if !open.is_empty() => vec![format!("{table}\n")],
            Some(table) => vec![table],
            None => done
                .map(|done| answer::tell(self.language, &self.text, done))
                .collect(),
        };
        if !open.is_empty() {
            let forbidden = request.choice == ToolChoice::Forbidden;
            lines.push(words::not_possible(self.language, open, forbidden));
        }
        if lines.is_empty() {
            lines.push(small_talk::reply(self.language, &self.text));
        }
        lines.join("\n")
    }
}

impl DemoTask {
    /// The tool that does it, by its own name.
    const fn tool(&self) -> &'static str {
        match self {
            Self::AddNote { .. } => orders::ADD_NOTE,
            Self::Calculate { .. } => CALCULATOR,
            Self::ListInvoices => orders::SENT_INVOICES,
            Self::ListNotes { query, shared } => match (query, shared) {
                (None, false) => "list_recent_notes",
                (None, true) => "list_shared_notes",
                (Some(_), false) => "search_notes",
                (Some(_), true) => "search_shared_notes",
            },
            Self::ReadNote { shared: false, .. } => "get_note",
            Self::ReadNote { shared: true, .. } => "get_shared_note",
            Self::SendInvoice { .. } => orders::SEND_INVOICE,
            Self::Tell { .. } => CLOCK,
        }
    }

    /// The call for it, if the tool is offered and may be called.
    fn call(&self, request: &ModelRequest) -> Option<DemoCall> {
        let definition = request
            .tools
            .iter()
            .find(|tool| is_named(tool.name.as_str(), self.tool()))?;
        let allowed = match &request.choice {
            ToolChoice::Auto | ToolChoice::Required => true,
            ToolChoice::Forbidden => false,
            ToolChoice::Named(name) => *name == definition.name,
            ToolChoice::Only { tools, .. } => tools.contains(&definition.name),
        };
        let mut arguments = self.arguments();
        let InputFormat::Json(schema) = &definition.input else {
            return None;
        };
        let properties = schema.get("properties").and_then(Value::as_object)?;
        arguments.retain(|name, _| properties.contains_key(name));
        // A tool of this name that takes other arguments is another tool, or one that is gone.
        let required = schema.get("required").and_then(Value::as_array);
        let is_given = |name: &Value| {
            name.as_str()
                .is_some_and(|name| arguments.contains_key(name))
        };
        let is_another = properties.is_empty() && *self != Self::ListInvoices
            || required.is_some_and(|required| !required.iter().all(is_given))
            || self.tool() == CALCULATOR && arguments.is_empty();
        if is_another {
            return None;
        }
        allowed.then(|| DemoCall {
            tool: definition.name.clone(),
            arguments,
        })
    }

    fn arguments(&self) -> Map<String, Value> {
        let fields = match self {
            Self::AddNote { text, title } => vec![("title", json!(title)), ("text", json!(text))],
            Self::Calculate { expression } => vec![("expression", json!(expression))],
            Self::ListInvoices => Vec::new(),
            Self::ListNotes { query, .. } => {
                let query = query.iter().map(|query| ("query", json!(query)));
                query.collect()
            }
            Self::ReadNote { id, .. } => vec![("id", json!(id))],
            Self::SendInvoice { number } => vec![("number", json!(number))],
            Self::Tell { format, zone } => {
                let zone = zone.as_ref().map(|zone| ("timezone", json!(zone)));
                zone.into_iter()
                    .chain([("format", json!(format))])
                    .collect()
            }
        };
        let named = |(name, value): (&str, Value)| (name.to_owned(), value);
        fields.into_iter().map(named).collect()
    }
}

impl DemoResult {
    fn is_for(&self, task: &DemoTask) -> bool {
        let asked = match &self.call.input {
            ToolInput::Json(input) => input.object().ok(),
            ToolInput::Text(_) => None,
        };
        // Whatever the schema left out of the arguments was left out then, too.
        let wanted = task.arguments();
        is_named(self.call.name.as_str(), task.tool())
            && asked.is_some_and(|asked| {
                asked
                    .iter()
                    .all(|(name, value)| wanted.get(name) == Some(value))
                    && wanted.len() >= asked.len()
            })
    }
}

/// The tasks in a text, in the order in which they stand there.
fn find_tasks(text: &str) -> Vec<DemoTask> {
    if let Some(order) = orders::find(text) {
        return vec![order];
    }
    let language = Language::of(text).unwrap_or_default();
    let day = calendar::find(text);
    // A date such as 2026-12-01 is no difference.
    let is_sum = |(at, _): &(usize, String)| day.as_ref().is_none_or(|(asked, _)| at < asked);
    let expressions = arithmetic::find(text).into_iter().filter(is_sum);
    let mut found: Vec<(usize, DemoTask)> = expressions
        .map(|(at, expression)| (at, DemoTask::Calculate { expression }))
        .chain(clock::find(text, language))
        .chain(notes::find(text, language))
        .chain(day.clone())
        .collect();
    found.sort_by_key(|(at, _)| *at);
    let mut tasks: Vec<DemoTask> = Vec::new();
    for (_, task) in found {
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    tasks
}

/// The calls among these messages that have an outcome there.
fn done_since(messages: &[&Arc<Message>]) -> Vec<DemoResult> {
    let outcomes = messages.iter().flat_map(|message| &message.blocks);
    let outcome_of = |id: &ToolCallId| {
        outcomes.clone().find_map(|block| match &block.content {
            Content::ToolOutcome(outcome) if outcome.call == *id => Some(Arc::clone(outcome)),
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolCall(_)
            | Content::ToolOutcome(_) => None,
        })
    };
    let calls = messages.iter().flat_map(|message| message.calls());
    let done = calls.filter_map(|call| {
        Some(DemoResult {
            call: Arc::clone(call),
            outcome: outcome_of(&call.id)?,
        })
    });
    done.collect()
}

/// As much of a message's text as is looked at, in one form for each character.
fn text_of(message: Option<&&Arc<Message>>) -> String {
    let text = message.map(|message| message.to_text()).unwrap_or_default();
    text.chars().take(MAX_CHARS).map(narrow).collect()
}

/// The plain form of a full-width character, of a typographic sign, and of any kind of space.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{2212}' | '\u{2013}' => '-',
        '×' | '·' | '∙' | '⋅' | '∗' => '*',
        '÷' | '∕' => '/',
        '\n' => '\n',
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

/// Whether a tool is offered under this name, alone or after its toolbox's.
fn is_named(offered: &str, name: &str) -> bool {
    offered == name
        || offered.strip_suffix(name).is_some_and(|toolbox| {
            toolbox.ends_with("__") || matches!(toolbox, "private_" | "shared_")
        })
}

const CALCULATOR: &str = "calculator";
const CLOCK: &str = "current_datetime";
/// The most calls for one question.
const MAX_CALLS: usize = 8;
/// The most characters of a message that are looked at.
const MAX_CHARS: usize = 2_000;

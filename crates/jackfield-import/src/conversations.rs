//! Conversations in the exports of ChatGPT and Open WebUI.
//!
//! One conversation that cannot be read never takes the others with it, and what is not carried over is counted.

mod chatgpt;
mod gathered;
mod open_webui;
mod surrogates;
mod tree;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use jackfield_domain::block::Block;
use jackfield_domain::message::{Message, Role};
use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

/// The text of a file of an export, without its byte order mark.
#[must_use]
pub fn decode(file: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file))
}

/// The conversations of one file of an export, not read yet.
#[derive(Clone, Debug)]
pub struct Export<'a> {
    items: Vec<&'a RawValue>,
    broken: Option<String>,
}

impl<'a> Export<'a> {
    /// Splits a file into its conversations: a list of them, or a single one.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if there is not one.
    pub fn split(text: &'a str) -> Result<Self, Malformed> {
        let text = text.trim_start_matches('\u{feff}').trim();
        let mut items = Vec::new();
        let broken = if text.starts_with('[') {
            let mut json = serde_json::Deserializer::from_str(text);
            json.deserialize_seq(Items(&mut items)).err()
        } else {
            match serde_json::from_str::<&RawValue>(text) {
                Ok(one) if text.starts_with('{') => {
                    items.push(one);
                    None
                }
                Ok(_) => return Err(Malformed("a list of conversations is expected".to_owned())),
                Err(error) => Some(error),
            }
        };
        match broken {
            Some(error) if items.is_empty() => Err(Malformed(error.to_string())),
            broken => Ok(Self {
                items,
                broken: broken.map(|error| error.to_string()),
            }),
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Why the file could not be read to its end, if it could not.
    #[must_use]
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Reads each of them.
    pub fn iter(&self) -> impl Iterator<Item = Result<Conversation, Unread>> {
        self.items.iter().map(|item| read(item.get()))
    }
}

/// Collects the items up to the first that is not JSON.
struct Items<'v, 'a>(&'v mut Vec<&'a RawValue>);

impl<'a> Visitor<'a> for Items<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of conversations")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element()? {
            self.0.push(item);
        }
        Ok(())
    }
}

/// A conversation.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Conversation {
    /// When it began, in milliseconds since 1970, if the export says it.
    pub created: Option<i64>,
    /// What its program calls it; made of its content where the export says nothing.
    pub id: String,
    /// What was not carried over, and how many of each.
    pub left_out: BTreeMap<LeftOut, usize>,
    /// The messages, in order; neighbours have different speakers.
    pub messages: Vec<SaidMessage>,
    /// The program.
    pub source: Source,
    /// Its title, if it has one.
    pub title: Option<String>,
}

impl Conversation {
    /// Its messages, as those of a session.
    #[must_use]
    pub fn to_messages(&self) -> Vec<Message> {
        let message = |said: &SaidMessage| {
            let role = match said.by {
                Speaker::Assistant => Role::Assistant,
                Speaker::User => Role::User,
            };
            Message::new(role, vec![Block::text(&*said.text)])
        };
        self.messages.iter().map(message).collect()
    }
}

/// A message of text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SaidMessage {
    /// Who said it.
    pub by: Speaker,
    /// What was said; not blank.
    pub text: String,
}

/// Who said a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Speaker {
    /// The model.
    Assistant,
    /// The person.
    User,
}

/// A program whose exports are read.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Source {
    /// ChatGPT.
    ChatGpt,
    /// Open WebUI.
    OpenWebUi,
}

impl Source {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatGpt => "ChatGPT",
            Self::OpenWebUi => "Open WebUI",
        }
    }
}

/// Something that is not carried over.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum LeftOut {
    /// A file other than a picture.
    File,
    /// A message that its program did not show.
    Hidden,
    /// Instructions: a system message, or what a person had said about itself.
    Instructions,
    /// A message that is not on the branch that was shown last.
    OtherVersion,
    /// A picture.
    Picture,
    /// Reasoning of a model.
    Reasoning,
    /// Sound or video.
    Recording,
    /// A call of a tool.
    ToolCall,
    /// The result of a call.
    ToolResult,
    /// Content of a kind that is not known.
    Unknown,
}

impl LeftOut {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Hidden => "hidden_message",
            Self::Instructions => "instructions",
            Self::OtherVersion => "other_version",
            Self::Picture => "picture",
            Self::Reasoning => "reasoning",
            Self::Recording => "recording",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Unknown => "unknown",
        }
    }

    /// So many of it, for people.
    #[must_use]
    pub fn counted(self, count: usize) -> String {
        let (one, several) = match self {
            Self::File => ("file", "files"),
            Self::Hidden => ("hidden message", "hidden messages"),
            Self::Instructions => ("message of instructions", "messages of instructions"),
            Self::OtherVersion => ("message of another branch", "messages of other branches"),
            Self::Picture => ("picture", "pictures"),
            Self::Reasoning => ("piece of reasoning", "pieces of reasoning"),
            Self::Recording => ("recording", "recordings"),
            Self::ToolCall => ("call of a tool", "calls of tools"),
            Self::ToolResult => ("result of a tool", "results of tools"),
            Self::Unknown => ("piece of an unknown kind", "pieces of unknown kinds"),
        };
        format!("{count} {}", if count == 1 { one } else { several })
    }
}

/// The file is not an export: name another one.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("this is no list of conversations: {0}")]
pub struct Malformed(String);

/// A conversation that was not read.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{why}")]
pub struct Unread {
    /// Its title, if that could be read.
    pub title: Option<String>,
    /// Why it was not read.
    pub why: UnreadReason,
}

/// Why a conversation was not read.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum UnreadReason {
    /// It has no message of text.
    #[error("it has no message of text")]
    Empty,
    /// It is not of a program whose exports are read.
    #[error("it is no conversation of ChatGPT or Open WebUI")]
    Foreign,
    /// It is not valid JSON.
    #[error("it cannot be read: {0}")]
    Malformed(String),
    /// It exceeds the bound for one conversation.
    #[error("it has more than 32 MiB")]
    TooLarge,
}

/// Reads one conversation from its JSON.
///
/// # Errors
///
/// [`Unread`] with the reason.
pub fn read(raw: &str) -> Result<Conversation, Unread> {
    let unread = |why| Unread { title: None, why };
    if raw.len() > MAX_CONVERSATION {
        return Err(unread(UnreadReason::TooLarge));
    }
    let value: Value = serde_json::from_str(&surrogates::replace_lone(raw))
        .map_err(|error| unread(UnreadReason::Malformed(error.to_string())))?;
    let (source, gathered) = if let Some(mapping) = value.get("mapping").and_then(Value::as_object)
    {
        (Source::ChatGpt, chatgpt::gather(&value, mapping))
    } else if let Some(chat) = value.get("chat").filter(|chat| chat.is_object()) {
        (Source::OpenWebUi, open_webui::gather(chat))
    } else {
        return Err(unread(UnreadReason::Foreign));
    };
    let title = ["/title", "/chat/title"]
        .into_iter()
        .find_map(|at| text_at(&value, at))
        .map(|title| title.trim().to_owned());
    let created = ["/create_time", "/created_at", "/chat/timestamp"]
        .into_iter()
        .find_map(|at| gathered::millis(value.pointer(at)?));
    let Some(first) = gathered.messages.first() else {
        let why = UnreadReason::Empty;
        return Err(Unread { title, why });
    };
    let id = ["/conversation_id", "/id", "/chat/id"]
        .into_iter()
        .find_map(|at| text_at(&value, at))
        .map_or_else(
            || {
                format!(
                    "{}\n{}\n{}",
                    title.as_deref().unwrap_or_default(),
                    created.unwrap_or_default(),
                    first.text
                )
            },
            str::to_owned,
        );
    Ok(Conversation {
        created,
        id,
        left_out: gathered.left_out,
        messages: gathered.messages,
        source,
        title,
    })
}

/// The text at this place, if it is there and not blank.
fn text_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    let text = value.pointer(pointer)?.as_str()?;
    (!text.trim().is_empty()).then_some(text)
}

/// The largest conversation that is read, in bytes of its JSON.
const MAX_CONVERSATION: usize = 32 << 20;

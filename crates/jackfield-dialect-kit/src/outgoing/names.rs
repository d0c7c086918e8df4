//! Names of tools: a tool keeps its name where the vendor takes it, else it has another one on the wire and gets its
//! own back in replies.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jackfield_domain::block::{CalledName, Content};
use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Message;
use jackfield_domain::naming::bare_tool_name;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};

use super::BlockPath;
use crate::notes::Notes;

/// The form of the names that a vendor takes: `[A-Za-z0-9_-]`, at least one character.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NameForm {
    /// Whether it begins with a letter or `_`.
    pub begins_with_letter: bool,
    /// The further characters.
    pub further: &'static str,
    /// The most characters, which is at least 64.
    pub longest: usize,
}

impl NameForm {
    /// Whether the vendor takes this name.
    #[must_use]
    pub fn fits(self, name: &str) -> bool {
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_valid =
            |c: char| c.is_ascii_alphanumeric() || "_-".contains(c) || self.further.contains(c);
        (1..=self.longest).contains(&name.len())
            && name.chars().all(is_valid)
            && (!self.begins_with_letter || name.starts_with(is_letter))
    }

    /// The request with names that the vendor takes, in its tools, its choice and its calls; notes those that differ.
    ///
    /// A name on the wire depends on the names of the request alone, so it is the same in each round.
    #[must_use]
    pub fn fit<'r>(self, request: &'r ModelRequest, notes: &mut Notes) -> Cow<'r, ModelRequest> {
        let names = self.wire_names(request);
        if names.is_empty() {
            return Cow::Borrowed(request);
        }
        let mut fitted = request.clone();
        for (n, tool) in Arc::make_mut(&mut fitted.tools).iter_mut().enumerate() {
            if let Some(name) = names.get(tool.name.as_str()) {
                noted(notes, format_args!("tools[{n}].name"));
                let name = name.clone();
                *tool = Arc::new(ToolDefinition {
                    name,
                    ..ToolDefinition::clone(tool)
                });
            }
        }
        let mut is_renamed = false;
        for name in chosen(&mut fitted.choice) {
            if let Some(wire) = names.get(name.as_str()) {
                *name = wire.clone();
                is_renamed = true;
            }
        }
        if is_renamed {
            noted(notes, "choice");
        }
        for (n, message) in request.messages.iter().enumerate() {
            if message
                .calls()
                .any(|call| names.contains_key(call.name.as_str()))
            {
                let renamed = rename_calls(message, n, &names, notes);
                fitted.messages.replace(n, Arc::new(renamed));
            }
        }
        Cow::Owned(fitted)
    }

    /// The tools of a request, for reading the reply to it.
    #[must_use]
    pub fn reply_tools(self, request: &ModelRequest) -> ReplyTools {
        let names = self.wire_names(request);
        let wire = |name: &ToolName| -> Arc<str> {
            let name = names.get(name.as_str()).unwrap_or(name);
            name.as_str().into()
        };
        let mut offered: Vec<Arc<str>> = Vec::with_capacity(request.tools.len());
        let mut seen = HashSet::new();
        let mut texts = HashSet::new();
        for tool in request.tools.iter() {
            let name = wire(&tool.name);
            if matches!(tool.input, InputFormat::Text(_)) {
                texts.insert(Arc::clone(&name));
            }
            if seen.insert(Arc::clone(&name)) {
                offered.push(name);
            }
        }
        let own = names
            .iter()
            .map(|(own, wire)| (wire.as_str().to_owned(), own.as_str().into()));
        ReplyTools {
            offered,
            own: own.collect(),
            texts,
        }
    }

    /// The names on the wire that differ, by the own ones.
    fn wire_names(self, request: &ModelRequest) -> BTreeMap<String, ToolName> {
        let all = || {
            let tools = request.tools.iter().map(|tool| tool.name.as_str());
            let calls = request.messages.iter().flat_map(|message| message.calls());
            tools.chain(calls.map(|call| call.name.as_str()))
        };
        let unfit: Vec<&str> = all().filter(|name| !self.fits(name)).collect();
        let mut names = BTreeMap::new();
        if unfit.is_empty() {
            return names;
        }
        let mut taken: HashSet<String> = all().map(str::to_owned).collect();
        for name in unfit {
            if names.contains_key(name) {
                continue;
            }
            let led = format!("_{name}");
            let led = ToolName::parse(&led).ok().filter(|_| self.fits(&led));
            let mut wire = led.unwrap_or_else(|| bare_tool_name(name));
            let mut n = 0;
            while !taken.insert(wire.as_str().to_owned()) {
                n += 1;
                wire = bare_tool_name(&format!("{name} {n}"));
            }
            names.insert(name.to_owned(), wire);
        }
        names
    }
}

/// The tools of a request, by their names on the wire.
#[derive(Clone, Debug, Default)]
pub struct ReplyTools {
    /// All names, each once, in the order of the request.
    pub offered: Vec<Arc<str>>,
    own: HashMap<String, Arc<str>>,
    texts: HashSet<Arc<str>>,
}

impl ReplyTools {
    /// Whether a tool of this name on the wire takes text.
    #[must_use]
    pub fn is_text(&self, wire: &str) -> bool {
        self.texts.contains(wire)
    }

    /// Whether there is a tool of this name.
    #[must_use]
    pub fn contains(&self, wire: &str) -> bool {
        self.offered.iter().any(|known| **known == *wire)
    }

    /// Whether this is the name of a tool and not a prefix of another tool's name.
    #[must_use]
    pub fn is_unambiguous(&self, wire: &str) -> bool {
        let mut begun = self.offered.iter().filter(|known| known.starts_with(wire));
        begun.next().is_some_and(|known| **known == *wire) && begun.next().is_none()
    }

    /// A tool's own name.
    #[must_use]
    pub fn own(&self, wire: &str) -> Arc<str> {
        let own = self.own.get(wire).cloned();
        own.unwrap_or_else(|| wire.into())
    }
}

fn rename_calls(
    message: &Message,
    n: usize,
    names: &BTreeMap<String, ToolName>,
    notes: &mut Notes,
) -> Message {
    let mut renamed = message.clone();
    for ((at, _), block) in BlockPath::of(message, n).zip(&mut renamed.blocks) {
        if let Content::ToolCall(call) = &mut block.content
            && let Some(name) = names.get(call.name.as_str())
        {
            noted(notes, format_args!("{at}.name"));
            Arc::make_mut(call).name = CalledName::from(name);
        }
    }
    renamed
}

fn chosen(choice: &mut ToolChoice) -> &mut [ToolName] {
    match choice {
        ToolChoice::Auto | ToolChoice::Forbidden | ToolChoice::Required => &mut [],
        ToolChoice::Named(name) => std::slice::from_mut(name),
        ToolChoice::Only { tools, .. } => tools,
    }
}

fn noted(notes: &mut Notes, path: impl std::fmt::Display) {
    notes.approximated(NoteEffect::Cosmetic, "tool_name_changed", path);
}

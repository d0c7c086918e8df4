//! Scripts: what a server says, turn by turn.

pub mod json;
mod turn;

pub use self::turn::{Part, Turn};
pub(crate) use self::turn::{Reply, Says};

use std::fmt;

use jackfield_domain::request::ModelRequest;
use serde_json::Value;

type Choice = Box<dyn FnMut(&Asked<'_>) -> Option<Turn> + Send>;

/// What a server says to the requests that come.
pub struct Script(Plan);

/// What is asked: what a script may look at to choose its words.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The body as it came.
    pub body: &'a Value,
    /// How many requests came before.
    pub nth: usize,
    /// The body in domain terms.
    pub request: &'a ModelRequest,
}

impl Asked<'_> {
    /// The text of the last message, tool outcomes included.
    #[must_use]
    pub fn last_text(&self) -> String {
        let last = self.body.get("messages").and_then(Value::as_array);
        let mut texts = Vec::new();
        if let Some(message) = last.and_then(|messages| messages.last()) {
            collect_texts(message.get("content"), &mut texts);
        }
        texts.join("\n")
    }
}

impl Script {
    /// Chooses what to say by the request; `None` has nothing to say, which fails the test.
    pub fn by(choose: impl FnMut(&Asked<'_>) -> Option<Turn> + Send + 'static) -> Self {
        Self(Plan::Chosen(Box::new(choose)))
    }

    /// The turn for a request; the first one that is for it, and has not been used.
    pub(crate) fn next(&mut self, asked: &Asked<'_>) -> Option<Turn> {
        match &mut self.0 {
            Plan::Chosen(choose) => choose(asked),
            Plan::Listed(turns) => {
                let text = asked.last_text();
                let is_for =
                    |turn: &Turn| turn.when.as_ref().is_none_or(|when| text.contains(when));
                let place = turns.iter().position(is_for)?;
                if turns.get(place)?.again {
                    turns.get(place).cloned()
                } else {
                    Some(turns.remove(place))
                }
            }
        }
    }

    /// How many turns of a list were not used; turns that may come again do not count.
    #[must_use]
    pub fn unused(&self) -> usize {
        match &self.0 {
            Plan::Chosen(_) => 0,
            Plan::Listed(turns) => turns.iter().filter(|turn| !turn.again).count(),
        }
    }
}

impl From<Vec<Turn>> for Script {
    fn from(turns: Vec<Turn>) -> Self {
        Self(Plan::Listed(turns))
    }
}

impl<const N: usize> From<[Turn; N]> for Script {
    fn from(turns: [Turn; N]) -> Self {
        Self(Plan::Listed(turns.into()))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Plan::Chosen(_) => f.write_str("Script::by(..)"),
            Plan::Listed(turns) => f.debug_tuple("Script").field(turns).finish(),
        }
    }
}

enum Plan {
    Chosen(Choice),
    Listed(Vec<Turn>),
}

fn collect_texts(content: Option<&Value>, texts: &mut Vec<String>) {
    match content {
        Some(Value::String(text)) => texts.push(text.clone()),
        Some(Value::Array(blocks)) => {
            for block in blocks {
                if let Some(Value::String(text)) = block.get("text") {
                    texts.push(text.clone());
                }
                collect_texts(block.get("content"), texts);
            }
        }
        _ => {}
    }
}

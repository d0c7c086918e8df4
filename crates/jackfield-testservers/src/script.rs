//! Scripts: what a server says, turn by turn.

pub mod json;
mod turn;

pub(crate) use self::turn::{ScriptAnswer, ScriptReply};
pub use self::turn::{ScriptPart, ScriptTurn};

use std::fmt;

use serde_json::Value;

type ScriptChoice = Box<dyn FnMut(&ScriptRequest<'_>) -> Option<ScriptTurn> + Send>;

/// What a server says to the requests that come.
pub struct Script(ScriptPlan);

/// What is asked: what a script may look at to choose its words.
#[derive(Debug)]
pub struct ScriptRequest<'a> {
    /// The body as it came.
    pub body: &'a Value,
    /// The text of what came last and is not the model's, tool outcomes included.
    pub last_text: String,
    /// How many requests came before.
    pub nth: usize,
}

impl Script {
    /// Chooses what to say by the request; `None` has nothing to say, which fails the test.
    pub fn by(
        choose: impl FnMut(&ScriptRequest<'_>) -> Option<ScriptTurn> + Send + 'static,
    ) -> Self {
        Self(ScriptPlan::Chosen(Box::new(choose)))
    }

    /// The turn for a request; the first one that is for it, and has not been used.
    pub(crate) fn next(&mut self, asked: &ScriptRequest<'_>) -> Option<ScriptTurn> {
        match &mut self.0 {
            ScriptPlan::Chosen(choose) => choose(asked),
            ScriptPlan::Listed(turns) => {
                let is_for = |turn: &ScriptTurn| {
                    let mut when = turn.when.iter();
                    when.all(|when| asked.last_text.contains(when))
                };
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
            ScriptPlan::Chosen(_) => 0,
            ScriptPlan::Listed(turns) => turns.iter().filter(|turn| !turn.again).count(),
        }
    }
}

impl From<Vec<ScriptTurn>> for Script {
    fn from(turns: Vec<ScriptTurn>) -> Self {
        Self(ScriptPlan::Listed(turns))
    }
}

impl<const N: usize> From<[ScriptTurn; N]> for Script {
    fn from(turns: [ScriptTurn; N]) -> Self {
        Self(ScriptPlan::Listed(turns.into()))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ScriptPlan::Chosen(_) => f.write_str("Script::by(..)"),
            ScriptPlan::Listed(turns) => f.debug_tuple("Script").field(turns).finish(),
        }
    }
}

enum ScriptPlan {
    Chosen(ScriptChoice),
    Listed(Vec<ScriptTurn>),
}

/// Adds the texts of a content, and of what is in it.
pub(crate) fn collect_texts(content: Option<&Value>, texts: &mut Vec<String>) {
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

/// A text in pieces of a few characters.
pub(crate) fn cut(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let end = text
            .char_indices()
            .nth(PIECE)
            .map_or(text.len(), |(end, _)| end);
        let (piece, rest) = text.split_at(end);
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

const PIECE: usize = 6;

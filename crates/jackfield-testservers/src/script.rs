//! Scripts: a server's replies, turn by turn.

pub mod json;
mod turn;

pub(crate) use self::turn::{ScriptAnswer, ScriptReply};
pub use self::turn::{ScriptPart, ScriptTurn};

use std::fmt;

use serde_json::Value;

type ScriptChoice = Box<dyn FnMut(&ScriptRequest<'_>) -> Option<ScriptTurn> + Send>;

/// The replies of a server.
pub struct Script(ScriptPlan);

/// The properties of a request by which a script can choose its reply.
#[derive(Debug)]
pub struct ScriptRequest<'a> {
    pub body: &'a Value,
    /// The text of the last message that is not the model's, including tool outcomes.
    pub last_text: String,
    /// The number of earlier requests.
    pub nth: usize,
}

impl Script {
    /// Chooses the reply by the request; `None` means that there is none, which fails the test.
    pub fn by(
        choose: impl FnMut(&ScriptRequest<'_>) -> Option<ScriptTurn> + Send + 'static,
    ) -> Self {
        Self(ScriptPlan::Chosen(Box::new(choose)))
    }

    /// The turn for a request: the first unused one that matches.
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

    /// The number of unused turns in a list; repeatable turns do not count.
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

/// Collects the texts of a content, at all levels.
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

/// A text in fragments of a few characters.
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

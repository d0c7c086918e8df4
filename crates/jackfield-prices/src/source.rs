//! The files of others: LiteLLM's map of models, and the data of genai-prices.
//!
//! Each field of them is known: as a rate, or as something that no request of ours is billed by. A field that is not
//! known, and may change a price, refuses its model.

mod decimal;
mod genai;
mod json;
mod litellm;
mod partial;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use jackfield_domain::price::Price;

/// What a file says.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PriceFile {
    /// The models with a price for tokens, in the order of the file.
    pub models: Vec<SourceModel>,
    /// What is wrong with it. A model that a problem names is in `models` only if the problem is a remark.
    pub problems: Vec<Problem>,
    /// Which file it is.
    pub source: Source,
}

/// Which file it is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Source {
    /// The data of genai-prices.
    GenaiPrices,
    /// LiteLLM's map of models.
    #[default]
    LiteLlm,
}

/// A model of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceModel {
    /// What other names it has.
    pub(crate) matches: Match,
    /// The name of the model there.
    pub name: Arc<str>,
    /// The price. Its day and source are empty.
    pub price: Price,
    /// The name of the provider there.
    pub provider: Arc<str>,
    /// The day on which the vendor retires the model.
    pub retires: Option<Arc<str>>,
}

/// Which names are those of a model.
#[derive(Clone, Debug, Default)]
pub(crate) enum Match {
    All(Vec<Self>),
    Any(Vec<Self>),
    Contains(String),
    Ends(String),
    Equals(String),
    /// None, or a pattern that is not tried.
    #[default]
    Never,
    Starts(String),
}

/// What is wrong with a file, or with a model of it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Problem {
    /// Whether the model, or else the file, is not taken.
    pub is_error: bool,
    /// The line, from 1.
    pub line: usize,
    /// The model; empty for the whole file.
    pub model: Arc<str>,
    /// What it is.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if !self.model.is_empty() {
            write!(f, "{}: ", self.model)?;
        }
        f.write_str(&self.text)
    }
}

/// Reads a file of either form, with the prices of this day, `YYYY-MM-DD`.
#[must_use]
pub fn read(text: &str, day: &str) -> PriceFile {
    if text.trim_start().starts_with('[') {
        genai::read(text, day)
    } else {
        litellm::read(text)
    }
}

impl Match {
    pub(crate) fn is_match(&self, name: &str) -> bool {
        match self {
            Self::All(all) => all.iter().all(|one| one.is_match(name)),
            Self::Any(any) => any.iter().any(|one| one.is_match(name)),
            Self::Contains(part) => name.contains(part.as_str()),
            Self::Ends(end) => name.ends_with(end.as_str()),
            Self::Equals(whole) => name == whole,
            Self::Never => false,
            Self::Starts(start) => name.starts_with(start.as_str()),
        }
    }

    /// The whole names among the alternatives.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Any(any) => any.iter().flat_map(Self::names).collect(),
            Self::Equals(name) => vec![name],
            Self::All(_) | Self::Contains(_) | Self::Ends(_) | Self::Never | Self::Starts(_) => {
                Vec::new()
            }
        }
    }
}

impl PriceFile {
    /// Leaves out the models that an error names.
    pub fn leave_out_wrong(&mut self) {
        let errors = self.problems.iter().filter(|problem| problem.is_error);
        let wrong: BTreeSet<&str> = errors.map(|problem| &*problem.model).collect();
        self.models.retain(|model| {
            let with_provider = format!("{}/{}", model.provider, model.name);
            !wrong.contains(&*model.name) && !wrong.contains(&*with_provider)
        });
    }

    /// Names a problem. To find its line takes as long as the file is, so only the first ones are named; after them, an
    /// error is one of the whole file.
    fn problem(
        &mut self,
        is_error: bool,
        line: impl FnOnce() -> usize,
        model: &str,
        text: impl Into<String>,
    ) {
        let alike = self.problems.iter().filter(|one| one.is_error == is_error);
        let (model, text) = match alike.count().cmp(&MOST_PROBLEMS) {
            Ordering::Less => (model, text.into()),
            Ordering::Equal => ("", format!("there is more than these {MOST_PROBLEMS}")),
            Ordering::Greater => return,
        };
        self.problems.push(Problem {
            is_error,
            line: line(),
            model: model.into(),
            text,
        });
    }
}

/// Whether a line can have this name of a model.
fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_graphic())
}

const NO_NAME: &str = "a name has letters, digits and signs of ASCII, and no space";
/// How many errors of a file are named, and how many remarks.
const MOST_PROBLEMS: usize = 100;

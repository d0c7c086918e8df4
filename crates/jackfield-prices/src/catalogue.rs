//! A catalogue: the text, and what is looked up in it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use crate::line::{self, Listing};

/// List prices of models, by kind of provider.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Catalogue(Cow<'static, str>);

/// The text is not a catalogue: it was changed by hand, or is that of another version.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("line {line} {problem}")]
pub struct InvalidCatalogue {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl Catalogue {
    /// The one that comes with Jackfield.
    #[must_use]
    pub const fn built_in() -> Self {
        Self(Cow::Borrowed(include_str!("catalogue.txt")))
    }

    /// A text that was written by [`merge`](crate::merge).
    ///
    /// # Errors
    ///
    /// [`InvalidCatalogue`] at the first line that is not a price, or not in order.
    pub fn parse(text: String) -> Result<Self, InvalidCatalogue> {
        let catalogue = Self(Cow::Owned(text));
        let origins = catalogue.origins();
        let mut before = "";
        for (place, text) in catalogue.0.lines().enumerate() {
            let invalid = |problem| InvalidCatalogue {
                line: place + 1,
                problem,
            };
            if !text.is_ascii() {
                return Err(invalid("has other letters than those of ASCII"));
            }
            if is_head(text) {
                if !before.is_empty() {
                    return Err(invalid("belongs to the head"));
                }
                continue;
            }
            let name = name_of(text);
            if name <= before {
                return Err(invalid("is not in the order of names, or is there twice"));
            }
            if line::read(text, |letter| origins.get(letter).cloned()).is_none() {
                return Err(invalid("is not a price"));
            }
            before = name;
        }
        Ok(catalogue)
    }

    /// The price of a model at this kind of provider. A name that ends in a day without a line of its own is the model
    /// without that day.
    #[must_use]
    pub fn get(&self, kind: &str, model: &str) -> Option<Listing> {
        if kind.contains('/') || model.len() > MAX_NAME {
            return None;
        }
        let names = std::iter::successors(Some(model), |name| without_day(name));
        let kinds = [Some(kind), same_prices(kind)];
        let mut lines = names.flat_map(|name| {
            let keys = kinds.into_iter().flatten();
            keys.filter_map(move |kind| self.line(&format!("{kind}/{name}")))
        });
        self.listing(lines.next()?)
    }

    /// All models with their prices.
    pub fn listings(&self) -> impl Iterator<Item = Listing> {
        let lines = self.0.lines().filter(|line| !is_head(line));
        lines.filter_map(|line| self.listing(line))
    }

    /// The kinds of providers and names of all models.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.0.lines().filter(|line| !is_head(line));
        lines.filter_map(|line| name_of(line).split_once('/'))
    }

    /// The kinds of providers and names of the models of a kind, also of one with the prices of another.
    pub fn models<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        let same = same_prices(kind);
        let own = move |of: &str| of == kind || Some(of) == same;
        self.names()
            .filter(move |(of, _)| own(of))
            .map(|(_, model)| model)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    fn listing(&self, line: &str) -> Option<Listing> {
        line::read(line, |letter| self.origins().remove(letter))
    }

    /// The day and the source of each letter.
    fn origins(&self) -> BTreeMap<&str, (Arc<str>, Arc<str>)> {
        let head = self.0.lines().take_while(|line| is_head(line));
        let origins = head.filter_map(|line| {
            let (letter, rest) = line.strip_prefix('@')?.split_once(' ')?;
            let (day, source) = rest.split_once(' ')?;
            line::is_day(day).then(|| (letter, (day.into(), source.into())))
        });
        origins.collect()
    }

    /// The line of this name.
    fn line(&self, name: &str) -> Option<&str> {
        let text = &*self.0;
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let middle = low.midpoint(high);
            let start = text.get(..middle)?.rfind('\n').map_or(0, |end| end + 1);
            let rest = text.get(start..)?;
            let line = rest.split('\n').next()?;
            // The marks of the head come before all letters.
            match name_of(line).cmp(name) {
                std::cmp::Ordering::Equal => return Some(line),
                std::cmp::Ordering::Less => low = start + line.len() + 1,
                std::cmp::Ordering::Greater => high = start,
            }
        }
        None
    }
}

/// The name of a model without the day at its end, as in `NAME-20261001`, `NAME-2026-10-01` or `NAME@20261001`.
fn without_day(name: &str) -> Option<&str> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((rest, day)) = name.rsplit_once(['-', '@'])
        && day.len() == 8
        && is_number(day)
        && day.starts_with("20")
    {
        return Some(rest);
    }
    let at = name.len().checked_sub(11)?;
    let (rest, day) = (name.get(..at)?, name.get(at + 1..)?);
    (name.get(at..=at)? == "-" && day.starts_with("20") && line::is_day(day)).then_some(rest)
}

/// The kind whose models cost the same, under the same names.
fn same_prices(kind: &str) -> Option<&'static str> {
    match kind {
        "claude-bedrock" => Some("bedrock"),
        "claude-foundry" => Some("claude"),
        _ => None,
    }
}

/// Whether a line belongs to the head: `#` begins a comment, `@` a letter with its day and source.
fn is_head(line: &str) -> bool {
    line.starts_with(['#', '@'])
}

fn name_of(line: &str) -> &str {
    line.split(' ').next().unwrap_or(line)
}

/// The longest name of a model that is looked up, in bytes.
const MAX_NAME: usize = 256;

//! Tags: a few words that a request brings about itself, such as its team, by which its spending is summed.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

/// A name with a value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tag {
    /// The name, such as `team`.
    pub name: Arc<str>,
    /// The value, such as `search`.
    pub value: Arc<str>,
}

/// The names of the tags that are recorded, in order. A request has at most one tag of each.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TagNames(Vec<Arc<str>>);

/// A name that no tag has.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum InvalidTagName {
    /// It has other characters, or too many or none of them.
    #[error(
        "`{0}` is no name of a tag, which has 1 to {MAX_NAME} of the characters a to z, 0 to 9, `_`, `.` and `-`"
    )]
    Form(String),
    /// There are too many.
    #[error("there are more than {MAX_TAGS} names of tags")]
    TooMany,
}

impl Tag {
    /// The value of the tag of this name, if there is one.
    #[must_use]
    pub fn find<'t>(tags: &'t [Self], name: &str) -> Option<&'t str> {
        let found = tags.iter().find(|tag| &*tag.name == name);
        found.map(|tag| &*tag.value)
    }
}

impl TagNames {
    /// Validates names. One that is there twice counts once.
    ///
    /// # Errors
    ///
    /// A name has another form, or there are more than [`MAX_TAGS`].
    pub fn parse<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, InvalidTagName> {
        let mut parsed: Vec<Arc<str>> = Vec::new();
        for name in names {
            if !is_name(name) {
                return Err(InvalidTagName::Form(name.chars().take(MAX_NAME).collect()));
            }
            if let Err(place) = parsed.binary_search_by(|known| (**known).cmp(name)) {
                parsed.insert(place, name.into());
            }
        }
        if parsed.len() > MAX_TAGS {
            return Err(InvalidTagName::TooMany);
        }
        Ok(Self(parsed))
    }

    /// The tags among these pairs, in the order of their names. The first pair of each name that can be a tag is one.
    ///
    /// Pairs are dropped whose name is not among these, and whose value is empty, is longer than [`MAX_VALUE`] or has
    /// a control character. Spaces around names and values do not count.
    #[must_use]
    pub fn tags<N: AsRef<str>, V: AsRef<str>>(
        &self,
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Vec<Tag> {
        let mut found: BTreeMap<&str, Arc<str>> = BTreeMap::new();
        for (name, value) in pairs {
            if found.len() == self.0.len() {
                break;
            }
            let value = value.as_ref();
            if let Some(name) = self.get(name.as_ref()).filter(|_| is_value(value)) {
                found.entry(name).or_insert_with(|| value.trim().into());
            }
        }
        let tags = found.into_iter().map(|(name, value)| Tag {
            name: name.into(),
            value,
        });
        tags.collect()
    }

    /// Whether this pair can be a tag.
    #[must_use]
    pub fn admits(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some() && is_value(value)
    }

    /// This name, if it is among them. Spaces around it do not count.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let name = name.trim();
        self.iter().find(|known| *known == name)
    }

    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    /// Whether there are none, so that no tag is recorded.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a text has the form of a name.
fn is_name(text: &str) -> bool {
    let is_of_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-');
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_of_name)
}

/// Whether a text can be a value, without the spaces around it.
fn is_value(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().nth(MAX_VALUE).is_none() && !text.chars().any(char::is_control)
}

/// The maximum number of names, and of the tags of a request.
pub const MAX_TAGS: usize = 8;
/// The maximum length of a value, in characters.
pub const MAX_VALUE: usize = 64;
/// The maximum length of a name, in bytes.
const MAX_NAME: usize = 32;

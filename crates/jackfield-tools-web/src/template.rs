//! Addresses with `{parameters}` in them, and what comes of them: a value never leaves its place.

mod read;

pub(crate) use self::read::is_name;

use std::fmt;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use thiserror::Error;
use url::Url;

use self::read::{literal, pair, pieces};

/// An address with parameters in its path and its query. Scheme and host are fixed.
#[derive(Clone, PartialEq)]
pub struct Template {
    /// Scheme, host and port, with the path `/`.
    base: Url,
    path: Vec<Vec<TemplatePart>>,
    query: Vec<Pair>,
}

/// A field of the query.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    /// As it is sent.
    name: String,
    /// `None` where there is no `=`.
    value: Option<Vec<TemplatePart>>,
}

#[derive(Clone, Debug, PartialEq)]
enum TemplatePart {
    /// The value of a parameter.
    Parameter(Arc<str>),
    /// As it is sent.
    Text(String),
    /// What an environment variable holds.
    Variable(Arc<str>),
}

/// An address that is none, or that leaves to the model what is not the model's to choose.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum InvalidTemplate {
    /// A brace without its other half, or a name that is none.
    #[error(
        "`{{{0}` names no parameter: a name has letters, digits, `_`, `.` and `-`, and ends with `}}`"
    )]
    Brace(String),
    /// Characters that stand in no address.
    #[error("`{0}` cannot stand in an address as it is: write it as %XX")]
    Character(char),
    /// A `.` or `..` as a part of the path.
    #[error("a `.` or `..` in the path leads elsewhere: write the path that is meant")]
    Dots,
    /// A fragment.
    #[error("what follows `#` is never sent: leave it out")]
    Fragment,
    /// A parameter, or nothing, where the host should be.
    #[error(
        "scheme, host and port are fixed: no `{{parameter}}` and no variable stands before the path"
    )]
    Host,
    /// It is too long.
    #[error("the address is longer than {MOST} bytes")]
    Long,
    /// It is no address.
    #[error(
        "this is no address: one looks like `https://api.example.com/v1/{{city}}?units=metric`"
    )]
    NotAUrl,
    /// A parameter that names a field of the query.
    #[error("the names of the query are fixed: a `{{parameter}}` stands behind a `=`")]
    QueryName,
    /// It has a user or a password.
    #[error(
        "the address has a user or a password in it: a key belongs into a header, as `${{NAME}}`"
    )]
    UserInfo,
    /// What begins as a variable and is none.
    #[error(
        "`${{{0}` names no environment variable: write `${{NAME}}`, or %24 for the sign itself"
    )]
    Variable(String),
}

/// A value that cannot be put into its place.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum TemplateValueError {
    /// A control character.
    #[error("`{0}` has a control character in it, which no path takes")]
    Control(Arc<str>),
    /// A path would lead elsewhere.
    #[error("`{0}` would lead elsewhere: `.` and `..` are no values for a path")]
    Dots(Arc<str>),
    /// A part of the path would be empty.
    #[error("`{0}` must not be empty, as it is a part of the path")]
    Empty(Arc<str>),
    /// The whole is too long.
    #[error("the address gets longer than {MOST_FILLED} bytes: say less")]
    Long,
    /// A variable that nobody gave.
    #[error("the environment variable {0} is missing")]
    Variable(Arc<str>),
}

impl Template {
    /// Reads an address such as `https://api.example.com/v1/{city}?units={units}`.
    ///
    /// # Errors
    ///
    /// [`InvalidTemplate`].
    pub fn parse(text: &str) -> Result<Self, InvalidTemplate> {
        let text = text.trim();
        if text.len() > MOST {
            return Err(InvalidTemplate::Long);
        }
        if text.contains('#') {
            return Err(InvalidTemplate::Fragment);
        }
        let (scheme, rest) = text.split_once("://").ok_or(InvalidTemplate::NotAUrl)?;
        if !["http", "https"].contains(&scheme) {
            return Err(InvalidTemplate::NotAUrl);
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.contains(['{', '}']) {
            return Err(InvalidTemplate::Host);
        }
        if authority.contains('@') {
            return Err(InvalidTemplate::UserInfo);
        }
        if authority.contains(|c: char| c.is_ascii_control() || matches!(c, '\\' | ' ')) {
            return Err(InvalidTemplate::NotAUrl);
        }
        let base = Url::parse(&format!("{scheme}://{authority}/"));
        let base = base.map_err(|_| InvalidTemplate::NotAUrl)?;
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let path = path.strip_prefix('/').unwrap_or(path).split('/');
        let path: Vec<Vec<TemplatePart>> = path.map(pieces).collect::<Result<_, _>>()?;
        if path.iter().any(|segment| is_dots(&literal(segment))) {
            return Err(InvalidTemplate::Dots);
        }
        let query = query.into_iter().flat_map(|query| query.split('&'));
        let query = query.filter(|pair| !pair.is_empty()).map(pair);
        Ok(Self {
            base,
            path,
            query: query.collect::<Result<_, _>>()?,
        })
    }

    /// The environment variables that it names.
    pub fn variables(&self) -> impl Iterator<Item = &Arc<str>> {
        let values = self.query.iter().filter_map(|pair| pair.value.as_ref());
        let pieces = self.path.iter().chain(values).flatten();
        pieces.filter_map(|piece| match piece {
            TemplatePart::Variable(name) => Some(name),
            TemplatePart::Parameter(_) | TemplatePart::Text(_) => None,
        })
    }

    /// Whether a variable can hold this.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with it; never with the value in it.
    pub(crate) fn fits(&self, name: &str, value: &str) -> Result<(), &'static str> {
        if value.is_empty() {
            return Err("it is empty");
        }
        if value.contains(char::is_control) || value.len() > MOST {
            return Err("it is too long for an address, or has a control character in it");
        }
        let this = |piece: &TemplatePart| matches!(piece, TemplatePart::Variable(other) if **other == *name);
        let odd = |part: &str| part.is_empty() || is_dots(part);
        if self.path.iter().flatten().any(this) && value.split('/').any(odd) {
            return Err("an empty part, `.` or `..` would lead elsewhere");
        }
        Ok(())
    }

    /// The parameters of the path, in order; one may stand there twice.
    pub(crate) fn in_path(&self) -> impl Iterator<Item = &Arc<str>> {
        self.path
            .iter()
            .flatten()
            .filter_map(TemplatePart::parameter)
    }

    /// The parameters of the query.
    pub(crate) fn in_query(&self) -> impl Iterator<Item = &Arc<str>> {
        let values = self.query.iter().filter_map(|pair| pair.value.as_ref());
        values.flatten().filter_map(TemplatePart::parameter)
    }

    /// The host, with the port where that is not the scheme's own.
    pub(crate) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The address with these values and variables, and these fields behind its query. A field of the
    /// query whose parameter has no value is left out. A variable may hold several parts of a path.
    ///
    /// # Errors
    ///
    /// [`TemplateValueError`] where a value would change more than its own place.
    pub fn fill<'a>(
        &self,
        value: impl Fn(&str) -> Option<&'a str>,
        variable: impl Fn(&str) -> Option<&'a str>,
        more: &[(&str, &str)],
    ) -> Result<Url, TemplateValueError> {
        let variable = |name: &Arc<str>| {
            variable(name).ok_or_else(|| TemplateValueError::Variable(Arc::clone(name)))
        };
        let mut path = String::new();
        for segment in &self.path {
            let mut filled = String::new();
            for piece in segment {
                match piece {
                    TemplatePart::Text(text) => filled.push_str(text),
                    TemplatePart::Parameter(name) => {
                        let value = value(name).unwrap_or_default();
                        filled.extend(utf8_percent_encode(fit(name, value)?, ENCODED));
                    }
                    TemplatePart::Variable(name) => {
                        filled.extend(utf8_percent_encode(variable(name)?, IN_PATH));
                    }
                }
            }
            if filled.split('/').any(is_dots) {
                let name = segment.iter().find_map(TemplatePart::parameter);
                return Err(TemplateValueError::Dots(name.cloned().unwrap_or_default()));
            }
            path.push('/');
            path.push_str(&filled);
        }
        let mut query = Vec::new();
        for pair in &self.query {
            query.extend(pair.filled(&value, variable)?);
        }
        for (name, value) in more {
            query.push(format!("{}={}", encoded(name), encoded(value)));
        }
        let mut url = self.base.clone();
        url.set_path(&path);
        if !query.is_empty() {
            url.set_query(Some(&query.join("&")));
        }
        if url.as_str().len() > MOST_FILLED {
            return Err(TemplateValueError::Long);
        }
        // What was encoded stays as it is; where it does not, the value is not sent at all.
        if url.path() != path || url.origin() != self.base.origin() {
            return Err(TemplateValueError::Dots(
                self.in_path().next().cloned().unwrap_or_default(),
            ));
        }
        Ok(url)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Template({})", self.host())
    }
}

impl TemplatePart {
    const fn parameter(&self) -> Option<&Arc<str>> {
        match self {
            Self::Parameter(name) => Some(name),
            Self::Text(_) | Self::Variable(_) => None,
        }
    }
}

impl Pair {
    /// The field with its value; `None` if a parameter in it has none.
    fn filled<'a>(
        &self,
        value: impl Fn(&str) -> Option<&'a str>,
        variable: impl Fn(&Arc<str>) -> Result<&'a str, TemplateValueError>,
    ) -> Result<Option<String>, TemplateValueError> {
        let Some(pieces) = &self.value else {
            return Ok(Some(self.name.clone()));
        };
        let mut filled = format!("{}=", self.name);
        for piece in pieces {
            match piece {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Parameter(name) => match value(name) {
                    Some(value) => filled.push_str(&encoded(value)),
                    None => return Ok(None),
                },
                TemplatePart::Variable(name) => filled.push_str(&encoded(variable(name)?)),
            }
        }
        Ok(Some(filled))
    }
}

/// A value that a part of a path can have. Servers like to decode a `/` before they look at the path,
/// and some decode twice.
fn fit<'a>(name: &Arc<str>, value: &'a str) -> Result<&'a str, TemplateValueError> {
    if value.is_empty() {
        return Err(TemplateValueError::Empty(Arc::clone(name)));
    }
    if value.len() > MOST_FILLED {
        return Err(TemplateValueError::Long);
    }
    if value.contains(char::is_control) {
        return Err(TemplateValueError::Control(Arc::clone(name)));
    }
    let plain = decoded(value);
    let mut parts = plain.split(['/', '\\']);
    if plain.contains(['/', '\\']) && parts.any(is_dots) {
        return Err(TemplateValueError::Dots(Arc::clone(name)));
    }
    Ok(value)
}

fn encoded(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

/// Whether a part of a path is `.` or `..` to whoever reads it (WHATWG URL, "double-dot path segment"),
/// be it after decoding it twice, or without what some servers take for parameters of it (`..;x=1`).
fn is_dots(segment: &str) -> bool {
    let plain = decoded(segment);
    let name = plain.split(';').next().unwrap_or_default();
    name == "." || name == ".."
}

/// A text with all that could lead elsewhere decoded, however often it was encoded.
fn decoded(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    let mut parts = text.split('%');
    let mut once = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        once.push('%');
        once.push_str(part.trim_start_matches("25"));
    }
    once.replace("%2e", ".")
        .replace("%2f", "/")
        .replace("%3b", ";")
        .replace("%5c", "\\")
}

/// All but the unreserved characters (RFC 3986, section 2.3).
pub(crate) const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// What of a variable is encoded in a path: all that would not stand there (RFC 3986, section 3.3).
const IN_PATH: &AsciiSet = &ENCODED
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');
/// The longest address, in bytes.
const MOST: usize = 2_048;
/// The longest address with its values; what servers take by default.
const MOST_FILLED: usize = 8_000;

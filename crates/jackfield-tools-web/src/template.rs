//! URL templates with `{parameters}`, filled such that no value leaves its place.

mod read;

pub(crate) use self::read::is_name;

use std::fmt;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use thiserror::Error;
use url::Url;

use self::read::{literal, pair, pieces};

/// A URL with parameters in its path and its query. Scheme and host are fixed.
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
    name: String,
    /// `None` if there is no `=`.
    value: Option<Vec<TemplatePart>>,
}

#[derive(Clone, Debug, PartialEq)]
enum TemplatePart {
    /// The value of a parameter.
    Parameter(Arc<str>),
    /// Fixed text in its encoded form.
    Text(String),
    /// The value of an environment variable.
    Variable(Arc<str>),
}

/// A URL template that is invalid, or that lets the model choose a part that must be fixed.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum InvalidTemplate {
    /// An unpaired brace, or an invalid name in braces.
    #[error(
        "`{{{0}` names no parameter: a name has letters, digits, `_`, `.` and `-`, and ends with `}}`"
    )]
    Brace(String),
    /// A character that is not permitted in a URL.
    #[error("`{0}` cannot stand in an address as it is: write it as %XX")]
    Character(char),
    /// A `.` or `..` segment in the path.
    #[error("a `.` or `..` in the path leads elsewhere: write the path that is meant")]
    Dots,
    #[error("what follows `#` is never sent: leave it out")]
    Fragment,
    /// A parameter in place of the host, or no host.
    #[error(
        "scheme, host and port are fixed: no `{{parameter}}` and no variable stands before the path"
    )]
    Host,
    /// The template is too long.
    #[error("the address is longer than {LIMIT} bytes")]
    Long,
    #[error(
        "this is no address: one looks like `https://api.example.com/v1/{{city}}?units=metric`"
    )]
    NotAUrl,
    /// A parameter in the name of a query field.
    #[error("the names of the query are fixed: a `{{parameter}}` stands behind a `=`")]
    QueryName,
    /// It has a user or a password.
    #[error(
        "the address has a user or a password in it: a key belongs into a header, as `${{NAME}}`"
    )]
    UserInfo,
    /// An invalid reference to a variable.
    #[error(
        "`${{{0}` names no environment variable: write `${{NAME}}`, or %24 for the sign itself"
    )]
    Variable(String),
}

/// A value that is not permitted at its place.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum TemplateValueError {
    /// A control character.
    #[error("`{0}` has a control character in it, which no path takes")]
    Control(Arc<str>),
    /// The value would lead to another path.
    #[error("`{0}` would lead elsewhere: `.` and `..` are no values for a path")]
    Dots(Arc<str>),
    /// A path segment would be empty.
    #[error("`{0}` must not be empty, as it is a part of the path")]
    Empty(Arc<str>),
    /// The resulting URL is too long.
    #[error("the address gets longer than {MAX_FILLED} bytes: say less")]
    Long,
    /// A variable without a value.
    #[error("the environment variable {0} is missing")]
    Variable(Arc<str>),
}

impl Template {
    /// Parses a template such as `https://api.example.com/v1/{city}?units={units}`.
    ///
    /// # Errors
    ///
    /// [`InvalidTemplate`].
    pub fn parse(text: &str) -> Result<Self, InvalidTemplate> {
        let text = text.trim();
        if text.len() > LIMIT {
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

    /// The environment variables that it refers to.
    pub fn variables(&self) -> impl Iterator<Item = &Arc<str>> {
        let values = self.query.iter().filter_map(|pair| pair.value.as_ref());
        let pieces = self.path.iter().chain(values).flatten();
        pieces.filter_map(|piece| match piece {
            TemplatePart::Variable(name) => Some(name),
            TemplatePart::Parameter(_) | TemplatePart::Text(_) => None,
        })
    }

    /// Checks that a variable can have this value.
    ///
    /// # Errors
    ///
    /// A sentence about the error, without the value.
    pub(crate) fn check_variable(&self, name: &str, value: &str) -> Result<(), &'static str> {
        if value.is_empty() {
            return Err("it is empty");
        }
        if value.contains(char::is_control) || value.len() > LIMIT {
            return Err("it is too long for an address, or has a control character in it");
        }
        let this = |piece: &TemplatePart| matches!(piece, TemplatePart::Variable(other) if **other == *name);
        let odd = |part: &str| part.is_empty() || is_dots(part);
        if self.path.iter().flatten().any(this) && value.split('/').any(odd) {
            return Err("an empty part, `.` or `..` would lead elsewhere");
        }
        Ok(())
    }

    /// The parameters of the path, in order, possibly repeated.
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

    /// The host, with a port if it is not the scheme's default.
    pub(crate) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The URL with these values and variables, and with these fields appended to its query. A query field whose
    /// parameter has no value is left out. A variable may contain several path segments.
    ///
    /// # Errors
    ///
    /// [`TemplateValueError`] if a value would change more than its own place.
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
        if url.as_str().len() > MAX_FILLED {
            return Err(TemplateValueError::Long);
        }
        // Parsing must not change the encoded path; otherwise the request is not sent at all.
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

/// Checks a value for a path segment. Servers often decode a `/` before they split the path, and some decode twice.
fn fit<'a>(name: &Arc<str>, value: &'a str) -> Result<&'a str, TemplateValueError> {
    if value.is_empty() {
        return Err(TemplateValueError::Empty(Arc::clone(name)));
    }
    if value.len() > MAX_FILLED {
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

/// Whether a path segment means `.` or `..` to any server (WHATWG URL, "double-dot path segment"), also after
/// decoding it twice, or without path parameters (`..;x=1`).
fn is_dots(segment: &str) -> bool {
    let plain = decoded(segment);
    let name = plain.split(';').next().unwrap_or_default();
    name == "." || name == ".."
}

/// A text with all dangerous characters decoded, through any number of encodings.
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
/// The characters of a variable to encode in a path: those not permitted there (RFC 3986, section 3.3).
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
/// The longest template, in bytes.
const LIMIT: usize = 2_048;
/// The longest filled URL, in bytes; the default limit of servers.
const MAX_FILLED: usize = 8_000;

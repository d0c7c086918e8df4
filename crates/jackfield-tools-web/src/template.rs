//! Addresses with `{parameters}` in them, and what comes of them: a value never leaves its place.

use std::fmt;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use thiserror::Error;
use url::Url;

/// An address with parameters in its path and its query. Scheme and host are fixed.
#[derive(Clone, PartialEq)]
pub struct Template {
    /// Scheme, host and port, with the path `/`.
    base: Url,
    path: Vec<Vec<Piece>>,
    query: Vec<Pair>,
}

/// A field of the query.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    /// As it is sent.
    name: String,
    /// `None` where there is no `=`.
    value: Option<Vec<Piece>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// The value of a parameter.
    Parameter(Arc<str>),
    /// As it is sent.
    Text(String),
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
    #[error("scheme, host and port are fixed: no `{{parameter}}` stands before the path")]
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
    #[error("the address has a user or a password in it: a key belongs into a header")]
    UserInfo,
    /// A variable of the environment.
    #[error(
        "no variable is filled in here, as addresses are logged on the way: a key belongs into a header"
    )]
    Variable,
}

/// A value that cannot be put into its place.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Unfit {
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
        if text.contains("${") {
            return Err(InvalidTemplate::Variable);
        }
        // Braces have been told apart from fragments by then: a name has no `#`.
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
        let path: Vec<Vec<Piece>> = path.map(pieces).collect::<Result<_, _>>()?;
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

    /// The parameters of the path, in order; one may stand there twice.
    pub(crate) fn in_path(&self) -> impl Iterator<Item = &Arc<str>> {
        self.path.iter().flatten().filter_map(Piece::parameter)
    }

    /// The parameters of the query.
    pub(crate) fn in_query(&self) -> impl Iterator<Item = &Arc<str>> {
        let values = self.query.iter().filter_map(|pair| pair.value.as_ref());
        values.flatten().filter_map(Piece::parameter)
    }

    /// The host, with the port where that is not the scheme's own.
    pub(crate) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The address with these values, and these fields behind its query. A field of the query whose
    /// parameter has no value is left out.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where a value would change more than its own place.
    pub fn fill<'a>(
        &self,
        value: impl Fn(&str) -> Option<&'a str>,
        more: &[(&str, &str)],
    ) -> Result<Url, Unfit> {
        let mut path = String::new();
        for segment in &self.path {
            let mut filled = String::new();
            for piece in segment {
                match piece {
                    Piece::Text(text) => filled.push_str(text),
                    Piece::Parameter(name) => {
                        let value = value(name).unwrap_or_default();
                        filled.extend(utf8_percent_encode(fit(name, value)?, ENCODED));
                    }
                }
            }
            if is_dots(&filled) {
                let name = segment.iter().find_map(Piece::parameter);
                return Err(Unfit::Dots(name.cloned().unwrap_or_default()));
            }
            path.push('/');
            path.push_str(&filled);
        }
        let mut query = Vec::new();
        for pair in &self.query {
            query.extend(pair.filled(&value));
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
            return Err(Unfit::Long);
        }
        // What was encoded stays as it is; where it does not, the value is not sent at all.
        if url.path() != path || url.origin() != self.base.origin() {
            return Err(Unfit::Dots(
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

impl Piece {
    const fn parameter(&self) -> Option<&Arc<str>> {
        match self {
            Self::Parameter(name) => Some(name),
            Self::Text(_) => None,
        }
    }
}

impl Pair {
    /// The field with its value; `None` if a parameter in it has none.
    fn filled<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
        let Some(pieces) = &self.value else {
            return Some(self.name.clone());
        };
        let mut filled = format!("{}=", self.name);
        for piece in pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Parameter(name) => filled.push_str(&encoded(value(name)?)),
            }
        }
        Some(filled)
    }
}

/// A value that a part of a path can have. Servers like to decode a `/` before they look at the path.
fn fit<'a>(name: &Arc<str>, value: &'a str) -> Result<&'a str, Unfit> {
    if value.is_empty() {
        return Err(Unfit::Empty(Arc::clone(name)));
    }
    if value.contains(char::is_control) {
        return Err(Unfit::Control(Arc::clone(name)));
    }
    let mut parts = value.split(['/', '\\']);
    if value.contains(['/', '\\']) && parts.any(is_dots) {
        return Err(Unfit::Dots(Arc::clone(name)));
    }
    Ok(value)
}

fn encoded(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

/// Whether a part of a path is `.` or `..` to whoever reads it (WHATWG URL, "double-dot path segment").
fn is_dots(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

/// A part of the path as it would be if its parameters were one letter each.
fn literal(segment: &[Piece]) -> String {
    let pieces = segment.iter().map(|piece| match piece {
        Piece::Parameter(_) => "x",
        Piece::Text(text) => text,
    });
    pieces.collect()
}

fn pair(text: &str) -> Result<Pair, InvalidTemplate> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(pieces(value)?)),
        None => (text, None),
    };
    if name.contains(['{', '}']) {
        return Err(InvalidTemplate::QueryName);
    }
    Ok(Pair {
        name: fixed(name)?,
        value,
    })
}

fn pieces(text: &str) -> Result<Vec<Piece>, InvalidTemplate> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('{') {
        if !before.is_empty() {
            pieces.push(Piece::Text(fixed(before)?));
        }
        let brace = || InvalidTemplate::Brace(from.to_owned());
        let (name, after) = from.split_once('}').ok_or_else(brace)?;
        if !is_name(name) {
            return Err(brace());
        }
        pieces.push(Piece::Parameter(name.into()));
        rest = after;
    }
    if rest.contains('}') {
        return Err(InvalidTemplate::Brace(rest.to_owned()));
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(fixed(rest)?));
    }
    Ok(pieces)
}

/// A fixed text as it is sent: letters beyond ASCII are encoded, everything else has to be as it is.
fn fixed(text: &str) -> Result<String, InvalidTemplate> {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let escape = byte != b'%'
            || matches!((bytes.next(), bytes.next()), (Some(a), Some(b))
                if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
        if !escape {
            return Err(InvalidTemplate::Character('%'));
        }
    }
    let unfit = |c: &char| c.is_ascii() && !c.is_ascii_alphanumeric() && !FIXED.contains(*c);
    if let Some(unfit) = text.chars().find(unfit) {
        return Err(InvalidTemplate::Character(unfit));
    }
    Ok(utf8_percent_encode(text, NOTHING).to_string())
}

/// Whether this can be the name of a parameter, for every model.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (1..=MOST_NAME).contains(&name.len()) && name.chars().all(fits)
}

/// All but the unreserved characters (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// What a fixed text may hold beside letters and digits (RFC 3986, sections 2 and 3.3).
const FIXED: &str = "%-._~!$&'()*+,;=:@?/";
/// Letters beyond ASCII alone.
const NOTHING: &AsciiSet = &AsciiSet::EMPTY;
/// The longest address, in bytes.
const MOST: usize = 2_048;
/// The longest address with its values; what servers take by default.
const MOST_FILLED: usize = 8_000;
/// The longest name of a parameter.
const MOST_NAME: usize = 64;

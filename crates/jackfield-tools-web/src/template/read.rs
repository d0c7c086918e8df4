//! Parses URL templates.

use percent_encoding::{AsciiSet, utf8_percent_encode};

use super::{InvalidTemplate, Pair, TemplatePart};

/// A path segment with each parameter replaced by one letter.
pub(super) fn literal(segment: &[TemplatePart]) -> String {
    let pieces = segment.iter().map(|piece| match piece {
        TemplatePart::Parameter(_) | TemplatePart::Variable(_) => "x",
        TemplatePart::Text(text) => text,
    });
    pieces.collect()
}

pub(super) fn pair(text: &str) -> Result<Pair, InvalidTemplate> {
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

pub(super) fn pieces(text: &str) -> Result<Vec<TemplatePart>, InvalidTemplate> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('{') {
        let (before, variable) = match before.strip_suffix('$') {
            Some(before) => (before, true),
            None => (before, false),
        };
        if !before.is_empty() {
            pieces.push(TemplatePart::Text(fixed(before)?));
        }
        if variable {
            let (name, after) = from.split_once('}').unwrap_or((from, ""));
            if !is_variable(name) || !from.contains('}') {
                return Err(InvalidTemplate::Variable(from.to_owned()));
            }
            pieces.push(TemplatePart::Variable(name.into()));
            rest = after;
            continue;
        }
        let brace = || InvalidTemplate::Brace(from.to_owned());
        let (name, after) = from.split_once('}').ok_or_else(brace)?;
        if !is_name(name) {
            return Err(brace());
        }
        pieces.push(TemplatePart::Parameter(name.into()));
        rest = after;
    }
    if rest.contains('}') {
        return Err(InvalidTemplate::Brace(rest.to_owned()));
    }
    if !rest.is_empty() {
        pieces.push(TemplatePart::Text(fixed(rest)?));
    }
    Ok(pieces)
}

/// A fixed text in its encoded form: non-ASCII characters are encoded, all others must be valid as they are.
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

/// Whether this is a valid parameter name for every model.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(fits)
}

/// Whether this is a valid name of an environment variable.
fn is_variable(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The characters permitted in fixed text besides letters and digits (RFC 3986, sections 2 and 3.3).
const FIXED: &str = "%-._~!$&'()*+,;=:@?/";
/// Encodes only non-ASCII characters.
const NOTHING: &AsciiSet = &AsciiSet::EMPTY;
/// The longest name of a parameter.
const MAX_NAME: usize = 64;

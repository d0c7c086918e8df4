//! Places in a body of several parts (`multipart/form-data`), so that a field can be read or replaced.

use std::ops::Range;

use memchr::memmem;

/// The place of the only text field of this name; `None` if there is none or several, or if the body is not whole.
pub(super) fn field(content_type: &str, body: &[u8], name: &str) -> Option<Range<usize>> {
    let mut found = None;
    for part in parts(content_type, body)? {
        if let Some(text) = text_of(body, part, name)
            && found.replace(text).is_some()
        {
            return None;
        }
    }
    found
}

/// The names of all parts; `None` if the body is not whole, or a part has no name that every server reads alike.
pub(super) fn names(content_type: &str, body: &[u8]) -> Option<Vec<String>> {
    let (_, parameters) = content_type.split_once(';')?;
    let told = plain_parameters(parameters)?;
    let boundaries = told.iter().filter(|(key, _)| key.starts_with("boundary"));
    let delimiter = format!(
        "--{}",
        boundary(content_type).filter(|_| boundaries.count() == 1)?
    );
    // Before the first delimiter, some read other parts.
    let parts = parts(content_type, body).filter(|_| body.starts_with(delimiter.as_bytes()))?;
    // So they do behind the last one, and behind those that others do not see.
    let end = memmem::rfind(body, delimiter.as_bytes())? + delimiter.len();
    let is_whole = matches!(body.get(end..)?, b"--" | b"--\r\n")
        && memmem::find_iter(body, &delimiter).count() == parts.len() + 1;
    let names = parts.into_iter().map(|part| name_of(body.get(part)?));
    names.collect::<Option<_>>().filter(|_| is_whole)
}

/// The places of all parts, each from the line break behind its delimiter on; `None` if the body is not whole.
fn parts(content_type: &str, body: &[u8]) -> Option<Vec<Range<usize>>> {
    let delimiter = format!("\r\n--{}", boundary(content_type)?);
    let finder = memmem::Finder::new(&delimiter);
    // The first delimiter may stand at the very beginning, without its line break.
    let first = delimiter.as_bytes().get(2..)?;
    let mut at = if body.starts_with(first) {
        first.len()
    } else {
        finder.find(body)? + delimiter.len()
    };
    let mut found = Vec::new();
    for _ in 0..MAX_PARTS {
        let rest = body.get(at..)?;
        if rest.starts_with(b"--") {
            return Some(found);
        }
        // Blanks may stand behind a delimiter.
        let blanks = rest.iter().take_while(|byte| b" \t".contains(byte)).count();
        let part = at + blanks;
        if !body.get(part..)?.starts_with(b"\r\n") {
            return None;
        }
        let length = finder.find(body.get(part..)?)?;
        let content = part..part + length;
        at = content.end + delimiter.len();
        found.push(content);
    }
    None
}

/// The boundary in a content type of several parts.
fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    ((1..=70).contains(&boundary.len()) && !boundary.contains(['\r', '\n'])).then_some(boundary)
}

/// The name of a part, if it has one alone.
fn name_of(part: &[u8]) -> Option<String> {
    let (head, _) = head_of(part)?;
    let mut dispositions = head.split("\r\n").filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let is_it = key.trim().eq_ignore_ascii_case("content-disposition");
        is_it.then_some(value)
    });
    let (_, parameters) = dispositions.next()?.split_once(';')?;
    // A folded line, a lone line break, a second name or an extended one is read by some.
    let is_plain = !head.replace("\r\n", "").contains(['\r', '\n'])
        && dispositions.next().is_none()
        && !head.contains("\r\n ")
        && !head.contains("\r\n\t")
        && !parameters.contains('\\');
    let told = plain_parameters(parameters).filter(|_| is_plain)?;
    let mut names = told.into_iter().filter(|(key, _)| key.starts_with("name"));
    let (key, name) = names.next()?;
    (key == "name" && names.next().is_none()).then(|| name.to_owned())
}

/// The parameters, each with its name in small letters; `None` if servers could read them in several ways.
fn plain_parameters(mut rest: &str) -> Option<Vec<(String, &str)>> {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_matches([' ', '\t']);
        if rest.is_empty() {
            return Some(found);
        }
        let (key, after) = rest.split_once('=')?;
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_at(after.find(';').unwrap_or(after.len())),
        };
        let key = key.trim().to_ascii_lowercase();
        if key.contains(['"', ';', ' ', '\t']) || value.contains('\\') {
            return None;
        }
        found.push((key, value.trim()));
        let next = next.trim_start_matches([' ', '\t']);
        rest = match next.strip_prefix(';') {
            Some(next) => next,
            None if next.is_empty() => next,
            None => return None,
        };
    }
}

/// The head of a part, and its length.
fn head_of(part: &[u8]) -> Option<(&str, usize)> {
    let length = memmem::find(part.get(..part.len().min(MAX_HEAD))?, b"\r\n\r\n")?;
    Some((std::str::from_utf8(part.get(..length)?).ok()?, length))
}

/// The text of a part, if it is the text field of this name. The part begins with the line break behind its
/// delimiter.
fn text_of(body: &[u8], part: Range<usize>, name: &str) -> Option<Range<usize>> {
    let (head, head_length) = head_of(body.get(part.clone())?)?;
    let disposition = head.split("\r\n").find_map(|line| {
        let (key, value) = line.split_once(':')?;
        let is_it = key.trim().eq_ignore_ascii_case("content-disposition");
        is_it.then_some(value)
    })?;
    let (_, parameters) = disposition.split_once(';')?;
    let is_text = parameter(parameters, "filename").is_none();
    let start = part.start + head_length + 4;
    (is_text && parameter(parameters, "name")? == name).then_some(start..part.end)
}

/// The value of a parameter, without its quotes. One with escapes is none.
fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = parameters;
    loop {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => {
                let (value, next) = quoted.split_once('"')?;
                if value.contains('\\') {
                    return None;
                }
                (value, next.split_once(';').map_or("", |(_, next)| next))
            }
            None => {
                let (value, next) = after.split_once(';').unwrap_or((after, ""));
                (value.trim_end(), next)
            }
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = next;
    }
}

/// The maximum number of parts that are looked at.
const MAX_PARTS: usize = 1000;
/// The maximum length of a part's head, in bytes.
const MAX_HEAD: usize = 16 << 10;

//! The text of a page: HTML without its markup.

/// The text of HTML: no scripts, styles or markup, a line for each block, entities as their characters.
#[must_use]
pub fn text_of_html(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, behind) = rest.split_at(at);
        push(&mut text, before);
        rest = behind;
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let name = tag_name(rest);
        if name.is_empty() {
            // A sign of comparison, and no tag.
            text.push('<');
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let (tag, behind) = rest.split_at_checked(tag_end(rest)).unwrap_or((rest, ""));
        // In HTML, `/>` closes an SVG element, but not a script or a style.
        let is_whole = &*name == "svg" && tag.ends_with("/>");
        let is_opening = !tag.starts_with("</") && !is_whole;
        rest = behind;
        if is_opening && UNSEEN.contains(&&*name) {
            rest = behind_element(rest, &name);
        } else if BLOCKS.contains(&&*name) {
            text.push('\n');
        } else if CELLS.contains(&&*name) {
            text.push(' ');
        }
    }
    push(&mut text, rest);
    tidy(&text)
}

/// The name of a tag in small letters, which begins with a letter; empty if this is none.
fn tag_name(tag: &str) -> String {
    let name = tag.strip_prefix('<').unwrap_or(tag);
    let name = name.strip_prefix(['/', '!', '?']).unwrap_or(name);
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return String::new();
    }
    let name = name.chars();
    let name = name.take_while(char::is_ascii_alphanumeric).take(16);
    name.collect::<String>().to_ascii_lowercase()
}

/// Where a tag ends: behind the first `>` that is in no quoted attribute.
fn tag_end(tag: &str) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    tag.len()
}

/// What stands behind the end of an element whose content is not shown.
fn behind_element<'a>(html: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = html.get(from..).and_then(|rest| rest.find("</")) {
        let at = from + at;
        let rest = html.get(at..).unwrap_or_default();
        if tag_name(rest) == name {
            return rest.get(tag_end(rest)..).unwrap_or_default();
        }
        from = at + 2;
    }
    ""
}

/// Adds text with its entities as characters.
fn push(text: &mut String, mut piece: &str) {
    while let Some(at) = piece.find('&') {
        let (before, behind) = piece.split_at(at);
        text.push_str(before);
        let entity = behind.get(1..).and_then(|rest| {
            let end = rest.bytes().take(12).position(|byte| byte == b';')?;
            Some((character(rest.get(..end)?)?, rest.get(end + 1..)?))
        });
        if let Some((character, rest)) = entity {
            text.push(character);
            piece = rest;
        } else {
            text.push('&');
            piece = behind.get(1..).unwrap_or_default();
        }
    }
    text.push_str(piece);
}

/// The character of an entity, by its name or number.
fn character(entity: &str) -> Option<char> {
    if let Some(number) = entity.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    let known = ENTITIES.iter().find(|(name, _)| *name == entity);
    known.map(|(_, character)| *character)
}

/// Lines without white space at their ends, and at most one empty line in a row.
fn tidy(text: &str) -> String {
    let mut tidy = String::new();
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if !line.is_empty() || !(tidy.is_empty() || tidy.ends_with("\n\n")) {
            tidy.push_str(&line);
            tidy.push('\n');
        }
    }
    tidy.trim().to_owned()
}

/// The elements that begin a line.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "table",
    "title",
    "tr",
    "ul",
];
/// The elements that stand apart in a line.
const CELLS: &[&str] = &["td", "th"];
/// The entities that texts have, besides numbers.
const ENTITIES: &[(&str, char)] = &[
    ("amp", '&'),
    ("apos", '\''),
    ("copy", '©'),
    ("gt", '>'),
    ("hellip", '…'),
    ("laquo", '«'),
    ("ldquo", '“'),
    ("lsquo", '‘'),
    ("lt", '<'),
    ("mdash", '—'),
    ("nbsp", ' '),
    ("ndash", '–'),
    ("quot", '"'),
    ("raquo", '»'),
    ("rdquo", '”'),
    ("rsquo", '’'),
];
/// The elements whose content is not text for people.
const UNSEEN: &[&str] = &["noscript", "script", "style", "svg", "template"];

//! Code with its tokens in spans, by tables of comment signs, quotes and keywords. Each letter is read once.
//!
//! The classes have one letter, as a block of code has thousands of them: `c`omment, `s`tring, `n`umber, `k`eyword,
//! `f`unction or name, `t`ype, and of a diff `a`dded and `d`eleted.

use std::collections::HashSet;

use self::languages::{Form, LANGUAGES, Language, Quote};

mod languages;

/// Appends the HTML of code, with its tokens in spans if its language is known and it is not long. `info` is what stands
/// behind the fence.
pub(crate) fn push_html(html: &mut String, code: &str, info: &str) {
    let is_short = code.len() <= MAX_BYTES
        && code.split('\n').count() <= MAX_LINES
        && code.split('\n').all(|line| line.len() <= MAX_LINE);
    match language(info).filter(|_| is_short) {
        None => push(html, "", code),
        Some(language) => match language.form {
            Form::Code => push_code(html, code, language),
            Form::Diff => push_lines(html, code, diff_line),
            Form::Markdown => push_lines(html, code, markdown_line),
            Form::Markup => push_markup(html, code),
        },
    }
}

/// The language of an info string such as `rust,ignore`, `{.python}` or `ts:main.ts`.
fn language(info: &str) -> Option<&'static Language> {
    let name = info.trim_start_matches(['{', '.', ' ']);
    let name = name.split([' ', ',', '{', '}', ':']).next()?;
    let is_it = |known: &str| known.eq_ignore_ascii_case(name);
    let mut languages = LANGUAGES.iter();
    languages.find(|language| language.names.split(' ').any(is_it))
}

fn push_code(html: &mut String, mut rest: &str, language: &Language) {
    let keywords: HashSet<&str> = language.keywords.split(' ').collect();
    let mut before = "";
    while !rest.is_empty() {
        let (class, length) = token(rest, before, language, &keywords);
        (before, rest) = cut(rest, length);
        push(html, class, before);
    }
}

/// The class and the length of the token that a text begins with.
fn token(
    text: &str,
    before: &str,
    language: &Language,
    keywords: &HashSet<&str>,
) -> (&'static str, usize) {
    let Some(first) = text.chars().next() else {
        return ("", 0);
    };
    let is_apart = before.is_empty() || before.ends_with(char::is_whitespace);
    let is_line = |sign: &&str| text.starts_with(*sign) && (is_apart || sign.len() > 1);
    if language.comments.iter().any(is_line) {
        return ("c", text.find('\n').unwrap_or(text.len()));
    }
    for (open, close) in language.block_comments {
        if let Some(inner) = text.strip_prefix(open) {
            let length = inner.find(close).map(|at| open.len() + at + close.len());
            return ("c", length.unwrap_or(text.len()));
        }
    }
    if let Some(length) = language
        .quotes
        .iter()
        .find_map(|quote| string(text, before, quote))
    {
        let is_name = is_key(text, length, language);
        return (if is_name { "f" } else { "s" }, length);
    }
    if first.is_ascii_digit() {
        return ("n", end(text, |letter| is_word(letter) || letter == '.'));
    }
    let is_sigil = language.sigils.contains(first);
    if !is_word(first) && !is_sigil {
        return ("", first.len_utf8());
    }
    let (_, tail) = cut(text, first.len_utf8());
    let is_inner = |letter| is_word(letter) || language.inner.contains(letter);
    let length = first.len_utf8() + end(tail, is_inner);
    let (word, after) = cut(text, length);
    let is_keyword = if language.is_caseless {
        keywords.contains(word.to_ascii_lowercase().as_str())
    } else {
        keywords.contains(word)
    };
    let class = if is_keyword || (is_sigil && first != '$' && length > 1) {
        "k"
    } else if is_key(text, length, language)
        || first == '$' && length > 1
        || after.starts_with('(')
        || after.starts_with("!(")
    {
        "f"
    } else if language.has_types && first.is_uppercase() {
        "t"
    } else {
        ""
    };
    (class, length)
}

/// The length of the string that a text begins with. An apostrophe within a word begins none.
fn string(text: &str, before: &str, quote: &Quote) -> Option<usize> {
    let inner = text.strip_prefix(quote.open)?;
    if quote.open == "'" && before.ends_with(is_word) && before.len() > PREFIX {
        return None;
    }
    if quote.is_letter {
        let mut letters = inner.chars();
        let is_one = letters.next() == Some('\\') || letters.next() == Some('\'');
        if !is_one {
            return None;
        }
    }
    let mut is_escaped = false;
    for (at, letter) in inner.char_indices() {
        if letter == '\n' && !quote.has_lines {
            return Some(quote.open.len() + at);
        }
        if is_escaped {
            is_escaped = false;
        } else if letter == '\\' && quote.has_escapes {
            is_escaped = true;
        } else if inner.get(at..)?.starts_with(quote.close) {
            return Some(quote.open.len() + at + quote.close.len());
        }
    }
    Some(text.len())
}

/// Whether the sign of the language that makes a name of what is before it follows.
fn is_key(text: &str, length: usize, language: &Language) -> bool {
    let (_, after) = cut(text, length);
    let sign = language.key;
    sign.is_some_and(|sign| after.trim_start_matches(' ').starts_with(sign))
}

fn push_markup(html: &mut String, mut rest: &str) {
    let mut is_tag = false;
    while let Some(first) = rest.chars().next() {
        let is_name = |letter| is_word(letter) || matches!(letter, '-' | ':' | '@' | '.');
        let (class, length) = if rest.starts_with("<!--") {
            ("c", rest.find("-->").map_or(rest.len(), |at| at + 3))
        } else if first == '<' {
            let (_, tail) = cut(rest, 1);
            let signs = end(tail, |letter| matches!(letter, '/' | '!' | '?'));
            let name = end(cut(tail, signs).1, is_name);
            is_tag = name > 0;
            (if is_tag { "k" } else { "" }, 1 + signs + name)
        } else if !is_tag {
            ("", rest.find('<').unwrap_or(rest.len()))
        } else if let '"' | '\'' = first {
            let close = cut(rest, 1).1.find(first);
            ("s", close.map_or(rest.len(), |at| at + 2))
        } else if is_name(first) {
            ("f", end(rest, is_name))
        } else {
            is_tag = first != '>';
            ("", first.len_utf8())
        };
        let (token, after) = cut(rest, length);
        push(html, class, token);
        rest = after;
    }
}

fn push_lines(html: &mut String, code: &str, class: fn(&str) -> &'static str) {
    for line in code.split_inclusive('\n') {
        push(html, class(line), line);
    }
}

fn diff_line(line: &str) -> &'static str {
    let heads = ["+++", "---", "diff ", "index ", "***"];
    if heads.iter().any(|head| line.starts_with(head)) {
        return "c";
    }
    match line.chars().next() {
        Some('@') => "k",
        Some('+' | '>') => "a",
        Some('-' | '<') => "d",
        Some(_) | None => "",
    }
}

fn markdown_line(line: &str) -> &'static str {
    match line.trim_start().chars().next() {
        Some('#') => "k",
        Some('>') => "c",
        Some('`') => "s",
        Some(_) | None => "",
    }
}

/// The parts of a text before and behind a place.
fn cut(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// The place of the first letter that is none of those.
fn end(text: &str, is_inner: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !is_inner(letter)).unwrap_or(text.len())
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Appends a token; without a class, a text.
fn push(html: &mut String, class: &str, text: &str) {
    if !class.is_empty() {
        html.push_str("<span class=\"");
        html.push_str(class);
        html.push_str("\">");
    }
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            letter => html.push(letter),
        }
    }
    if !class.is_empty() {
        html.push_str("</span>");
    }
}

/// The most bytes of code that is coloured.
const MAX_BYTES: usize = 32 << 10;
/// The most lines of it.
const MAX_LINES: usize = 2_000;
/// The most bytes of one of its lines.
const MAX_LINE: usize = 4_000;
/// The longest word before a quote that is a part of the string, as in `br"…"`.
const PREFIX: usize = 2;

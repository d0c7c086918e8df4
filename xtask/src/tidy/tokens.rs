//! Rust text as words and signs, without comments and without what stands in quotes.
//!
//! This is no parser: it knows as much of the language as is needed to not mistake a comment, a string or a
//! lifetime for code.

use std::ops::Range;

/// A word, a number or one sign.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) line: usize,
    /// A literal in quotes is one `"`.
    pub(crate) text: &'a str,
}

/// Returns the tokens of a source text.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner {
        source,
        at: 0,
        line: 1,
    };
    std::iter::from_fn(|| scanner.next_token()).collect()
}

/// Returns where these texts stand one after the other.
pub(crate) fn find<'a>(
    tokens: &'a [Token<'_>],
    texts: &'a [&str],
) -> impl Iterator<Item = usize> + 'a {
    let starts = 0..(tokens.len() + 1).saturating_sub(texts.len());
    starts.filter(move |start| {
        let window = tokens.iter().skip(*start);
        window.zip(texts).all(|(token, text)| token.text == *text)
    })
}

/// Returns the index after the bracket that closes the one at `open`, or the end.
pub(crate) fn after_closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Returns every path below this one that is written or imported, groups opened, with its line.
pub(crate) fn paths<'a>(tokens: &'a [Token<'a>], below: &[&str]) -> Vec<(usize, Vec<Token<'a>>)> {
    let prefix: Vec<&str> = below.iter().flat_map(|name| [*name, ":", ":"]).collect();
    let mut paths = Vec::new();
    for start in find(tokens, &prefix) {
        let mut at = start + prefix.len();
        tree(tokens, &mut at, &[], &mut paths);
    }
    paths
}

/// Reads one use tree: `a`, `a::b`, `a::{b, c}`, `*`; an end that is no name is no path.
fn tree<'a>(
    tokens: &'a [Token<'a>],
    at: &mut usize,
    prefix: &[Token<'a>],
    paths: &mut Vec<(usize, Vec<Token<'a>>)>,
) {
    let Some(token) = tokens.get(*at) else {
        return;
    };
    if token.text == "{" {
        *at += 1;
        while tokens.get(*at).is_some_and(|token| token.text != "}") {
            let before = *at;
            tree(tokens, at, prefix, paths);
            // What is no tree (a comma, `as name`) is passed over.
            *at = (*at).max(before + 1);
        }
        *at += 1;
        return;
    }
    let is_name = token
        .text
        .starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*');
    if !is_name {
        return;
    }
    let mut path = prefix.to_vec();
    path.push(*token);
    *at += 1;
    let goes_on = find(tokens.get(*at..*at + 2).unwrap_or(&[]), &[":", ":"]).next();
    if goes_on.is_some() {
        *at += 2;
        tree(tokens, at, &path, paths);
    } else {
        paths.push((token.line, path));
    }
}

/// Returns where the modules stand that are compiled for tests only, attributes included.
pub(crate) fn test_modules(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let mut modules = Vec::new();
    for start in find(tokens, &["#", "[", "cfg", "(", "test", ")", "]"]) {
        let mut at = start + 7;
        while tokens.get(at).is_some_and(|token| token.text == "#") {
            at = after_closing(tokens, at + 1);
        }
        let is_module = tokens.get(at).is_some_and(|token| token.text == "mod");
        if is_module && tokens.get(at + 2).is_some_and(|token| token.text == "{") {
            modules.push(start..after_closing(tokens, at + 2));
        }
    }
    modules
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Scanner<'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            if first.is_whitespace() {
                self.skip(first.len_utf8());
            } else if rest.starts_with("//") {
                self.skip(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                self.skip(block_comment(rest));
            } else if let Some(length) = quoted(rest) {
                return Some(self.take(length, Some("\"")));
            } else if first == '\'' {
                // No character literal, so a lifetime or a label: it names nothing that a rule asks for.
                self.skip(1 + word(&rest[1..]));
            } else {
                let length = word(rest).max(first.len_utf8());
                return Some(self.take(length, None));
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn skip(&mut self, length: usize) {
        let passed = &self.rest()[..length];
        self.line += passed.matches('\n').count();
        self.at += length;
    }

    fn take(&mut self, length: usize, instead: Option<&'static str>) -> Token<'a> {
        let text = &self.rest()[..length];
        let token = Token {
            line: self.line,
            text: instead.unwrap_or(text),
        };
        self.skip(length);
        token
    }
}

/// The length of the word at the beginning.
fn word(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len())
}

/// The length of the block comment at the beginning; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of the literal in quotes at the beginning, prefix included.
fn quoted(text: &str) -> Option<usize> {
    if text.starts_with('\'') || text.starts_with("b'") {
        let prefix = usize::from(text.starts_with('b'));
        return character(&text[prefix..]).map(|length| prefix + length);
    }
    let prefix = ["br", "cr", "b", "c", "r", ""]
        .into_iter()
        .find(|prefix| text.starts_with(prefix))?;
    let rest = &text[prefix.len()..];
    if !prefix.ends_with('r') {
        return rest.starts_with('"').then(|| prefix.len() + string(rest));
    }
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let body = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(prefix.len() + hashes + 1 + length)
}

/// The length of the string at the beginning.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the character literal at the beginning; none if it is a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    let (at, second) = chars.next()?;
    if first == '\\' {
        // The escaped character may be a quote itself.
        let after = at + second.len_utf8();
        return text[after..].find('\'').map(|end| after + end + 1);
    }
    (second == '\'').then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::{after_closing, find, tokens};

    fn texts(source: &str) -> Vec<&str> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_and_signs_are_told_apart() {
        assert_eq!(
            texts("a_1::b<T>()"),
            ["a_1", ":", ":", "b", "<", "T", ">", "(", ")"]
        );
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(
            texts("a // async\nb /* x /* y */ async */ c /// async\n"),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn literals_are_one_quote_each() {
        assert_eq!(
            texts(r#"f("a \" async", 'x', '\'', '\\', b'"', "b")"#),
            [
                "f", "(", "\"", ",", "\"", ",", "\"", ",", "\"", ",", "\"", ",", "\"", ")"
            ]
        );
        assert_eq!(
            texts(r###"a r#"x " async"# b br"async" c b"x" d"###),
            ["a", "\"", "b", "\"", "c", "\"", "d"]
        );
    }

    #[test]
    fn names_that_begin_like_a_prefix_are_names() {
        assert_eq!(
            texts("r#type b c br bread"),
            ["r", "#", "type", "b", "c", "br", "bread"]
        );
    }

    #[test]
    fn lifetimes_are_no_literals() {
        assert_eq!(texts("&'a str, 'x'"), ["&", "str", ",", "\""]);
    }

    #[test]
    fn lines_are_counted_through_everything() {
        let source = "a\n/* \n */ \"\n\" b\n// c\nd é 'é'";
        let lines: Vec<usize> = tokens(source).into_iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 4, 6, 6, 6]);
    }

    #[test]
    fn unfinished_text_ends() {
        for source in ["\"a", "r#\"a", "/* a", "'", "'a", "b'", "'\\"] {
            assert!(texts(source).len() < 3, "{source}");
        }
    }

    #[test]
    fn sequences_and_brackets_are_found() {
        let tokens = tokens("mod a { b { c } } mod d;");
        let found: Vec<usize> = find(&tokens, &["mod"]).collect();
        assert_eq!(found, [0, 8]);
        assert_eq!(after_closing(&tokens, 2), 8);
        assert_eq!(find(&tokens, &["mod", "x"]).count(), 0);
    }
}

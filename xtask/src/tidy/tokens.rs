//! Rust text as words and signs, without comments and without what stands in quotes.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A word, a number or one sign.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Token {
    pub(crate) line: usize,
    /// A literal in quotes is one `"`.
    pub(crate) text: String,
}

/// Returns the tokens of a source text, without lifetimes; a comment with documentation is an attribute. What is no Rust
/// has none: it does not compile either.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    flatten(source.parse().unwrap_or_default(), &mut tokens);
    tokens
}

/// Returns where these texts stand one after the other.
pub(crate) fn find<'a>(tokens: &'a [Token], texts: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
    let starts = 0..(tokens.len() + 1).saturating_sub(texts.len());
    starts.filter(move |start| {
        let window = tokens.iter().skip(*start);
        window.zip(texts).all(|(token, text)| token.text == *text)
    })
}

/// Returns the text at an index; none is empty.
pub(crate) fn text(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| &token.text)
}

/// Returns the index after the bracket that closes the one at `open`, or the end.
pub(crate) fn after_closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
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

/// Returns every path that begins with one of these names, groups opened, with its line.
pub(crate) fn paths<'a>(tokens: &'a [Token], roots: &[&str]) -> Vec<(usize, Vec<&'a str>)> {
    let mut paths = Vec::new();
    for (mut at, token) in tokens.iter().enumerate() {
        // `super::super::a` begins once.
        let goes_on = at > 2 && is_path(tokens, at - 2) && roots.contains(&text(tokens, at - 3));
        if roots.contains(&token.text.as_str()) && !goes_on && is_path(tokens, at + 1) {
            tree(tokens, &mut at, &[], &mut paths);
        }
    }
    paths
}

/// Whether `::` stands here.
pub(crate) fn is_path(tokens: &[Token], at: usize) -> bool {
    text(tokens, at) == ":" && text(tokens, at + 1) == ":"
}

/// Reads one use tree: `a`, `a::b`, `a::{b, c}`, `*`; an end that is no name is no path.
fn tree<'a>(
    tokens: &'a [Token],
    at: &mut usize,
    prefix: &[&'a str],
    paths: &mut Vec<(usize, Vec<&'a str>)>,
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
    path.push(&token.text);
    *at += 1;
    if is_path(tokens, *at) {
        *at += 2;
        tree(tokens, at, &path, paths);
    } else {
        paths.push((token.line, path));
    }
}

/// Returns where the modules stand that are compiled for tests only, attributes included.
pub(crate) fn test_modules(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut modules = Vec::new();
    for start in find(tokens, &["#", "[", "cfg", "(", "test", ")", "]"]) {
        let mut at = start + 7;
        while text(tokens, at) == "#" {
            at = after_closing(tokens, at + 1);
        }
        if text(tokens, at) == "mod" && text(tokens, at + 2) == "{" {
            modules.push(start..after_closing(tokens, at + 2));
        }
    }
    modules
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut trees = stream.into_iter();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        let text = match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                let text = open.to_owned();
                tokens.push(Token { line, text });
                flatten(group.stream(), tokens);
                let line = group.span_close().start().line;
                let text = close.to_owned();
                tokens.push(Token { line, text });
                continue;
            }
            TokenTree::Ident(name) => name.to_string(),
            TokenTree::Punct(sign) if sign.as_char() == '\'' => {
                // A lifetime or a label: it names nothing that a rule asks for.
                trees.next();
                continue;
            }
            TokenTree::Punct(sign) => sign.to_string(),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_number = text.starts_with(|first: char| first.is_ascii_digit());
                if is_number { text } else { "\"".to_owned() }
            }
        };
        tokens.push(Token { line, text });
    }
}

#[cfg(test)]
mod tests {
    use super::{after_closing, find, paths, tokens};

    fn texts(source: &str) -> String {
        let texts: Vec<String> = tokens(source).into_iter().map(|token| token.text).collect();
        texts.join(" ")
    }

    #[test]
    fn words_and_signs_are_told_apart() {
        assert_eq!(texts("a_1::b<T>(1)"), "a_1 : : b < T > ( 1 )");
    }

    #[test]
    fn comments_literals_and_lifetimes_say_nothing() {
        assert_eq!(texts("a // async\n/* x /* y */ async */ c"), "a c");
        assert_eq!(texts("/// async\nfn"), "# [ doc = \" ] fn");
        assert_eq!(texts(r###"'x' b"async" r#"x " async"#"###), "\" \" \"");
        assert_eq!(texts("&'a str"), "& str");
        assert_eq!(texts("\"never closed"), "");
    }

    #[test]
    fn lines_are_counted_through_everything() {
        let source = "a\n/* \n */ \"\n\" b\n// c\nd é 'é'(\n)";
        let lines: Vec<usize> = tokens(source).into_iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 4, 6, 6, 6, 6, 7]);
    }

    #[test]
    fn sequences_and_brackets_are_found() {
        let tokens = tokens("mod a { b { c } } mod d;");
        let found: Vec<usize> = find(&tokens, &["mod"]).collect();
        assert_eq!(found, [0, 8]);
        assert_eq!(after_closing(&tokens, 2), 8);
        assert_eq!(find(&tokens, &["mod", "x"]).count(), 0);
    }

    #[test]
    fn paths_are_read_from_their_beginning() {
        let tokens = tokens("use super::super::{a::B, c::*};\nfn f() { crate::d::e(super) }");
        let found: Vec<(usize, String)> = paths(&tokens, &["crate", "super"])
            .into_iter()
            .map(|(line, path)| (line, path.join(" ")))
            .collect();
        let expected = [
            (1, "super super a B".to_owned()),
            (1, "super super c *".to_owned()),
            (2, "crate d e".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}

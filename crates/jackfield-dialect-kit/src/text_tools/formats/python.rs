//! `[f(a="x"), g(b=1)]`: calls as Python writes them, between markers for Llama 4 and LFM 2, alone for Llama 3.2, 4 and
//! others; see [`bare`](super::bare).
//!
//! Sources: Meta's pages on prompts for Llama 3.2 and 4, `vllm/tool_parsers/pythonic_tool_parser.py` and
//! `lfm2_tool_parser.py` of vLLM (2026-11).

use serde_json::{Map, Number, Value};

use super::super::call::{OfferedTools, TextCall};
use super::tagged::call;
use super::{FoundCalls, MarkedFormat};

/// The list between markers.
pub(super) const FORMAT: MarkedFormat = MarkedFormat {
    openers: &["<|python_start|>", "<|tool_call_start|>"],
    read,
};

/// The ends of the marked lists, in the order of the openers.
const CLOSERS: [&str; 2] = ["<|python_end|>", "<|tool_call_end|>"];

fn read<'t>(text: &'t str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let mut marks = FORMAT.openers.iter().zip(CLOSERS);
    let (inner, closer) =
        marks.find_map(|(opener, closer)| Some((text.strip_prefix(opener)?, closer)))?;
    let (calls, rest) = call_list(inner.trim_start(), offered)?;
    let rest = rest.trim_start().strip_prefix(closer)?;
    Some(FoundCalls { calls, rest })
}

/// The list of calls at the beginning of a text, and the text after it.
pub(super) fn call_list<'t>(
    text: &'t str,
    offered: &OfferedTools,
) -> Option<(Vec<TextCall>, &'t str)> {
    let mut parser = Parser {
        depth: 0,
        rest: text.strip_prefix('[')?,
    };
    let mut calls = Vec::new();
    loop {
        calls.push(parser.call("", offered)?);
        parser.skip_blanks();
        if parser.take(",") {
            parser.skip_blanks();
        }
        if parser.take("]") {
            return Some((calls, parser.rest));
        }
    }
}

/// A call of a built-in tool of Llama 3, `brave_search.call(query="...")`, and the text after it.
pub(super) fn builtin_call<'t>(
    text: &'t str,
    offered: &OfferedTools,
) -> Option<(TextCall, &'t str)> {
    let mut parser = Parser {
        depth: 0,
        rest: text,
    };
    let call = parser.call(".call", offered)?;
    Some((call, parser.rest))
}

/// Whether a character belongs to the name of a tool.
pub(super) const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Reads Python's literals; it never computes anything.
struct Parser<'t> {
    depth: u32,
    rest: &'t str,
}

impl Parser<'_> {
    /// A call with named arguments. Its function is the tool's name with this at its end.
    fn call(&mut self, suffix: &str, offered: &OfferedTools) -> Option<TextCall> {
        self.skip_blanks();
        let name = self.word(is_name)?;
        let name = name.strip_suffix(suffix)?.to_owned();
        self.expect("(")?;
        let mut arguments = Map::new();
        loop {
            self.skip_blanks();
            if self.take(")") {
                return call(&name, arguments, offered);
            }
            let key = self.word(|c| c.is_alphanumeric() || c == '_')?.to_owned();
            self.expect("=")?;
            arguments.insert(key, self.value()?);
            self.skip_blanks();
            if !self.take(",") && !self.rest.starts_with(')') {
                return None;
            }
        }
    }

    fn value(&mut self) -> Option<Value> {
        self.skip_blanks();
        // A text of brackets alone must not use up the stack.
        self.depth = self
            .depth
            .checked_add(1)
            .filter(|depth| *depth <= MAX_DEPTH)?;
        let value = match self.rest.chars().next()? {
            quote @ ('"' | '\'') => Value::String(self.string(quote)?),
            '[' => self.list("[", "]")?,
            '(' => self.list("(", ")")?,
            '{' => self.dictionary()?,
            '-' | '+' | '.' | '0'..='9' => Value::Number(self.number()?),
            _ => match self.word(char::is_alphanumeric)? {
                "True" | "true" => Value::Bool(true),
                "False" | "false" => Value::Bool(false),
                "None" | "null" => Value::Null,
                _ => return None,
            },
        };
        self.depth -= 1;
        Some(value)
    }

    fn list(&mut self, open: &str, close: &str) -> Option<Value> {
        self.expect(open)?;
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if self.take(close) {
                return Some(Value::Array(items));
            }
            items.push(self.value()?);
            self.skip_blanks();
            if !self.take(",") && !self.rest.starts_with(close) {
                return None;
            }
        }
    }

    fn dictionary(&mut self) -> Option<Value> {
        self.expect("{")?;
        let mut fields = Map::new();
        loop {
            self.skip_blanks();
            if self.take("}") {
                return Some(Value::Object(fields));
            }
            let quote = self
                .rest
                .chars()
                .next()
                .filter(|c| matches!(c, '"' | '\''))?;
            let key = self.string(quote)?;
            self.expect(":")?;
            fields.insert(key, self.value()?);
            self.skip_blanks();
            if !self.take(",") && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    /// A string, with the escapes that JSON and Python share; an unknown one stays as it is, as in Python.
    fn string(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.rest.strip_prefix(quote)?.chars();
        loop {
            match chars.next()? {
                c if c == quote => {
                    self.rest = chars.as_str();
                    return Some(text);
                }
                '\\' => match chars.next()? {
                    '\n' => {}
                    'n' => text.push('\n'),
                    'r' => text.push('\r'),
                    't' => text.push('\t'),
                    c @ ('\\' | '\'' | '"') => text.push(c),
                    'u' => {
                        let code = chars.as_str().get(..4)?;
                        let code = u32::from_str_radix(code, 16).ok()?;
                        text.push(char::from_u32(code)?);
                        chars = chars.as_str().get(4..)?.chars();
                    }
                    other => text.extend(['\\', other]),
                },
                c => text.push(c),
            }
        }
    }

    fn number(&mut self) -> Option<Number> {
        let word =
            self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_'))?;
        let digits = word.replace('_', "");
        let digits = digits.strip_prefix('+').unwrap_or(&digits);
        if let Ok(number) = serde_json::from_str(digits) {
            return Some(number);
        }
        // `1.` and `.5`, which JSON has not.
        Number::from_f64(digits.parse().ok()?)
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> Option<&str> {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn expect(&mut self, sign: &str) -> Option<()> {
        self.skip_blanks();
        self.take(sign).then_some(())
    }

    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

/// How deep values are nested at most, as in JSON.
const MAX_DEPTH: u32 = 128;

//! `<invoke name="f"><parameter name="k">v</parameter></invoke>` in a block of its own: DeepSeek V3.2 and later, where
//! each tag begins with `｜DSML｜`, and MiniMax M2.
//!
//! A parameter of DeepSeek says with `string="true"` that it is literal text, and is JSON otherwise; one of MiniMax is
//! what the schema says. The tags of DeepSeek V4.1 have a space after the bar. Sources:
//! `vllm/tool_parsers/deepseekv32_tool_parser.py` and `deepseekv4_tool_parser.py` of vLLM, the encodings that DeepSeek
//! publishes with V4 and V4.1, the tool calling guide of `MiniMaxAI/MiniMax-M2` (2026-11).

use serde_json::{Map, Value};

use super::super::call::{OfferedTools, TextCall};
use super::tagged::{call, literal};
use super::{FoundCalls, MarkedFormat};

/// DeepSeek's.
pub(super) const DSML: MarkedFormat = MarkedFormat {
    openers: &[
        "<｜DSML｜function_calls>",
        "<｜DSML｜tool_calls>",
        "<｜DSML｜calls>",
        "<｜DSML｜ function_calls>",
        "<｜DSML｜ tool_calls>",
        "<｜DSML｜ calls>",
    ],
    read: |text, offered| read(text, "｜DSML｜", offered),
};

/// MiniMax's.
pub(super) const MINIMAX: MarkedFormat = MarkedFormat {
    openers: &["<minimax:tool_call>"],
    read: |text, offered| read(text, "", offered),
};

/// Reads a block whose inner tags begin with this prefix.
fn read<'t>(text: &'t str, prefix: &str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let (block, mut inner) = open_tag(text, "")?;
    let mut calls = Vec::new();
    loop {
        inner = inner.trim_start();
        if let Some(rest) = close_tag(inner, "", block) {
            return (!calls.is_empty()).then_some(FoundCalls { calls, rest });
        }
        let (call, rest) = invoke(inner, prefix, offered)?;
        calls.push(call);
        inner = rest;
    }
}

fn invoke<'t>(text: &'t str, prefix: &str, offered: &OfferedTools) -> Option<(TextCall, &'t str)> {
    let (tag, mut rest) = open_tag(text, prefix)?;
    let name = attribute(tag.strip_prefix("invoke")?, "name")?;
    let mut arguments = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = close_tag(rest, prefix, "invoke") {
            return Some((call(name, arguments, offered)?, rest));
        }
        let (tag, inner) = open_tag(rest, prefix)?;
        let attributes = tag.strip_prefix("parameter")?;
        let key = attribute(attributes, "name")?;
        let (value, after) = value_until_close(inner, prefix)?;
        let value = match attribute(attributes, "string") {
            Some("true") => Value::from(value),
            Some("false") => serde_json::from_str(value.trim()).ok()?,
            Some(_) | None => literal(without_breaks(value), offered, name, key),
        };
        arguments.insert(key.to_owned(), value);
        rest = after;
    }
}

/// The value of a parameter, and the text after it. It may contain its own closing tag: it ends where another parameter
/// or the end of the call follows.
fn value_until_close<'t>(text: &'t str, prefix: &str) -> Option<(&'t str, &'t str)> {
    let closers = text.match_indices("</");
    closers
        .filter_map(|(at, _)| {
            let rest = close_tag(text.get(at..)?, prefix, "parameter")?;
            Some((text.get(..at)?, rest))
        })
        .find(|(_, rest)| {
            let next = rest.trim_start();
            let opens = open_tag(next, prefix).is_some_and(|(tag, _)| tag.starts_with("parameter"));
            opens || close_tag(next, prefix, "invoke").is_some()
        })
}

/// The inside of an opening tag after its prefix, and the text after the tag.
fn open_tag<'t>(text: &'t str, prefix: &str) -> Option<(&'t str, &'t str)> {
    let inner = text.strip_prefix('<')?.strip_prefix(prefix)?;
    let (tag, rest) = inner.split_once('>')?;
    (!tag.starts_with('/')).then(|| (tag.trim(), rest))
}

/// The text after this closing tag, which is at the beginning.
fn close_tag<'t>(text: &'t str, prefix: &str, name: &str) -> Option<&'t str> {
    let inner = text.strip_prefix("</")?.strip_prefix(prefix)?;
    let rest = inner.trim_start_matches(' ').strip_prefix(name)?;
    rest.trim_start_matches(' ').strip_prefix('>')
}

/// The value of an attribute in quotes.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = tag;
    loop {
        let (key, after) = rest.split_once("=\"")?;
        let (value, more) = after.split_once('"')?;
        if key.trim() == name {
            return Some(value);
        }
        rest = more;
    }
}

fn without_breaks(value: &str) -> &str {
    let value = value.strip_prefix('\n').unwrap_or(value);
    value.strip_suffix('\n').unwrap_or(value)
}

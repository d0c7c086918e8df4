//! `<tool_call>NAME\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</tool_call>`: GLM 4.5 and later.
//!
//! Values of text are literal, all others are JSON. Source: `vllm/tool_parsers/glm4_moe_tool_parser.py` of vLLM
//! (2026-11).

use serde_json::Map;

use super::super::call::OfferedTools;
use super::tagged::{between, call, literal};
use super::{FoundCalls, MarkedFormat};

pub(super) const FORMAT: MarkedFormat = MarkedFormat {
    openers: &[OPENER],
    read,
};

const OPENER: &str = "<tool_call>";
const CLOSER: &str = "</tool_call>";

fn read<'t>(text: &'t str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let inner = text.strip_prefix(OPENER)?;
    let end = inner.find(['\n', '<'].as_slice())?;
    let (name, mut rest) = inner.split_at_checked(end)?;
    let name = name.trim();
    let mut arguments = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix(CLOSER) {
            let calls = vec![call(name, arguments, offered)?];
            return Some(FoundCalls { calls, rest });
        }
        let (key, after) = between(rest, "<arg_key>", "</arg_key>")?;
        let (value, after) = between(after.trim_start(), "<arg_value>", "</arg_value>")?;
        let key = key.trim();
        arguments.insert(key.to_owned(), literal(value, offered, name, key));
        rest = after;
    }
}

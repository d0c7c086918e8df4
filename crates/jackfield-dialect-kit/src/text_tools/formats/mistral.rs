//! `[TOOL_CALLS][{"name": ..., "arguments": {...}}]` and `[TOOL_CALLS]NAME[ARGS]{...}`: Mistral, the second form since
//! version 11 of its tokenizer, where `[CALL_ID]` may stand before `[ARGS]`.
//!
//! Source: `vllm/tool_parsers/mistral_tool_parser.py` of vLLM; the chat templates of Mistral Medium 3.5 and Ministral 3
//! (2026-11).

use super::super::call::{OfferedTools, TextCall, call_of, leading_array, leading_object};
use super::tagged::until;
use super::{FoundCalls, MarkedFormat};

pub(super) const FORMAT: MarkedFormat = MarkedFormat {
    openers: &[OPENER],
    read,
};

const OPENER: &str = "[TOOL_CALLS]";
const ARGUMENTS: &str = "[ARGS]";
const ID: &str = "[CALL_ID]";

fn read<'t>(text: &'t str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let inner = text.strip_prefix(OPENER)?.trim_start();
    if let Some((objects, rest)) = leading_array(inner) {
        let calls = objects.iter().map(|object| call_of(object, offered, true));
        let calls: Vec<TextCall> = calls.collect::<Option<_>>()?;
        return (!calls.is_empty()).then_some(FoundCalls { calls, rest });
    }
    let (head, rest) = until(inner, ARGUMENTS)?;
    let name = head.split_once(ID).map_or(head, |(name, _)| name).trim();
    let (object, rest) = leading_object(rest.trim_start())?;
    let call = offered.has(name).then(|| TextCall {
        arguments: object.get().to_owned(),
        name: name.to_owned(),
    })?;
    let calls = vec![call];
    Some(FoundCalls { calls, rest })
}

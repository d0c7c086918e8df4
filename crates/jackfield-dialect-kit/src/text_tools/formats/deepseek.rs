//! `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>...<｜tool▁call▁end｜><｜tool▁calls▁end｜>`: DeepSeek V3, R1 and V3.1.
//!
//! A call of V3 and R1 is ``function<｜tool▁sep｜>NAME\n```json\n{...}\n``` ``, one of V3.1 `NAME<｜tool▁sep｜>{...}`.
//! Sources: the chat templates of `deepseek-ai/DeepSeek-V3-0324` and `deepseek-ai/DeepSeek-V3.1`; the parsers
//! `deepseekv3` and `deepseekv31` of vLLM (2026-11).

use super::super::call::{OfferedTools, TextCall, leading_object};
use super::tagged::until;
use super::{FoundCalls, MarkedFormat};

pub(super) const FORMAT: MarkedFormat = MarkedFormat {
    openers: &[OPENER],
    read,
};

const OPENER: &str = "<｜tool▁calls▁begin｜>";
const CLOSER: &str = "<｜tool▁calls▁end｜>";
const CALL: &str = "<｜tool▁call▁begin｜>";
const CALL_END: &str = "<｜tool▁call▁end｜>";
const SEPARATOR: &str = "<｜tool▁sep｜>";
const FENCE: &str = "```";

fn read<'t>(text: &'t str, offered: &OfferedTools) -> Option<FoundCalls<'t>> {
    let mut inner = text.strip_prefix(OPENER)?;
    let mut calls = Vec::new();
    loop {
        inner = inner.trim_start();
        if let Some(rest) = inner.strip_prefix(CLOSER) {
            let end = rest.trim_start().strip_prefix("<｜end▁of▁sentence｜>");
            let rest = end.unwrap_or(rest);
            return (!calls.is_empty()).then_some(FoundCalls { calls, rest });
        }
        let (head, rest) = until(inner.strip_prefix(CALL)?, SEPARATOR)?;
        let (name, arguments) = match rest.split_once(FENCE) {
            Some((name, rest)) if head.trim() == "function" => {
                (name.trim(), rest.strip_prefix("json").unwrap_or(rest))
            }
            Some(_) | None => (head.trim(), rest),
        };
        let (object, rest) = leading_object(arguments.trim_start())?;
        let rest = rest.trim_start();
        let rest = rest.strip_prefix(FENCE).unwrap_or(rest);
        inner = rest.trim_start().strip_prefix(CALL_END)?;
        calls.push(offered.has(name).then(|| TextCall {
            arguments: object.get().to_owned(),
            name: name.to_owned(),
        })?);
    }
}

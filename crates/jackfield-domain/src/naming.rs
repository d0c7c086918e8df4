//! Model-facing tool names: a pure function of (toolbox, tool) that fits the strictest vendor's rule.

use crate::digest::Digest;
use crate::ids::{ToolName, ToolboxId};

/// The name under which models see a tool of a toolbox: `toolbox__tool`.
///
/// At most 64 characters of `[A-Za-z0-9_-]`, beginning with a letter or `_`: what every vendor takes
/// (Gemini is strictest about the beginning, `OpenAI` about the length). Wherever anything had to be
/// changed, or the two parts could be told apart in another way, or the name ends as if it had a
/// hash, eight digits of a hash are added, so that two tools never share a name. Mapped back by
/// table, never by splitting.
#[must_use]
pub fn tool_name(toolbox: &ToolboxId, tool: &str) -> ToolName {
    named(&format!("{toolbox}__{tool}"), Some(toolbox), tool)
}

/// The name under which models see a tool of a toolbox whose tools were given a beginning of their own
/// in place of `toolbox__`, which may be empty.
///
/// Two toolboxes can be given the same one: that two of their tools share a name is seen where the
/// catalog is made.
#[must_use]
pub fn prefixed_tool_name(prefix: &str, toolbox: &ToolboxId, tool: &str) -> ToolName {
    let joined = format!("{prefix}{tool}");
    let mut name = fitting(&joined);
    if name != joined || name.len() > ToolName::MAX || ends_like_a_hash(&joined) {
        hash(&mut name, Some(toolbox), tool);
    }
    ToolName::parse(&name).unwrap_or_else(|_| ToolName::fallback())
}

/// The name under which models see a tool that needs no toolbox before it: a built-in, a client's own.
#[must_use]
pub fn bare_tool_name(tool: &str) -> ToolName {
    named(tool, None, tool)
}

fn named(joined: &str, toolbox: Option<&ToolboxId>, tool: &str) -> ToolName {
    let mut name = fitting(joined);
    // `a` + `_b` and `a_` + `b` would both read `a___b`; and a server must not be able to offer a
    // tool under the name that another one has only because of its hash.
    let ambiguous = toolbox.is_some_and(|toolbox| {
        toolbox.as_str().contains("__")
            || toolbox.as_str().ends_with('_')
            || tool.starts_with('_')
            || ends_like_a_hash(joined)
    });
    if name != joined || ambiguous || name.len() > ToolName::MAX {
        hash(&mut name, toolbox, tool);
    }
    // Every character was made to fit and the length was cut just now.
    ToolName::parse(&name).unwrap_or_else(|_| ToolName::fallback())
}

/// The same with characters that fit, of any length.
fn fitting(joined: &str) -> String {
    let mut name: String = joined
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    let begins_badly = !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins_badly {
        name.insert(0, '_');
    }
    name
}

/// Cuts a name, and tells it from all others.
fn hash(name: &mut String, toolbox: Option<&ToolboxId>, tool: &str) {
    let digest = Digest::of_parts([toolbox.map_or("", ToolboxId::as_str), tool]).to_hex();
    name.truncate(ToolName::MAX - 9);
    name.push('_');
    name.push_str(&digest[..8]);
}

/// Whether a name ends with `_` and eight hexadecimal digits.
fn ends_like_a_hash(name: &str) -> bool {
    let digits = name.len().checked_sub(9).and_then(|at| name.get(at..));
    digits.is_some_and(|end| {
        end.starts_with('_') && end.bytes().skip(1).all(|b| b.is_ascii_hexdigit())
    })
}

const fn fits(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

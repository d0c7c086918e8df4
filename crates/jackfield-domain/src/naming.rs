//! Model-facing tool names: a pure function of toolbox and tool that satisfies the strictest vendor's rule.

use crate::digest::Digest;
use crate::ids::{ToolName, ToolboxId};

/// The model-facing name of a toolbox's tool: `toolbox__tool`.
///
/// At most 64 characters of `[A-Za-z0-9_-]`, beginning with a letter or `_`, which every vendor accepts (Gemini
/// is strictest about the beginning, `OpenAI` about the length). Eight digits of a hash are appended if
/// anything was changed, if the name could be split in another way, or if it ends like a hash, so that two
/// tools never share a name. Names are mapped back by a table, never by splitting.
#[must_use]
pub fn tool_name(toolbox: &ToolboxId, tool: &str) -> ToolName {
    build_name(&format!("{toolbox}__{tool}"), Some(toolbox), tool)
}

/// The model-facing name of a tool whose toolbox has a prefix of its own in place of `toolbox__`; the prefix
/// may be empty.
///
/// Two toolboxes can have the same prefix; the catalog detects tools that share a name.
#[must_use]
pub fn prefixed_tool_name(prefix: &str, toolbox: &ToolboxId, tool: &str) -> ToolName {
    let joined = format!("{prefix}{tool}");
    let mut name = sanitize(&joined);
    if name != joined || name.len() > MAX || has_hash_suffix(&joined) {
        append_hash(&mut name, Some(toolbox), tool);
    }
    ToolName::parse(&name).unwrap_or_else(|_| ToolName::fallback())
}

/// A name without a prefix in the form that every vendor accepts: for a built-in tool, or on the wire for a client's.
#[must_use]
pub fn bare_tool_name(tool: &str) -> ToolName {
    build_name(tool, None, tool)
}

fn build_name(joined: &str, toolbox: Option<&ToolboxId>, tool: &str) -> ToolName {
    let mut name = sanitize(joined);
    // `a` + `_b` and `a_` + `b` would both give `a___b`. Also, a server must not be able to claim a name that
    // another tool has only because of its hash.
    let ambiguous = toolbox.is_some_and(|toolbox| {
        toolbox.as_str().contains("__")
            || toolbox.as_str().ends_with('_')
            || tool.starts_with('_')
            || has_hash_suffix(joined)
    });
    if name != joined || ambiguous || name.len() > MAX {
        append_hash(&mut name, toolbox, tool);
    }
    // The characters and the length are valid by construction.
    ToolName::parse(&name).unwrap_or_else(|_| ToolName::fallback())
}

/// Replaces invalid characters; does not limit the length.
fn sanitize(joined: &str) -> String {
    let mut name: String = joined
        .chars()
        .map(|c| if is_valid_char(c) { c } else { '_' })
        .collect();
    let has_invalid_start = !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if has_invalid_start {
        name.insert(0, '_');
    }
    name
}

/// Shortens a name and appends a hash that makes it unique.
fn append_hash(name: &mut String, toolbox: Option<&ToolboxId>, tool: &str) {
    let digest = Digest::of_parts([toolbox.map_or("", ToolboxId::as_str), tool]).to_hex();
    name.truncate(MAX - 9);
    name.push('_');
    name.push_str(&digest[..8]);
}

/// Whether a name ends with `_` and eight hexadecimal digits.
fn has_hash_suffix(name: &str) -> bool {
    let digits = name.len().checked_sub(9).and_then(|at| name.get(at..));
    digits.is_some_and(|end| {
        end.starts_with('_') && end.bytes().skip(1).all(|b| b.is_ascii_hexdigit())
    })
}

/// The length that every vendor accepts, in characters.
const MAX: usize = 64;

const fn is_valid_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

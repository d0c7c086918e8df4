//! Policy: which tools may run, which need an approval, and which are denied.

use std::sync::Arc;

use crate::tool::{Permission, Safety, ToolOrigin, UnknownPolicy};

/// The verdict of a rule.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RuleVerdict {
    /// The tool may run.
    Allow,
    /// Each call needs an approval.
    Ask,
    /// The tool may not run.
    Deny,
}

/// A rule: a pattern over `toolbox/tool`, and a verdict.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyRule {
    /// A pattern in which `*` matches any text. It is matched against `toolbox/tool` and, unless it contains a
    /// `/`, against the bare tool name.
    pub pattern: Arc<str>,
    /// The verdict.
    pub verdict: RuleVerdict,
}

impl PolicyRule {
    /// Whether the rule matches this tool. A server that a person brought can name its tools as it likes, so a rule that
    /// does not name it, at least by the beginning of its name, allows none of its tools.
    #[must_use]
    pub fn matches_glob(&self, tool: &ToolOrigin) -> bool {
        let names_server = self.pattern.contains('/') && !self.pattern.starts_with('*');
        let is_blind = self.verdict == RuleVerdict::Allow && !names_server;
        matches_tool(&self.pattern, tool) && !(is_blind && tool.toolbox.is_of_people())
    }
}

/// All rules, and the defaults where none matches.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Policy {
    /// Whether the turn is interactive, so that a person can approve calls.
    pub can_ask: bool,
    /// The rules; the last match wins.
    pub rules: Vec<PolicyRule>,
}

impl Policy {
    /// Whether this tool may run. `trusted` means that its toolbox is built in, or that its server is
    /// configured as trusted.
    ///
    /// Without a matching rule, an interactive turn asks for an approval. In a non-interactive turn, read-only
    /// tools of trusted toolboxes run, and all others are denied, with the name of the setting.
    #[must_use]
    pub fn permission(&self, tool: &ToolOrigin, safety: Safety, trusted: bool) -> Permission {
        let full = format!("{}/{}", tool.toolbox, tool.tool);
        let rule = self.rules.iter().rev().find(|rule| rule.matches_glob(tool));
        match rule.map(|rule| (rule.verdict, &rule.pattern)) {
            Some((RuleVerdict::Allow, _)) => Permission::Allow,
            Some((RuleVerdict::Deny, pattern)) => Permission::Deny(
                format!("denied by the rule `\"{pattern}\" = \"deny\"` under [policy.tools]")
                    .into(),
            ),
            Some((RuleVerdict::Ask, _)) | None if self.can_ask => Permission::Ask,
            None if trusted && safety == Safety::ReadOnly => Permission::Allow,
            Some((RuleVerdict::Ask, _)) | None => Permission::Deny(
                format!(
                    "`{full}` needs approval and nobody is there to ask; \
                     to allow it, set `\"{full}\" = \"allow\"` under [policy.tools]"
                )
                .into(),
            ),
        }
    }
}

/// A rule for calls whose outcome is unknown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownRule {
    /// What to do with them.
    pub answer: UnknownPolicy,
    /// A pattern, as in [`PolicyRule`].
    pub pattern: Arc<str>,
}

impl UnknownRule {
    /// The answer of the last rule that matches the tool, if any.
    #[must_use]
    pub fn resolve(rules: &[Self], tool: &ToolOrigin) -> Option<UnknownPolicy> {
        let mut rules = rules.iter().rev();
        let rule = rules.find(|rule| matches_tool(&rule.pattern, tool))?;
        Some(rule.answer)
    }
}

/// Whether this pattern, as in [`PolicyRule`], matches this tool.
#[must_use]
pub fn matches_tool(pattern: &str, tool: &ToolOrigin) -> bool {
    // A tool named `files/read` must not get the permissions of toolbox `files`.
    let bare = !pattern.contains('/') && matches(pattern, &tool.tool);
    bare || matches(pattern, &format!("{}/{}", tool.toolbox, tool.tool))
}

/// Whether the text matches the pattern, in which `*` matches any text.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    let mut rest = rest;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

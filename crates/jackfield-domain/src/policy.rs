//! Policy: which tools may run, which need a person's word first, and which may not.

use std::sync::Arc;

use crate::ids::WaitId;
use crate::tool::{Safety, ToolOrigin, UnknownPolicy};

/// Whether a tool may run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Permission {
    /// It may.
    Allow,
    /// A person is asked before each call.
    Ask,
    /// It may not; says why, and which setting would change that.
    Deny(Arc<str>),
    /// It may: a person would be asked, but somebody allowed all of its calls for the whole session.
    Granted {
        /// Who.
        by: Arc<str>,
        /// In answer to which question of the session.
        wait: WaitId,
    },
}

/// What a rule says.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RuleVerdict {
    /// The tool may run.
    Allow,
    /// A person is asked.
    Ask,
    /// The tool may not run.
    Deny,
}

/// One rule: a pattern over `toolbox/tool`, and what it says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyRule {
    /// A pattern with `*` for any text; matched against `toolbox/tool`, and, unless it names a
    /// toolbox itself by a `/`, against the bare tool name.
    pub pattern: Arc<str>,
    /// What it says.
    pub verdict: RuleVerdict,
}

impl PolicyRule {
    /// Whether the rule is about this tool.
    #[must_use]
    pub fn fits(&self, tool: &ToolOrigin) -> bool {
        fits(&self.pattern, tool)
    }
}

/// All rules, and what holds where none matches.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Policy {
    /// Whether a person is there to be asked.
    pub can_ask: bool,
    /// The rules; the last one that matches decides.
    pub rules: Vec<PolicyRule>,
}

impl Policy {
    /// Whether this tool may run, where `trusted` says that its toolbox is believed: it is built in, or
    /// its server was trusted by name.
    ///
    /// Without a matching rule a person is asked; where nobody can be asked, trusted tools that change
    /// nothing run, and everything else is denied with the name of the setting.
    #[must_use]
    pub fn permission(&self, tool: &ToolOrigin, safety: Safety, trusted: bool) -> Permission {
        let full = format!("{}/{}", tool.toolbox, tool.tool);
        let rule = self.rules.iter().rev().find(|rule| rule.fits(tool));
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

/// One rule for calls of which nobody knows whether they took effect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownRule {
    /// What is done about them.
    pub answer: UnknownPolicy,
    /// A pattern, as that of a [`PolicyRule`].
    pub pattern: Arc<str>,
}

impl UnknownRule {
    /// What the last of these rules says that matches the tool, if one does.
    #[must_use]
    pub fn of(rules: &[Self], tool: &ToolOrigin) -> Option<UnknownPolicy> {
        let mut rules = rules.iter().rev();
        let rule = rules.find(|rule| fits(&rule.pattern, tool))?;
        Some(rule.answer)
    }
}

/// Whether this pattern, as that of a [`PolicyRule`], is of this tool.
#[must_use]
pub fn fits(pattern: &str, tool: &ToolOrigin) -> bool {
    // A tool that calls itself `files/read` does not get what `files` is allowed.
    let bare = !pattern.contains('/') && matches(pattern, &tool.tool);
    bare || matches(pattern, &format!("{}/{}", tool.toolbox, tool.tool))
}

/// Whether the text is of the pattern, in which `*` stands for any text.
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

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*", "files/read", true),
            ("files/*", "files/read", true),
            ("files/*", "file/read", false),
            ("*read*", "files/read_all", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}

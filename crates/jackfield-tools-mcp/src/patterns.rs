//! Patterns that select which tools of a server are offered.

/// Patterns for a server's own tool names, in which `*` matches any characters.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Patterns {
    /// Tools to offer; all if empty.
    pub allow: Vec<String>,
    /// Tools to exclude, even if `allow` matches.
    pub deny: Vec<String>,
}

impl Patterns {
    /// Whether a tool of this name is offered.
    #[must_use]
    pub fn admit(&self, tool: &str) -> bool {
        let named = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, tool));
        (self.allow.is_empty() || named(&self.allow)) && !named(&self.deny)
    }

    /// Whether no tool name can match.
    #[must_use]
    pub fn admit_nothing(&self) -> bool {
        self.deny.iter().any(|pattern| is_all(pattern))
    }

    /// Whether only tools of some names are offered, or none, and not all but those that `deny` names.
    #[must_use]
    pub fn admit_some(&self) -> bool {
        self.admit_nothing()
            || !(self.allow.is_empty() || self.allow.iter().any(|pattern| is_all(pattern)))
    }
}

/// Whether every name matches this pattern.
fn is_all(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.chars().all(|c| c == '*')
}

/// Whether the pattern matches the text; the time is at most proportional to the product of their lengths.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    let Some(mut middle) = rest.strip_suffix(last) else {
        return false;
    };
    // The first match leaves the most text for the later parts.
    for part in parts {
        match middle.split_once(part) {
            Some((_, after)) => middle = after,
            None => return false,
        }
    }
    true
}

//! Which tools of a server are offered: patterns that allow, and patterns that deny.

/// Patterns over a server's own tool names, in which `*` stands for any characters.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Patterns {
    /// What is offered; everything if there are none.
    pub allow: Vec<String>,
    /// What is not offered even so.
    pub deny: Vec<String>,
}

impl Patterns {
    /// Whether a tool of this name is offered.
    #[must_use]
    pub fn admit(&self, tool: &str) -> bool {
        let named = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, tool));
        (self.allow.is_empty() || named(&self.allow)) && !named(&self.deny)
    }

    /// Whether no tool is offered, whatever it is called.
    #[must_use]
    pub fn admit_nothing(&self) -> bool {
        let is_all = |pattern: &String| pattern.chars().all(|c| c == '*') && !pattern.is_empty();
        self.deny.iter().any(is_all)
    }
}

/// Whether the text is what the pattern says; in time that grows with their product at most.
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
    // The first place where a part is found leaves the most for the ones after it.
    for part in parts {
        match middle.split_once(part) {
            Some((_, after)) => middle = after,
            None => return false,
        }
    }
    true
}

//! What MCP servers may ask during a call.

/// Whether MCP servers may ask; `None` means where somebody can be asked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct McpQuestions {
    /// A person, by a form or a page to open.
    pub elicitation: Option<bool>,
    /// For a message of the model, each time after a yes of a person.
    pub sampling: Option<bool>,
}

impl McpQuestions {
    /// The same for a program in which no person can be asked.
    #[must_use]
    pub const fn unattended(self) -> Self {
        Self {
            elicitation: match self.elicitation {
                None => Some(false),
                set => set,
            },
            sampling: match self.sampling {
                None => Some(false),
                set => set,
            },
        }
    }

    pub(crate) const fn elicitation(self) -> bool {
        !matches!(self.elicitation, Some(false))
    }

    pub(crate) const fn sampling(self) -> bool {
        !matches!(self.sampling, Some(false))
    }
}

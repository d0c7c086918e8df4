//! What MCP servers may ask during a call.

/// Whether MCP servers may ask. In turns without a person, the engine declines their questions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct McpQuestions {
    /// A person, by a form or a page to open.
    pub elicitation: bool,
    /// For a message of the model, each time after a yes of a person.
    pub sampling: bool,
}

impl Default for McpQuestions {
    fn default() -> Self {
        Self {
            elicitation: true,
            sampling: true,
        }
    }
}

//! A question at the terminal, and its answer.

/// A question to the person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PersonQuestion {
    /// An answer to something other than the next message.
    Answer {
        /// The initial text of the line.
        initial: String,
        /// The prompt of the line.
        prompt: &'static str,
    },
    /// The next message.
    Message,
}

/// The person's input.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PersonAnswer {
    /// End of input.
    Gone,
    /// Ctrl-C on an empty line.
    Interrupted,
    /// A line of text.
    Line(String),
}

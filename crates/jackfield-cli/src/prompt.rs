//! A question at the terminal, and its answer.

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PersonQuestion {
    /// An answer to something other than the next message.
    Answer {
        /// The initial text of the line.
        initial: String,
        /// The prompt of the line.
        prompt: &'static str,
    },
    Message,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PersonAnswer {
    Gone,
    /// Ctrl-C on an empty line.
    Interrupted,
    Line(String),
}

//! The setup of a turn: all decisions that were made before it began.

use std::sync::Arc;
use std::time::Duration;

use crate::caller::Caller;
use crate::limits::{Allowance, Limits};
use crate::message::Message;
use crate::note::NoteEffect;
use crate::outcome::ToolOutcome;
use crate::price::Price;
use crate::request::ModelRef;
use crate::rules::{self, RuleViolation};
use crate::settings::Settings;
use crate::system_prompt::SystemPrompt;
use crate::tool::{Catalog, ToolChoice};

/// The configuration of a turn as of its begin. Later configuration changes do not alter it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The budget.
    pub allowance: Allowance,
    /// The client of the turn, if it keeps the conversation itself or may reconnect for the answer.
    pub caller: Option<Arc<Caller>>,
    /// Whether the client can replace text that it has already shown.
    pub can_supersede: bool,
    /// The catalog.
    pub catalog: Arc<Catalog>,
    /// Which tools may be called at all, and which must be called in the first round.
    pub choice: ToolChoice,
    /// Limits.
    pub limits: Limits,
    /// The model.
    pub model: ModelRef,
    /// The price of the model when the turn began; `None` if unknown.
    pub price: Option<Price>,
    /// Settings of the model calls.
    pub settings: Arc<Settings>,
    /// The least effect of a [`Note`](crate::note::Note) at which requests of the turn are refused; `None`
    /// records the notes and sends them.
    pub strict: Option<NoteEffect>,
    /// The system prompt.
    pub system: Arc<SystemPrompt>,
    /// Whether rounds after the first may use tools.
    pub tools_after_first_round: bool,
    /// The time limit of whole replies; `None` streams replies.
    pub whole: Option<Duration>,
}

impl Setup {
    /// How long a model may be silent. A reply in one piece arrives only when it is complete, so its whole time
    /// limit applies.
    #[must_use]
    pub fn model_idle(&self) -> Duration {
        self.whole.unwrap_or(self.limits.model_idle)
    }

    /// Replaces large parts that are equal in `other` by shared references to them.
    pub fn share(&mut self, other: &Self) {
        share(&mut self.catalog, &other.catalog);
        share(&mut self.settings, &other.settings);
        share(&mut self.system, &other.system);
    }
}

fn share<T: PartialEq>(own: &mut Arc<T>, other: &Arc<T>) {
    if own == other {
        *own = Arc::clone(other);
    }
}

/// The opening of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Opening {
    /// The results of client tool calls that an earlier turn had already closed.
    ClientResults(Vec<Arc<ToolOutcome>>),
    /// A whole conversation, from a client that keeps it itself.
    Transcript(Transcript),
    /// A message of the user.
    UserMessage(Arc<Message>),
}

/// A conversation that follows the rules and can be sent to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript(Vec<Arc<Message>>);

impl Transcript {
    /// Validates a conversation that came from outside.
    ///
    /// # Errors
    ///
    /// The first rule that it violates.
    pub fn parse(messages: Vec<Message>) -> Result<Self, RuleViolation> {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        rules::check_request(messages.iter())?;
        Ok(Self(messages))
    }

    /// Wraps a stored conversation, which was validated before.
    #[must_use]
    pub const fn stored(messages: Vec<Arc<Message>>) -> Self {
        Self(messages)
    }

    /// The messages.
    #[must_use]
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.0
    }
}

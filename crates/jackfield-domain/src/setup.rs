//! The setup of a turn: every decision that was made for it before it began.

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

/// Everything that was looked up and decided for a turn. Today's configuration does not change it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// What the turn may spend.
    pub allowance: Allowance,
    /// The client that it is for, where one keeps the conversation on its side or comes back for the answer.
    pub caller: Option<Arc<Caller>>,
    /// Whether whoever shows the answer can take back text that it has shown.
    pub can_supersede: bool,
    /// The tools.
    pub catalog: Arc<Catalog>,
    /// Which tools may be called at all, and which have to be called in the first round.
    pub choice: ToolChoice,
    /// Limits.
    pub limits: Limits,
    /// The model.
    pub model: ModelRef,
    /// What the model's tokens cost, as it was when the turn began; `None` if nobody knows.
    pub price: Option<Price>,
    /// Settings of the model calls.
    pub settings: Arc<Settings>,
    /// The least effect of a [`Note`](crate::note::Note) for which no request of the turn is sent; `None`
    /// notes and sends.
    pub strict: Option<NoteEffect>,
    /// The system prompt.
    pub system: Arc<SystemPrompt>,
    /// Whether rounds after the first may use tools.
    pub tools_after_first_round: bool,
    /// How long a reply may take that is asked for in one piece; `None` asks for replies as they are written.
    pub whole: Option<Duration>,
}

impl Setup {
    /// How long a model may say nothing: one that is asked for a reply in one piece says nothing until it
    /// has all of it.
    #[must_use]
    pub fn model_idle(&self) -> Duration {
        self.whole.unwrap_or(self.limits.model_idle)
    }

    /// Takes over what is equal in another one, so that it is there once for both.
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

/// What a turn begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Opening {
    /// The results of calls that an earlier turn left to its caller, and closed.
    ClientResults(Vec<Arc<ToolOutcome>>),
    /// A whole conversation, brought by a caller that keeps it itself.
    Transcript(Transcript),
    /// A message of the user.
    UserMessage(Arc<Message>),
}

/// A conversation that keeps the rules, ready for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript(Vec<Arc<Message>>);

impl Transcript {
    /// Takes a conversation that came from outside.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks.
    pub fn parse(messages: Vec<Message>) -> Result<Self, RuleViolation> {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        rules::check_request(messages.iter())?;
        Ok(Self(messages))
    }

    /// Takes one that was stored, and therefore checked before.
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

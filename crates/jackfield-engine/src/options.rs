//! What a turn is begun with, besides what its session holds.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::Caller;
use jackfield_domain::ids::{SessionId, ToolboxId};
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::policy::{self, Policy, UnknownRule};
use jackfield_domain::price::PriceList;
use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::Opening;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{ToolChoice, ToolDefinition, ToolOrigin, UnknownPolicy};

use crate::send::SecondMessage;

/// Everything about a turn that is not its message.
#[derive(Clone, Debug)]
pub struct TurnOptions {
    /// What it may spend.
    pub allowance: Allowance,
    /// The client that the turn is for, if it is one's that is to find the session again.
    pub caller: Option<Arc<Caller>>,
    /// Whether whoever shows the answer can take back text that it has shown.
    pub can_supersede: bool,
    /// Which tools may or have to be called in the first round.
    pub choice: ToolChoice,
    /// The tools that the caller runs itself, under the names by which models are told of them. A tool
    /// of the engine's that has such a name is not offered.
    pub client_tools: Vec<Arc<ToolDefinition>>,
    /// What becomes of a turn that is begun in the background when nobody listens to it any more.
    pub disconnect: Disconnect,
    /// Limits.
    pub limits: Limits,
    /// The model.
    pub model: ModelRef,
    /// Which tools may run.
    pub policy: Policy,
    /// What models cost, as far as that is known.
    pub prices: Arc<PriceList>,
    /// What becomes of the message if the session is at work already.
    pub second: SecondMessage,
    /// Which of the engine's own tools are offered.
    pub server_tools: ServerTools,
    /// Settings of the model calls.
    pub settings: Settings,
    /// The least effect of a [`Note`] for which the turn fails instead of losing what the note is about;
    /// `None` notes it and goes on.
    ///
    /// [`Note`]: jackfield_domain::note::Note
    pub strict: Option<NoteEffect>,
    /// The system prompt.
    pub system: SystemPrompt,
    /// Whether rounds after the first may use tools.
    pub tools_after_first_round: bool,
    /// What to do about calls of which nobody knows whether they took effect.
    pub when_unknown: UnknownPolicy,
    /// The same for the tools that a rule matches; the last one that does decides.
    pub when_unknown_of: Vec<UnknownRule>,
    /// How long a reply may take that is asked for in one piece, where nobody reads along; `None` asks for
    /// replies as they are written.
    pub whole: Option<Duration>,
}

impl TurnOptions {
    /// The defaults, for this model.
    #[must_use]
    pub fn new(model: ModelRef) -> Self {
        Self {
            allowance: Allowance::default(),
            caller: None,
            can_supersede: false,
            choice: ToolChoice::Auto,
            client_tools: Vec::new(),
            disconnect: Disconnect::default(),
            limits: Limits::default(),
            model,
            policy: Policy::default(),
            prices: Arc::default(),
            second: SecondMessage::default(),
            server_tools: ServerTools::default(),
            settings: Settings::default(),
            strict: None,
            system: SystemPrompt::default(),
            tools_after_first_round: true,
            when_unknown: UnknownPolicy::Report,
            when_unknown_of: Vec::new(),
            whole: None,
        }
    }
}

/// A message to a session, and how it is to be answered.
#[derive(Clone, Debug)]
pub struct SendMessage {
    /// What the turn begins with.
    pub opening: Opening,
    /// Everything else.
    pub options: TurnOptions,
    /// The session: a new one, if there is none of this id.
    pub session: SessionId,
}

/// Which of an engine's own tools a turn is offered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ServerTools {
    /// All of them.
    #[default]
    All,
    /// None; no toolbox is asked.
    None,
    /// Those that one of these patterns is of. The patterns are those of the policy.
    Only(Vec<Arc<str>>),
}

impl ServerTools {
    /// Whether this tool is one of them.
    #[must_use]
    pub fn offers(&self, tool: &ToolOrigin) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(patterns) => patterns.iter().any(|pattern| policy::fits(pattern, tool)),
        }
    }

    /// Whether a tool of this toolbox can be one of them: a toolbox of none is not even asked.
    #[must_use]
    pub fn may_be_of(&self, toolbox: &ToolboxId) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(patterns) => patterns
                .iter()
                .any(|pattern| match pattern.split_once('/') {
                    Some((of, _)) if !of.contains('*') => of == toolbox.as_str(),
                    Some(_) | None => true,
                }),
        }
    }
}

/// What becomes of a turn when the last of those who listened to it is gone before its answer was whole.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Disconnect {
    /// It is cancelled, unless somebody listens again within this time.
    Cancel(Duration),
    /// It goes on.
    #[default]
    Finish,
}

//! The options of a turn.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::Caller;
use jackfield_domain::caller::tags::Tag;
use jackfield_domain::compaction::{CompactionPolicy, WindowList};
use jackfield_domain::ids::{SessionId, ToolboxId};
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::policy::{self, Policy, UnknownRule};
use jackfield_domain::price::PriceList;
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::Route;
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::Opening;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{ToolChoice, ToolDefinition, ToolOrigin, ToolSpec, UnknownPolicy};
use jackfield_domain::trace::TraceContext;

/// The options of a turn: everything except its opening.
#[derive(Clone, Debug)]
pub struct TurnOptions {
    /// The turn's budget.
    pub allowance: Allowance,
    /// Of the tools that providers run themselves, those that may be asked about; all others are denied.
    pub askable: ServerTools,
    /// The name of the assistant that the options are of, if they are of one; it is recorded.
    pub assistant: Option<Arc<str>>,
    /// The names of the meters whose budgets its model calls count for; empty without budgets.
    pub budgets: Vec<Arc<str>>,
    /// The client of the turn, if the session has to be found again for it.
    pub caller: Option<Arc<Caller>>,
    /// Whether the client can replace text that it has already shown.
    pub can_supersede: bool,
    /// Which tools may or must be called in the first round.
    pub choice: ToolChoice,
    /// The client tools, under their model-facing names. A server tool of the same name is not offered.
    pub client_tools: Vec<Arc<ToolDefinition>>,
    /// When the conversation is compacted; `None` is never.
    pub compaction: Option<CompactionPolicy>,
    /// What happens to a background turn when its last client disconnects.
    pub disconnect: Disconnect,
    /// How many turns the session must have when this one begins; `None` is any number. If it has another number, the
    /// message ends no turn and is refused with [`EngineError::Busy`](crate::EngineError::Busy), whatever `if_busy`
    /// says. So a caller that has looked for an earlier turn of the same request begins none that it did not see.
    pub expected_turns: Option<u32>,
    /// The models after the first one, in the order in which the turn falls back to them. The next one is called
    /// when a model call has failed for good, nothing of its reply was shown that cannot be replaced, and the
    /// request is not the cause.
    pub fallbacks: Vec<ModelRef>,
    /// What the request said in place of what is configured, in the words of its client; it is recorded, and read by
    /// nothing else.
    pub given: Option<Arc<str>>,
    /// What is kept for as long as this process drives the turn, and dropped then.
    pub held: Option<Held>,
    /// Limits.
    pub limits: Limits,
    /// The model that is called first; with a route, the one that its options are of.
    pub model: ModelRef,
    /// Tools that the provider of the model runs itself, and asks about, beside those that it lists.
    pub own_tools: Vec<ToolSpec>,
    /// The policy for tool calls.
    pub policy: Policy,
    /// Whether a turn of a durable session waits for room in a budget that is used up after its first round, instead of
    /// ending.
    pub pauses: bool,
    /// The known prices of models.
    pub prices: Arc<PriceList>,
    /// What happens to the message if the session is busy.
    pub if_busy: SecondMessage,
    /// The route that the models come from, in place of `model` and `fallbacks`.
    pub route: Option<Arc<str>>,
    /// Which server tools are offered.
    pub server_tools: ServerTools,
    /// The settings of the model calls.
    pub settings: Settings,
    /// The least effect of a [`Note`] at which the turn fails instead of losing content; `None` records the
    /// note and continues.
    ///
    /// [`Note`]: jackfield_domain::note::Note
    pub strict: Option<NoteEffect>,
    /// The system prompt.
    pub system: SystemPrompt,
    /// The tags of the request, in the order of their names, which are recorded.
    pub tags: Vec<Tag>,
    /// Whether the model has to find most server tools by a search.
    pub tool_search: ToolSearch,
    /// Whether rounds after the first may use tools.
    pub tools_after_first_round: bool,
    /// The trace context of the client's request, which is recorded.
    pub trace: Option<Arc<TraceContext>>,
    /// What to do with calls whose outcome is unknown.
    pub when_unknown: UnknownPolicy,
    /// Exceptions to `when_unknown` for single tools; the last matching rule wins.
    pub unknown_rules: Vec<UnknownRule>,
    /// The time limit for whole replies, which are requested where the reply is not streamed to a client;
    /// `None` always streams.
    pub whole_reply_limit: Option<Duration>,
    /// The known context windows of models.
    pub windows: Arc<WindowList>,
}

impl TurnOptions {
    /// The default options for this model.
    #[must_use]
    pub fn new(model: ModelRef) -> Self {
        Self {
            allowance: Allowance::default(),
            askable: ServerTools::All,
            assistant: None,
            budgets: Vec::new(),
            caller: None,
            can_supersede: false,
            choice: ToolChoice::Auto,
            client_tools: Vec::new(),
            compaction: None,
            disconnect: Disconnect::default(),
            expected_turns: None,
            fallbacks: Vec::new(),
            given: None,
            held: None,
            limits: Limits::default(),
            model,
            own_tools: Vec::new(),
            pauses: false,
            policy: Policy::default(),
            prices: Arc::default(),
            if_busy: SecondMessage::default(),
            route: None,
            server_tools: ServerTools::default(),
            settings: Settings::default(),
            strict: None,
            system: SystemPrompt::default(),
            tags: Vec::new(),
            tool_search: ToolSearch::default(),
            tools_after_first_round: true,
            trace: None,
            when_unknown: UnknownPolicy::Report,
            unknown_rules: Vec::new(),
            whole_reply_limit: None,
            windows: Arc::default(),
        }
    }

    /// The models that may answer the turn: those of this route, or the model and its fallbacks without one.
    pub(crate) fn targets<'a>(
        &'a self,
        route: Option<&'a Route>,
    ) -> impl Iterator<Item = &'a ModelRef> {
        let own = std::iter::once(&self.model).chain(&self.fallbacks);
        let targets = route.into_iter().flat_map(|route| &route.targets);
        let targets = targets.map(|target| &target.model);
        own.filter(move |_| route.is_none()).chain(targets)
    }
}

/// Something of a caller that is dropped when it is not needed any more.
pub type Held = Arc<dyn Any + Send + Sync>;

/// A message to a session, with the options of its turn.
#[derive(Clone, Debug)]
pub struct SendMessage {
    /// The opening of the turn.
    pub opening: Opening,
    /// The options of the turn.
    pub options: TurnOptions,
    /// The session; created if it does not exist.
    pub session: SessionId,
}

/// Which server tools a turn offers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ServerTools {
    /// All of them.
    #[default]
    All,
    /// None; no toolbox is queried.
    None,
    /// The tools that match one of these patterns, which have the syntax of policy patterns.
    Only(Vec<Arc<str>>),
}

impl ServerTools {
    /// Whether this tool is offered.
    #[must_use]
    pub fn offers(&self, tool: &ToolOrigin) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(patterns) => patterns
                .iter()
                .any(|pattern| policy::matches_tool(pattern, tool)),
        }
    }

    /// Whether tools of this toolbox can be offered; a toolbox without any is not queried.
    #[must_use]
    pub fn may_offer_from(&self, toolbox: &ToolboxId) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(patterns) => patterns
                .iter()
                .any(|pattern| match pattern.split_once('/') {
                    Some((prefix, _)) if !prefix.contains('*') => prefix == toolbox.as_str(),
                    Some(_) | None => true,
                }),
        }
    }
}

/// How a turn offers its server tools: all from the beginning, or most of them once a search has found them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolSearch {
    /// Patterns of the server tools that are offered from the beginning, which have the syntax of policy patterns.
    pub always: Vec<Arc<str>>,
    /// Whether the other server tools are deferred: the model finds them with `find_tools`. A turn with only a few of
    /// them offers them all.
    pub enabled: bool,
}

impl Default for ToolSearch {
    fn default() -> Self {
        Self {
            always: vec!["builtin/*".into()],
            enabled: false,
        }
    }
}

/// How long a session is kept.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Durability {
    /// In the engine's journal, until it is deleted.
    Durable,
    /// In memory, until its answer was delivered or has expired.
    Ephemeral,
}

/// What happens to a turn when its last client disconnects before the whole answer was written.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Disconnect {
    /// It is cancelled, unless a client subscribes again within this time.
    Cancel(Duration),
    /// It continues.
    #[default]
    Finish,
}

/// What happens to a message to a session with a running turn. A turn that only waits for external answers is
/// superseded in any case.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum SecondMessage {
    /// The running turn is cancelled, and the message begins the next one.
    Cancel,
    /// The message waits until the turn is over, behind earlier messages.
    Queue,
    /// The message is refused with [`EngineError::Busy`](crate::EngineError::Busy), which names the turn.
    #[default]
    Refuse,
}

jackfield_domain::named! { SecondMessage: Cancel = "cancel", Queue = "queue", Refuse = "refuse" }

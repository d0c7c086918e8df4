//! The engine performs what the domain's tool loop decides. It is the only caller of the ports.
//!
//! [`Engine::send`] drives one turn: it commits the loop's facts, performs the actions, and then notifies
//! observers. [`Engine::resume`] resumes a turn that was left open. [`Engine::begin`] and [`Engine::resume_in_background`] do
//! the same in the background, for callers that may disconnect. The engine makes no decisions about a turn
//! itself.

#![warn(missing_docs)]

mod alarm;
mod approver;
mod background;
mod batch;
mod budget_check;
mod budgets;
mod call_traces;
mod catalog;
mod clients;
mod clock;
mod commit;
mod compact;
mod connection;
mod context;
mod crash;
mod delivered_cache;
mod direct;
mod directory;
mod drain;
mod drift;
mod drive_outcome;
mod driven_sessions;
mod driver;
mod engine;
mod ephemeral;
mod error;
mod events;
mod feeds;
mod journal_copy;
mod journals;
mod keeper;
mod late;
mod late_limit;
mod listed_windows;
mod logins;
mod master_keys;
mod model_call;
pub mod near;
mod news;
mod notices;
mod options;
mod own_keys;
mod own_servers;
mod own_toolboxes;
mod ownership;
mod patience;
mod paused;
mod pending_approvals;
mod perform;
mod priority;
mod questions;
mod queues;
mod recent_targets;
mod report;
mod resume;
mod retention;
mod route_request;
mod route_table;
mod route_targets;
mod sampler;
mod secrets;
mod send;
mod sessions;
mod shutdown;
mod side_call;
mod sign_in_store;
mod spending;
mod state;
mod subscribers;
mod target_watch;
mod tool_cache;
mod tool_search;
mod toolboxes;
mod turn_budgets;
mod turn_observer;
mod validate;
mod watch;
mod writes;

pub use jackfield_ports::chat_model::Capabilities;
pub use jackfield_ports::context_source::{
    Completion, CompletionRequest, CompletionSubject, ContextChange, ContextChanges, ContextError,
    ContextErrorKind, PromptArgument, PromptArguments, PromptMessages, PromptSpec,
    ResourceContents, ResourceList, ResourceSpec, ResourceTemplate,
};
pub use jackfield_ports::journal::directory::ChangeQuery;
pub use jackfield_ports::journal::marks::{FoundTurn, Mark};
pub use jackfield_ports::journal::sessions::{
    LabelChange, ListedWait, OpenTurn, OpenWaitsMark, SessionQuery, SessionRow, WaitQuery,
    is_of_principal,
};
pub use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
pub use jackfield_ports::journal::{DeliveryOutcome, Hold, JournalError, Loaded, Outage};
pub use jackfield_ports::mcp_observer::{
    McpObserver, McpObservers, McpRequest, McpSession, McpSide, McpSpan, McpTransport,
};
pub use jackfield_ports::question_handler::{Askable, QuestionHandler};
pub use jackfield_ports::server_log::{LogLevel, ServerLogMessage};
pub use jackfield_ports::toolbox_source::{ToolboxProblem, ToolboxStatus};

pub use self::approver::{ApprovalRequest, Approver, Decision};
pub use self::background::StartedTurn;
pub use self::budget_check::{BudgetCheck, BudgetReport};
pub use self::budgets::{BudgetedCall, RESERVED_OUTPUT, exhausted};
pub use self::catalog::{ToolOffer, is_schema_repaired, unusable_reason};
pub use self::clients::{CLIENT, ClientResultsOptions, ClientResultsOutcome};
pub use self::clock::{Clock, SystemClock};
pub use self::compact::{CompactSession, CompactedSession};
pub use self::connection::{Connection, was_cancelled_by_disconnect};
pub use self::context::{
    ContextOffer, OfferedContext, block_size, image_type, prompt_message, resource_blocks,
};
pub use self::direct::{CallProgress, DirectCall, DirectOutcome, WantedLog};
pub use self::directory::{
    AcceptedKey, AcceptedUser, BegunSignIn, ClientDirectory, DirectoryError, KEY_PREFIX,
    KeyOptions, NewSecret, UserUpdate,
};
pub use self::drain::DrainReport;
pub use self::drive_outcome::{DriveOutcome, WaitingTurn};
pub use self::engine::EngineBuilder;
pub use self::ephemeral::Ephemeral;
pub use self::error::{EngineError, ParkReason, chain, price_line};
pub use self::feeds::RunningCall;
pub use self::journal_copy::{CopyReport, copy_journal};
pub use self::keeper::{Keeper, KeeperOptions, KeptSession};
pub use self::master_keys::{InvalidMasterKeys, MasterKeys, SecretError};
pub use self::news::{Observer, ObserverEvent};
pub use self::options::{
    Disconnect, Durability, Held, SecondMessage, SendMessage, ServerTools, ToolSearch, TurnOptions,
};
pub use self::own_servers::{
    BegunLogin, OpenedServer, OwnServerFactory, OwnServerLimits, SignInClient,
};
pub use self::questions::{OpenQuestion, QuestionPage};
pub use self::report::{CallReport, TurnReport, reports};
pub use self::resume::ResumeSession;
pub use self::retention::{PruneReport, Pruner, Retention};
pub use self::route_request::{RouteCall, RouteRequest};
pub use self::route_table::{RouteStatus, TargetStatus};
pub use self::secrets::SecretRotation;
pub use self::sessions::ImportedConversation;
pub use self::sign_in_store::{SignInError, SignInLock, SignInStore};
pub use self::state::Engine;
pub use self::subscribers::DeliveryState;
pub use self::tool_cache::{ToolCacheRule, ToolCacheSettings};
pub use self::turn_observer::{EndedTurn, PassedRequest, TurnObserver};
pub use self::validate::AnswerFit;
pub use self::watch::Watcher;
pub use jackfield_ports::credential::Credential;

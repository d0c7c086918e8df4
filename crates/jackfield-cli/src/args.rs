//! The definition of the command line, without behavior.

mod approvals;
mod ask;
mod audit;
mod chat;
mod completions;
pub mod config;
mod demo;
mod doctor;
mod export;
mod journal;
mod keys;
mod man;
mod mcp;
mod models;
mod notes_server;
mod own_servers;
pub mod prices;
mod replay;
mod routes;
mod secrets;
#[cfg(feature = "serve")]
mod serve;
pub mod sessions;
mod setup;
mod tools;
mod usage;
mod users;
mod watch;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::price::Money;

pub use self::approvals::Approvals;
pub use self::ask::AskArgs;
pub use self::audit::{Audit, AuditOutcome};
pub use self::chat::Chat;
pub use self::completions::Completions;
pub use self::config::ConfigCommand;
pub use self::demo::{Demo, DemoCommand};
pub use self::doctor::Doctor;
pub use self::export::{Export, ExportFormat};
pub use self::journal::JournalCommand;
pub use self::keys::{KeyCreate, Keys, Limit, LimitArgs, LimitChanges, Unpriced};
pub use self::man::Man;
pub use self::mcp::{Mcp, McpAdd, McpImport, McpServe};
pub use self::models::{ModelsArgs, Providers};
pub use self::notes_server::{NotesKind, NotesServer};
pub use self::own_servers::{NamedServer, OwnServerCommand};
pub use self::replay::ReplayArgs;
pub use self::routes::RoutesArgs;
pub use self::secrets::Secrets;
#[cfg(feature = "serve")]
pub use self::serve::{Page, Serve};
pub use self::sessions::SessionsCommand;
pub use self::setup::SetupArgs;
pub use self::tools::Tools;
pub use self::usage::UsageArgs;
pub use self::users::{Teams, Users};
pub use self::watch::WatchArgs;
use crate::exit;

/// Asks language models questions, and lets them use tools to answer.
#[derive(Clone, Debug, Parser)]
#[command(name = "jackfield", version, after_help = with_exit_codes(TOP_EXAMPLES), max_term_width = 100)]
pub struct Args {
    /// When to use colours: auto, always or never; NO_COLOR=1 is honoured, too.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub color: Color,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// List calls that need approval, and approve or deny them.
    #[command(subcommand, after_help = approvals::EXAMPLES)]
    Approvals(Approvals),
    /// Ask a question; the model can call tools until it answers.
    #[command(after_help = ask::SHORT_EXAMPLES, after_long_help = with_exit_codes(ask::EXAMPLES))]
    Ask(AskArgs),
    /// List tool calls and approvals: who decided, arguments, result.
    #[command(after_help = audit::EXAMPLES)]
    Audit(Audit),
    /// Chat, with line editing and slash commands.
    #[command(after_help = with_exit_codes(chat::EXAMPLES))]
    Chat(Chat),
    /// Print shell completions.
    #[command(after_help = completions::EXAMPLES)]
    Completions(Completions),
    /// Show the effective configuration and where each value comes from.
    #[command(subcommand, after_help = config::EXAMPLES)]
    Config(ConfigCommand),
    /// Try it without a key or network, with a rule-based demo model.
    #[command(after_help = demo::EXAMPLES)]
    Demo(Demo),
    /// Check the set-up and name the fix for each problem.
    #[command(after_help = with_exit_codes(doctor::EXAMPLES))]
    Doctor(Doctor),
    /// Copy all sessions from one journal to another, such as from a file to PostgreSQL.
    #[command(subcommand, after_help = journal::EXAMPLES)]
    Journal(JournalCommand),
    /// Make, list and revoke keys of the gateway's clients, and keep keys of providers in the keyring.
    #[command(subcommand, after_help = keys::EXAMPLES)]
    Keys(Keys),
    /// Print the manual pages.
    #[command(after_help = man::EXAMPLES)]
    Man(Man),
    /// Manage and test MCP servers, or act as one.
    #[command(subcommand, after_help = mcp::EXAMPLES)]
    Mcp(Mcp),
    /// List the models of the providers.
    #[command(after_help = models::MODELS_EXAMPLES)]
    Models(ModelsArgs),
    /// Serve notes, private and shared, as an MCP server.
    #[command(after_help = notes_server::EXAMPLES)]
    NotesServer(NotesServer),
    /// Print the link to the page of the gateway on this machine.
    #[cfg(feature = "serve")]
    #[command(after_help = serve::PAGE_EXAMPLES)]
    Page(Page),
    /// List the providers: address, capabilities, key, reachability.
    #[command(after_help = models::PROVIDERS_EXAMPLES)]
    Providers(Providers),
    /// Replay a recorded session offline and report differences.
    #[command(after_help = with_exit_codes(replay::EXAMPLES))]
    Replay(ReplayArgs),
    /// List what models cost, show where that stands, and import list prices.
    #[command(subcommand, after_help = prices::EXAMPLES)]
    Prices(prices::Prices),
    /// List the routes, with the state of each target in the running gateway.
    #[command(after_help = routes::EXAMPLES)]
    Routes(RoutesArgs),
    /// Make and change the master key, under which secrets in the journal are encrypted.
    #[command(subcommand, after_help = secrets::EXAMPLES)]
    Secrets(Secrets),
    /// Run the gateway: the APIs of OpenAI, Anthropic and Google for any provider.
    #[cfg(feature = "serve")]
    #[command(after_help = with_exit_codes(serve::EXAMPLES))]
    Serve(Serve),
    /// List, show, continue, fork and export sessions.
    #[command(subcommand, after_help = sessions::EXAMPLES)]
    Sessions(SessionsCommand),
    /// Answer a few questions, and get a configuration that works.
    #[command(after_help = setup::EXAMPLES)]
    Setup(SetupArgs),
    /// Add and list teams of users.
    #[command(subcommand, after_help = users::TEAM_EXAMPLES)]
    Teams(Teams),
    /// List the tools, and call them by hand.
    #[command(subcommand, after_help = tools::EXAMPLES)]
    Tools(Tools),
    /// Show token use and cost by day, model, reply, session, tag, tool or turn.
    #[command(after_help = usage::EXAMPLES)]
    Usage(UsageArgs),
    /// Add, disable and list users of the gateway, and show who changed what.
    #[command(subcommand, after_help = users::EXAMPLES)]
    Users(Users),
    /// Print the version, as --version does.
    #[command(after_help = VERSION_EXAMPLES)]
    Version,
}

impl Command {
    /// Whether it starts a log as it is configured.
    pub(crate) const fn has_a_log_of_its_own(&self) -> bool {
        #[cfg(feature = "serve")]
        if matches!(self, Self::Serve(_)) {
            return true;
        }
        false
    }
}

/// What a turn may do.
#[derive(Clone, Debug, clap::Args)]
pub struct TurnLimitArgs {
    /// The most that a turn may cost, such as 0.50.
    ///
    /// It is in the currency of the prices.
    #[arg(long, value_name = "AMOUNT", value_parser = Money::parse)]
    pub max_cost: Option<Money>,
    /// The most rounds, the last one without tools.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        hide_short_help = true
    )]
    pub max_rounds: Option<u32>,
    /// Offer no tools.
    #[arg(long, hide_short_help = true)]
    pub no_tools: bool,
    /// Refuse to ask where something cannot be told to the model's provider and meaning would get lost;
    /// =quality, =cost and =cosmetic refuse smaller losses, too, and =false takes back what is configured.
    #[arg(
        long,
        value_enum,
        value_name = "EFFECT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "meaning",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub strict: Option<Strict>,
}

/// The session to go on with.
#[derive(Clone, Debug, clap::Args)]
pub struct SessionArgs {
    /// Go on with the last session.
    #[arg(short, long = "continue", conflicts_with = "session")]
    pub continue_last: bool,
    /// Go on with this session: an id, or `last`.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
}

impl SessionArgs {
    /// The name of the session, if one is to be continued.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        let last = self.continue_last.then_some(LAST_SESSION);
        last.or(self.session.as_deref())
    }
}

/// The name of the session that was changed last.
pub(crate) const LAST_SESSION: &str = "last";

/// Where the configuration is, and what it says about tools.
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigArgs {
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Let these tools run, such as 'files/*'.
    #[arg(long, value_name = "PATTERN")]
    pub allow: Vec<String>,
    /// Deny these tools; wins over --allow.
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    pub deny: Vec<String>,
}

/// Where the configuration is.
#[derive(Clone, Debug, clap::Args)]
pub struct Source {
    /// Read this configuration file and no other (also: JACKFIELD_CONFIG).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Keep sessions in this file, or in the database at this postgres:// address (also: JACKFIELD_DB).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub db: Option<PathBuf>,
    /// Read the MCP servers from this file and no other.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub mcp_config: Option<PathBuf>,
}

/// How the answer is shown.
#[derive(Clone, Debug, clap::Args)]
pub struct Output {
    /// Print one JSON event a line.
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
    /// Print text, or json: one document.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub output: OutputFormat,
    /// With --json or --output json: save images, audio and documents of tools' results in this folder.
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub save_files: Option<PathBuf>,
    /// Show notes, reasoning, whole results.
    #[arg(short, long)]
    pub verbose: bool,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum OutputFormat {
    /// One JSON document at the end.
    Json,
    /// Text, as it comes.
    #[default]
    Text,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What may not get lost: this, and what is worse.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Strict {
    /// What is being said or done.
    Meaning,
    /// How good the answer is.
    Quality,
    /// Money or time.
    Cost,
    /// Looks.
    Cosmetic,
    /// Everything may.
    #[value(name = "false")]
    Off,
}

impl Strict {
    /// The least effect that is refused, if any is.
    #[must_use]
    pub const fn effect(self) -> Option<NoteEffect> {
        match self {
            Self::Cosmetic => Some(NoteEffect::Cosmetic),
            Self::Cost => Some(NoteEffect::Cost),
            Self::Meaning => Some(NoteEffect::Meaning),
            Self::Off => None,
            Self::Quality => Some(NoteEffect::Quality),
        }
    }
}

impl Color {
    /// The same for whatever prints.
    #[must_use]
    pub const fn as_choice(self) -> anstream::ColorChoice {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
    }
}

/// The examples of a command, and the exit codes.
fn with_exit_codes(examples: &str) -> String {
    format!("{examples}\n\n{}", exit::HELP)
}

const VERSION_EXAMPLES: &str = "\
Examples:
  jackfield version";

const TOP_EXAMPLES: &str = "\
Examples:
  jackfield demo
  export ANTHROPIC_API_KEY=...
  jackfield ask \"What is 15% of 2500, and what time is it in Tokyo?\"
  jackfield chat
  jackfield serve
  jackfield doctor";

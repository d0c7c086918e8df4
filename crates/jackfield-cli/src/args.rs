//! What can be asked for on the command line; no behaviour.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use jackfield_domain::note::NoteEffect;

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
        hide_possible_values = true
    )]
    pub color: Color,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Ask a question; the model may call tools until it can answer.
    #[command(after_help = with_exit_codes(ASK_EXAMPLES))]
    Ask(Ask),
    /// See it work without key and network: a demo model that follows rules.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(Demo),
    /// Look at the MCP servers, and try them.
    #[command(subcommand, after_help = MCP_EXAMPLES)]
    Mcp(Mcp),
    /// Look at the tools, and call them by hand.
    #[command(subcommand, after_help = TOOLS_EXAMPLES)]
    Tools(Tools),
}

/// `jackfield ask`
#[derive(Clone, Debug, clap::Args)]
pub struct Ask {
    /// The question. Standard input comes after it if it is a pipe or a file; `-` waits for it in any case.
    #[arg(value_name = "QUESTION")]
    pub question: Vec<String>,
    /// The model: an alias of the configuration, or provider/model.
    #[arg(short, long)]
    pub model: Option<String>,
    /// The system prompt, in place of the configured one; "" for none.
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Say yes to every call that needs approval; what is denied stays denied.
    #[arg(short, long)]
    pub yes: bool,
    /// What the turn may do.
    #[command(flatten)]
    pub bounds: Bounds,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: Setup,
    /// How the answer is shown.
    #[command(flatten)]
    pub output: Output,
}

/// `jackfield demo`
#[derive(Clone, Debug, clap::Args)]
pub struct Demo {
    /// The question.
    #[arg(value_name = "QUESTION")]
    pub question: Vec<String>,
    /// What the turn may do.
    #[command(flatten)]
    pub bounds: Bounds,
    /// How the answer is shown.
    #[command(flatten)]
    pub output: Output,
}

/// `jackfield mcp`
#[derive(Clone, Debug, Subcommand)]
pub enum Mcp {
    /// Start all servers, and list them: how each is, how it speaks, how many tools it has.
    #[command(after_help = MCP_LIST_EXAMPLES)]
    List {
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what a server says on standard error when it is started.
    #[command(after_help = MCP_LOGS_EXAMPLES)]
    Logs {
        /// The server, by its id.
        server: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Start servers, and say what to do about those that fail.
    #[command(after_help = MCP_TEST_EXAMPLES)]
    Test {
        /// The servers, by their ids; all that are switched on if none is named.
        #[arg(value_name = "SERVER")]
        servers: Vec<String>,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// `jackfield tools`
#[derive(Clone, Debug, Subcommand)]
pub enum Tools {
    /// List all tools: where each comes from, and whether it may run.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Where the configuration is, and what it says about tools.
        #[command(flatten)]
        setup: Setup,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show everything about one tool.
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// The tool, by the name that models see.
        name: String,
        /// Where the configuration is, and what it says about tools.
        #[command(flatten)]
        setup: Setup,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Call a tool by hand; you are asked for no approval.
    #[command(after_help = CALL_EXAMPLES)]
    Call {
        /// The tool, by the name that models see.
        name: String,
        /// The arguments: one JSON object, or key=value pairs.
        #[arg(value_name = "JSON | KEY=VALUE")]
        arguments: Vec<String>,
        /// Where the configuration is, and what it says about tools.
        #[command(flatten)]
        setup: Setup,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What a turn may do.
#[derive(Clone, Debug, clap::Args)]
pub struct Bounds {
    /// The most rounds, the last one without tools.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_rounds: Option<u32>,
    /// Offer no tools.
    #[arg(long)]
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
        hide_possible_values = true
    )]
    pub strict: Option<Strict>,
}

/// Where the configuration is, and what it says about tools.
#[derive(Clone, Debug, clap::Args)]
pub struct Setup {
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Let these tools run without asking, such as 'builtin/*' or '*'.
    #[arg(long, value_name = "PATTERN")]
    pub allow: Vec<String>,
    /// Deny these tools; wins over --allow.
    #[arg(long, value_name = "PATTERN")]
    pub deny: Vec<String>,
}

/// Where the configuration is.
#[derive(Clone, Debug, clap::Args)]
pub struct Source {
    /// Read this configuration file and no other (also: JACKFIELD_CONFIG).
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read the MCP servers from this file and no other.
    #[arg(long, value_name = "FILE")]
    pub mcp_config: Option<PathBuf>,
}

/// How the answer is shown.
#[derive(Clone, Debug, clap::Args)]
pub struct Output {
    /// Print one JSON event a line; see docs/cli.md.
    #[arg(long)]
    pub json: bool,
    /// Show more: notes, reasoning, whole outcomes of tools.
    #[arg(short, long)]
    pub verbose: bool,
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

const TOP_EXAMPLES: &str = "\
Examples:
  jackfield demo
  export ANTHROPIC_API_KEY=...
  jackfield ask \"What is 15% of 2500, and what time is it in Tokyo?\"
  jackfield tools list";

const ASK_EXAMPLES: &str = "\
Examples:
  jackfield ask \"What is 15% of 2500?\"
  jackfield ask -m claude/claude-haiku-5-5 \"What time is it in Tokyo?\"
  git diff | jackfield ask \"What does this change?\"
  jackfield ask - < question.txt > answer.txt
  jackfield ask --strict=quality \"Sum this up as JSON.\" < report.txt
  jackfield ask --json \"What is 17 * 4?\" | jq -r 'select(.event == \"turn_ended\") | .answer'

The answer goes to standard output; calls, notes and use go to standard error.";

const DEMO_EXAMPLES: &str = "\
Examples:
  jackfield demo
  jackfield demo \"What is 12 * 12?\"
  jackfield demo --json";

const MCP_EXAMPLES: &str = "\
Examples:
  jackfield mcp list
  jackfield mcp test weather
  jackfield mcp logs weather --mcp-config mcp-servers.json";

const MCP_LIST_EXAMPLES: &str = "\
Examples:
  jackfield mcp list
  jackfield mcp list --json | jq -r '.[] | select(.state == \"failed\") | .id'";

const MCP_LOGS_EXAMPLES: &str = "\
Examples:
  jackfield mcp logs weather
  jackfield mcp logs weather --json | jq -r '.lines[]'";

const MCP_TEST_EXAMPLES: &str = "\
Examples:
  jackfield mcp test
  jackfield mcp test weather github
  jackfield mcp test --mcp-config mcp-servers.json --json

The exit code is 8 if a server cannot be used.";

const TOOLS_EXAMPLES: &str = "\
Examples:
  jackfield tools list
  jackfield tools show calculator
  jackfield tools call calculator expression='15% of 2500'
  jackfield tools call calculator '{\"expression\": \"15% of 2500\"}' --json";

const LIST_EXAMPLES: &str = "\
Examples:
  jackfield tools list
  jackfield tools list --json | jq -r '.[].name'";

const SHOW_EXAMPLES: &str = "\
Examples:
  jackfield tools show calculator
  jackfield tools show calculator --json | jq .input_schema";

const CALL_EXAMPLES: &str = "\
Examples:
  jackfield tools call calculator expression='15% of 2500'
  jackfield tools call current_datetime timezone=Asia/Tokyo
  jackfield tools call calculator '{\"expression\": \"15% of 2500\"}' --json

The exit code is 7 if the tool says that it failed.";

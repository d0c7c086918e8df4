//! The arguments of `jackfield config`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{ConfigArgs, Source, TurnLimitArgs};

/// `jackfield config`
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Read the configuration of another gateway, and print it as one of Jackfield's.
    #[command(subcommand, after_help = IMPORT_EXAMPLES)]
    Import(Import),
    /// Write a first configuration, of what is found: keys, models on this machine, MCP servers.
    #[command(after_help = INIT_EXAMPLES)]
    Init(Init),
    /// Say where configuration files are looked for, and which are read.
    #[command(after_help = PATH_EXAMPLES)]
    Path {
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of jackfield.toml, for editors.
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema {
        /// That of mcp-servers.json instead.
        #[arg(long)]
        servers: bool,
    },
    /// Show every value that holds, and where it comes from; secrets are hidden.
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Box<ConfigShowArgs>),
}

/// `jackfield config init`
#[derive(Clone, Debug, clap::Args)]
pub struct Init {
    /// Replace the file if it is there already.
    #[arg(long)]
    pub force: bool,
    /// Take over the MCP servers of other programs without being asked, but none of this project.
    #[arg(long, conflicts_with = "print")]
    pub import: bool,
    /// Do not ask servers on this machine for their models.
    #[arg(long)]
    pub no_probe: bool,
    /// Write this file, in place of your own configuration.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print it, and write nothing.
    #[arg(long, visible_alias = "dry-run")]
    pub print: bool,
}

/// `jackfield config import`
#[derive(Clone, Debug, Subcommand)]
pub enum Import {
    /// Read the configuration of a LiteLLM proxy; what is not carried over is named with its line.
    #[command(after_help = IMPORT_EXAMPLES)]
    Litellm(ImportLitellm),
}

/// `jackfield config import litellm`
#[derive(Clone, Debug, clap::Args)]
pub struct ImportLitellm {
    /// Its file, often `config.yaml`.
    pub file: PathBuf,
    /// Replace the file of --out if it is there already.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print JSON: the configuration, and the remarks.
    #[arg(long, conflicts_with = "out")]
    pub json: bool,
    /// Write this file, in place of printing it.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `jackfield config show`
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigShowArgs {
    /// The model, as `ask` takes it.
    #[arg(short, long)]
    pub model: Option<String>,
    /// The system prompt, as `ask` takes it.
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// What the turn may do.
    #[command(flatten)]
    pub bounds: TurnLimitArgs,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield config init
  jackfield config show
  jackfield config path";

const IMPORT_EXAMPLES: &str = "\
Examples:
  jackfield config import litellm config.yaml
  jackfield config import litellm config.yaml --out jackfield.toml
  jackfield config import litellm config.yaml --json | jq -r '.remarks[] | \"\\(.line): \\(.text)\"'

Names of environment variables are kept. No key is written: one that stands in the file is named.";

const INIT_EXAMPLES: &str = "\
Examples:
  jackfield config init
  jackfield config init --print
  jackfield config init --import
  jackfield config init --out work.toml --force

A file that is there is never replaced without --force. Keys stay where they are.";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  jackfield config schema > jackfield.schema.json
  jackfield config schema --servers > mcp-servers.schema.json";

const PATH_EXAMPLES: &str = "\
Examples:
  jackfield config path
  jackfield config path --json | jq -r '.[] | select(.state == \"read\") | .path'";

const SHOW_EXAMPLES: &str = "\
Examples:
  jackfield config show
  jackfield config show --max-rounds 3 | grep rounds
  jackfield config show --json | jq '.values[] | select(.origin.kind != \"default\")'";

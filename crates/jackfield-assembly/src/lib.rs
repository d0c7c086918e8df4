//! Configuration, and the registry that knows every adapter.
//!
//! [`load()`] reads files, environment and flags into a [`Config`]; [`Registry::assemble`] makes an
//! engine of it. Nothing else in the project knows which adapters there are.
//!
//! ```
//! use jackfield_assembly::{Config, Environment, Registry};
//!
//! let environment: Environment = [("ANTHROPIC_API_KEY", "...")].into_iter().collect();
//! let assembled = Registry::default().assemble(&Config::default(), &environment)?;
//! assert_eq!(&*assembled.options.model.provider, "claude");
//! assert!(!assembled.missing_keys.contains_key("claude"));
//! # Ok::<(), jackfield_assembly::ConfigError>(())
//! ```
//!
//! # Features
//!
//! All but `postgres` are on by default. A configuration that needs one which is off is a [`ConfigProblem`] that names
//! it; the SQLite journal, the built-in tools and MCP servers, over stdio and HTTP, are always there.
//!
//! | feature | what it has |
//! |---|---|
//! | `bedrock` | Amazon Bedrock; with `openai` |
//! | `claude` | Claude at Anthropic, Bedrock and Foundry |
//! | `claude-code` | the `claude` program as a model |
//! | `gemini` | Gemini, also at Vertex AI |
//! | `oidc` | sign-in of people by OpenID Connect, `[serve.oidc]` |
//! | `ollama` | Ollama; with `openai` |
//! | `openai` | OpenAI, and all servers that speak its languages |
//! | `postgres` | the journal in PostgreSQL |
//! | `web` | web APIs as tools, the web search and the reading of pages, `[web]` |

#![warn(missing_docs)]

mod approvals;
mod assemble;
mod assistants;
#[cfg(feature = "bedrock")]
mod bedrock;
mod bounded_file;
#[cfg(feature = "claude")]
mod claude;
#[cfg(feature = "claude-code")]
mod claude_code;
mod condition;
mod config;
mod config_file;
mod database;
mod document;
mod endpoints;
mod expand;
mod explain;
mod factory;
mod features;
mod file;
mod form;
#[cfg(feature = "gemini")]
mod gemini;
mod imported_servers;
mod init;
mod journal;
mod key_source;
mod keyring;
mod kinds;
mod known_servers;
mod load;
mod master_keys;
mod oidc;
#[cfg(feature = "ollama")]
mod ollama;
mod open_journal;
#[cfg(feature = "openai")]
mod openai;
mod others;
mod otlp;
mod own_servers;
mod own_sign_ins;
mod place;
mod preferred;
mod presets;
mod prices;
mod provider_state;
mod questions;
#[cfg(any(feature = "claude", feature = "gemini", feature = "openai"))]
mod quirks;
mod redact;
mod registry;
mod reload;
mod replaced_file;
mod routes;
mod running_gateway;
mod schema;
mod searched_files;
mod serve;
mod server_file;
mod servers;
mod surroundings;
mod tool_modes;
mod unknown_provider;
mod values;
#[cfg_attr(not(feature = "web"), path = "web/without.rs")]
mod web;
mod windows;

pub use self::approvals::ApprovalsConfig;
pub use self::assemble::{Assembly, OtlpCollector, Prepared};
pub use self::assistants::{ConfiguredAssistant, DEFAULT_ASSISTANT};
pub use self::bounded_file::read_at_most;
pub use self::condition::{Condition, Damage, damage_help, restored_help};
pub use self::config::{
    Config, KnownPrice, Network, PriceOrigin, ProviderConfig, ProviderPassthrough,
};
pub use self::config_file::ConfigFile;
pub use self::database::DatabaseConfig;
pub use self::endpoints::TokenEndpoint;
pub use self::explain::Explanation;
pub use self::factory::{
    EndpointSettings, JournalFactory, JournalSettings, ProviderFactory, ProviderSettings,
};
pub use self::file::keys;
pub use self::imported_servers::ImportedServers;
pub use self::init::{LocalFindings, LocalServer};
pub use self::journal::{JournalConfig, JournalKind};
pub use self::key_source::KeySource;
pub use self::keyring::Keyring;
pub use self::known_servers::{KNOWN_SERVERS, KnownArguments, KnownServer};
pub use self::load::{Flags, load};
pub use self::master_keys::MASTER_KEY_IN_KEYRING;
pub use self::oidc::OidcConfig;
pub use self::open_journal::{JournalOpenError, NoJournalReason, OpenJournal, ReadOnly};
pub use self::others::{FoundServers, found_servers};
pub use self::otlp::OtlpConfig;
pub use self::own_servers::{OwnProgram, OwnServersConfig};
pub use self::place::{ConfigError, ConfigProblem, Origin, ValueSource};
pub use self::preferred::preferred_models;
pub use self::prices::PricesFile;
pub use self::provider_state::{KeyState, MissingKey, ProviderState, ProviderUpstream};
pub use self::questions::McpQuestions;
pub use self::registry::Registry;
pub use self::reload::ServerFiles;
pub use self::routes::{ConfiguredRoute, ConfiguredTarget};
pub use self::running_gateway::{GatewayNotAsked, PageToken, ask_gateway};
pub use self::schema::servers_schema;
pub use self::searched_files::{FileState, SearchedFile, searched_files};
pub use self::serve::{
    ApprovalsMode, DisconnectSetting, LogFormat, ResponsesSetting, ServeConfig, ServeLimits,
    TlsConfig, TokenConfig, TokenSource, ToolSetEntry,
};
pub use self::server_file::ServerFile;
pub use self::servers::{
    AcceptError, ChangedTool, McpServerEntry, OAuthEntry, PendingSignIn, ReplacedServers,
    ServerInspection, ServerSet, ServerSignIn, ServerStatus, ServerTest, ServerToolbox, guard,
    server_id, server_keys,
};
pub use self::surroundings::{Environment, Surroundings};
pub use self::unknown_provider::UnknownProvider;
pub use self::values::{length_of_time, listen_address, size_in_bytes};
pub use self::web::Web;
#[cfg(feature = "web")]
pub use self::web::{EngineKind, WebApi, WebSearch};
pub use jackfield_engine::near::did_you_mean;
pub use jackfield_tools_mcp::{ServerDetails, ServerFault};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

//! MCP servers as toolboxes, over standard input and output.
//!
//! An [`McpToolbox`] is one server: it is started when it is needed, spoken to in whichever of the
//! protocol's two eras it knows, started again when it has ended, and ended with us. Nothing of this
//! crate reads a file: what is known of a server is a [`ServerConfig`], and what is worth knowing the
//! next time is a [`ServerMemory`].
//!
//! ```no_run
//! use jackfield_domain::ids::ToolboxId;
//! use jackfield_ports::toolbox::Toolbox as _;
//! use jackfield_tools_mcp::{GuardProgram, McpToolbox, ServerConfig, ClientSettings};
//!
//! # async fn tools() -> Result<(), Box<dyn std::error::Error>> {
//! let config = ServerConfig {
//!     arguments: vec!["--local-timezone".to_owned(), "UTC".to_owned()],
//!     ..ServerConfig::new(ToolboxId::parse("time")?, "mcp-server-time")
//! };
//! let settings = ClientSettings {
//!     // This program calls `guard::main` when `mcp-guard` is its first argument.
//!     guard: Some(GuardProgram::this_program("mcp-guard")?),
//!     ..ClientSettings::default()
//! };
//! let server = McpToolbox::new(config, settings);
//! for tool in server.list().await? {
//!     println!("{}: {}", tool.name, tool.description);
//! }
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `config`, `patterns` | what a server is, and which of its tools are offered |
//! | `child`, `environment`, [`guard`] | its process: what it gets, and that nothing of it stays |
//! | `lines`, `scan`, `repair`, `message` | what it says, read within bounds, and made JSON where it almost is |
//! | `writer`, `mark` | what it is told, and what was proved not to have been |
//! | `transport`, `handshake`, `connection`, `request` | `rmcp` over all that |
//! | `listing`, `mapping` | its tools, and what they give |
//! | `gate` | which of its definitions may be used, by somebody else's judgement |
//! | `call`, `run`, `jobs` | a call: its time, its progress, its tasks and questions |
//! | `container` | what went wrong around it, where it is in a container |
//! | `supervisor`, `toolbox`, `state` | its life, and the port |

mod abandoned;
mod call;
mod child;
mod clock;
mod config;
mod connection;
mod container;
mod environment;
mod error;
mod gate;
pub mod guard;
mod handshake;
mod jobs;
mod lines;
mod listing;
mod log;
mod mapping;
mod mark;
mod message;
mod patterns;
mod repair;
mod request;
mod run;
mod scan;
mod state;
mod supervisor;
mod toolbox;
mod transport;
mod writer;

pub use call::IDEMPOTENCY_KEY;
pub use config::{ClientSettings, GuardProgram, ServerConfig};
pub use error::ServerFault;
pub use gate::{DefinitionGate, Review};
pub use handshake::Era;
pub use patterns::Patterns;
pub use state::{ServerMemory, ServerState};
pub use toolbox::McpToolbox;

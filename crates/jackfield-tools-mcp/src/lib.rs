//! MCP servers as toolboxes, over standard input and output, or over Streamable HTTP.
//!
//! An [`McpToolbox`] is one server: it is started on demand, spoken to in either of the protocol's two eras,
//! restarted when it has ended, and ended with this process. This crate reads no files: the configuration of a
//! server is a [`ServerConfig`], and the data worth keeping for its next start is a [`ServerMemory`].
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
//! | module | purpose |
//! |---|---|
//! | `config`, `patterns` | the configuration of a server, and which of its tools are offered |
//! | `process` | its process, behind a [`guard`] |
//! | `lines`, `scan`, `repair`, `message` | its output: bounded reading, and repair of invalid JSON |
//! | `writer`, `mark` | its input, and proof that a request was not sent |
//! | `auth` | signing in at a server over HTTP, and its tokens |
//! | `link`, `pipes`, `http` | what carries messages: a process's pipes, or HTTP |
//! | `transport`, `handshake`, `era`, `connection`, `request`, `answer` | the protocol, by means of `rmcp` |
//! | `listing`, `mapping`, `mirrored` | its tools and their results |
//! | `context` | its resources and prompts |
//! | `details` | what it says of itself |
//! | `gate` | review of its tool definitions by the embedding program |
//! | `call`, `run`, `jobs`, `held` | a call: time limits, progress, tasks and questions |
//! | `container` | failures outside of the server, where it runs in a container |
//! | `observed` | reports of requests and sessions for observers |
//! | `supervisor`, `toolbox`, `state` | restarts, the toolbox port, and the server's state |

mod abandoned;
mod announcement;
mod answer;
mod auth;
mod call;
mod clock;
mod config;
mod connection;
mod container;
mod context;
mod details;
mod era;
mod error;
mod failure;
mod gate;
mod handshake;
mod held;
mod http;
mod jobs;
mod lines;
mod link;
mod listing;
mod log;
mod mapping;
mod mark;
mod message;
mod mirrored;
mod observed;
mod patterns;
mod pipes;
mod process;
mod questions;
mod repair;
mod request;
mod roots;
mod roots_handler;
mod run;
mod scan;
mod state;
mod supervisor;
mod toolbox;
mod transport;
mod writer;

pub use auth::{AuthSettings, Authorization, Login, RedirectListener, TokenStore};
pub use call::IDEMPOTENCY_KEY;
pub use config::{ClientSettings, HttpEndpoint, ServerConfig};
pub use details::ServerDetails;
pub use era::Era;
pub use error::ServerFault;
pub use gate::{DefinitionGate, Review};
pub use http::is_reserved_header;
pub use jackfield_guard::{GuardProgram, guard, keep_to_itself};

pub use patterns::Patterns;
pub use roots::Root;
pub use state::{ServerMemory, ServerState};
pub use toolbox::McpToolbox;

/// What the tests of this crate look at, beside what is public.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::auth::challenge::Challenge;
    pub use crate::auth::client::covers_scope;
    pub use crate::auth::metadata::{canonical, covers, well_known};
    pub use crate::auth::stored::{is_stale, union};
}

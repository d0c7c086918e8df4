//! MCP servers as toolboxes, over standard input and output.
//!
//! An [`McpToolbox`] is one server: it is started when it is needed, spoken to in whichever of the
//! protocol's two eras it knows, started again when it has ended, and ended with us. Nothing of this
//! crate reads a file: what is known of a server is a [`ServerConfig`], and what is worth knowing the
//! next time is a [`Remembered`].
//!
//! | module | what it does |
//! |---|---|
//! | `config`, `patterns` | what a server is, and which of its tools are offered |
//! | `child`, `environment`, [`guard`] | its process: what it gets, and that nothing of it stays |
//! | `lines`, `scan`, `message` | what it says, read within bounds |
//! | `writer`, `mark` | what it is told, and what was proved not to have been |
//! | `transport`, `handshake`, `connection`, `request` | `rmcp` over all that |
//! | `listing`, `mapping` | its tools, and what they give |
//! | `call`, `run`, `jobs` | a call: its time, its progress, its tasks and questions |
//! | `supervisor`, `toolbox`, `state` | its life, and the port |

mod call;
mod child;
mod clock;
mod config;
mod connection;
mod environment;
mod error;
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
mod request;
mod run;
mod scan;
mod state;
mod supervisor;
mod toolbox;
mod transport;
mod writer;

pub use call::IDEMPOTENCY_KEY;
pub use config::{GuardProgram, ServerConfig, Settings};
pub use error::Fault;
pub use handshake::Era;
pub use patterns::Patterns;
pub use state::{Remembered, ServerState};
pub use toolbox::McpToolbox;

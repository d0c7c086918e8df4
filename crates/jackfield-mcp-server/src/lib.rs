//! Tools of ours as an MCP server: whatever an engine offers, over any two streams.
//!
//! A [`ToolServer`] speaks both eras of the protocol at once (MCP specification, revisions 2024-11-05 to
//! 2026-07-28): a client that begins with `initialize` gets a handshake, and one that says its version
//! with every request needs none. A call goes through the engine like any other: arguments are checked
//! against the tool's schema, time and size are limited, the policy holds.
//!
//! Over this protocol nobody can be asked before a call. So a tool that needs an approval is not
//! offered, and neither is one that takes anything but a JSON object.
//!
//! ```no_run
//! use jackfield_engine::{Engine, TurnOptions};
//! use jackfield_mcp_server::ToolServer;
//!
//! # async fn serve(engine: Engine, options: TurnOptions) {
//! let server = ToolServer::new(engine, options).offering(["builtin/*"]);
//! let never = std::future::pending();
//! server.serve(tokio::io::stdin(), tokio::io::stdout(), never).await;
//! # }
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `lines`, `heard` | what a client says, read within bounds |
//! | `writer` | what it is told, line by line |
//! | `transport` | `rmcp` over both: ids, cancellation, how much may be open at once |
//! | `handler` | the requests: what there is, and calls |
//! | `offer` | which tools are offered |
//! | `definition`, `outcome` | tools and what they give, in the words of the protocol |
//! | `revision` | what the client can read of that |
//! | `life` | that everything ends when the connection does |

mod client_message;
mod definition;
mod handler;
mod life;
mod lines;
mod offer;
mod outcome;
mod revision;
mod server;
mod transport;
mod writer;

pub use self::offer::{Offer, WithheldTool};
pub use self::server::{ServerSettings, ToolServer};

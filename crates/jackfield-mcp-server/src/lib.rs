//! Serves the tools, resources and prompts of an engine as an MCP server, over any two streams or over HTTP.
//!
//! A [`ToolServer`] supports both eras of the protocol at once (MCP specification, revisions 2024-11-05 to
//! 2026-07-28): a client that begins with `initialize` gets a handshake, and a client that sends its version with
//! every request needs none. A call goes through the engine like any other: arguments are validated against the
//! tool's schema, time and size are limited, and the policy applies.
//!
//! This protocol has no approval before a call. So a tool that needs approval is not offered, and neither is one
//! whose input is anything but a JSON object.
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
//! | `lines`, `client_message` | reads and parses the client's messages, with limits |
//! | `writer` | writes messages to the client, line by line |
//! | `transport` | connects both to `rmcp`: ids, cancellation, the limit on open requests |
//! | `streamable` | the same for requests over HTTP, each with a transport of its own, and sessions |
//! | `questions` | passes questions of tools, resources and prompts on to the client |
//! | `log_level` | passes log messages of servers on to the client |
//! | `request_headers` | the headers of a request over HTTP |
//! | `handler` | handles requests |
//! | `tool_call` | calls tools |
//! | `offer` | selects the offered tools |
//! | `context` | resources and prompts, and which server they are of |
//! | `changes` | changes of resources and prompts that a client has subscribed to |
//! | `own_tool` | tools of the server itself |
//! | `selection` | tools under other names, with fixed arguments |
//! | `capabilities` | what the server can do |
//! | `definition`, `outcome` | converts tools and results to MCP |
//! | `revision` | the features of the client's protocol revision |
//! | `life` | ends all work when the connection ends |

mod capabilities;
mod changes;
mod client_message;
mod context;
mod definition;
mod handler;
mod life;
mod lines;
mod log_level;
mod observed;
mod offer;
mod outcome;
mod own_tool;
mod questions;
mod request_headers;
mod revision;
mod selection;
mod server;
mod settings;
mod streamable;
mod tool_call;
mod transport;
mod writer;

pub use self::offer::{Offer, WithheldTool};
pub use self::own_tool::{OwnTool, OwnToolEntry};
pub use self::selection::SelectedTool;
pub use self::server::ToolServer;
pub use self::settings::ServerSettings;
pub use self::streamable::{HttpReply, HttpService, MessageStream};

//! The gateway: the APIs that programs already speak, in front of any provider.
//!
//! A client's request is one *segment* of a turn: what comes from its message, or from the results of its
//! own tools, until the turn is over or waits for the client. [`serve`] takes connections in, a
//! [`Gateway`] has the engines and the limits, and the dialects say how a request reads and how a reply is
//! written: no mapper is here.
//!
//! | module | what it does |
//! |---|---|
//! | `server`, `connection` | the accept loop, its bounds, and when bytes have left |
//! | `front` | what holds for every request: its id, `Host` and `Origin`, the log |
//! | `auth` | who asks |
//! | `router` | which path leads where |
//! | `gateway` | what a server is made of |
//! | `run`, `threads` | a server from the configuration: journal, keeper, listening, the orderly end; its threads |

mod access;
mod api;
mod auth;
mod body;
mod connection;
mod content;
mod counting;
mod dialects;
mod failures;
mod flow;
mod front;
mod gateway;
mod ids;
mod linger;
mod listing;
mod log;
mod models;
mod notes;
mod receipt;
mod retry_headers;
mod router;
mod run;
mod server;
mod signals;
mod stored;
mod threads;

pub use self::failures::chain as told;
pub use self::gateway::Gateway;
pub use self::log::start_log;
pub use self::router::router;
pub use self::run::{RunError, RunningGateway};
pub use self::server::serve;
pub use self::signals::{asked_at_once, asked_to_end};
pub use self::threads::runtime;

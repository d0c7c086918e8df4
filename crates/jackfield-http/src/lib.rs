//! The gateway: vendor-compatible APIs and Jackfield's own API, in front of any provider.
//!
//! A client's request is one *segment* of a turn: from the user's message, or from client results, until the turn
//! ends or waits for the client. [`serve`] accepts connections, a [`Gateway`] has the engines and the limits, and
//! the dialect crates parse requests and write replies: this crate contains no mapper.
//!
//! | module | what it does |
//! |---|---|
//! | `server`, `connection` | the accept loop, connection limits, and the tracking of written bytes |
//! | `front` | applies to every request: its id, `Host` and `Origin`, the access log |
//! | `auth` | authentication |
//! | `router` | the routes |
//! | `gateway` | the shared state of a server |
//! | `run`, `threads` | a server from the configuration: journal, recovery, listener, shutdown; its threads |

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
pub use self::signals::{immediate_shutdown_signal, shutdown_signal};
pub use self::threads::runtime;

//! The HTTP of a gateway: vendor-compatible APIs and Jackfield's own API, in front of any provider.
//!
//! [`serve`] accepts connections, [`router()`] has the routes, a [`Gateway`](jackfield_gateway::Gateway) decides which
//! turn answers a request, and the dialect crates parse requests and write replies: this crate renders.
//!
//! | module | what it does |
//! |---|---|
//! | `server`, `connection` | the accept loop, connection limits, and the tracking of written bytes |
//! | `certificate`, `client_stream` | TLS |
//! | `front` | applies to every request: its id, the access log |
//! | `front::browser`, `auth::cookies` | which pages are answered where no token is required, and how they are known |
//! | `auth` | authentication |
//! | `router` | the routes |
//! | `mcp` | the tools for MCP clients |
//! | `web_page` | the files of the page for people |

mod access;
mod api;
mod auth;
mod body;
mod certificate;
mod client_stream;
mod connection;
mod content;
mod counting;
mod dialects;
mod event_stream;
mod flow;
mod front;
mod ids;
mod linger;
mod listing;
mod mcp;
mod mcp_refusal;
mod notes;
mod passthrough;
mod rates;
mod receipt;
mod refusal;
mod reply;
mod retry_headers;
mod revocation;
mod router;
mod server;
mod stored;
mod web_page;

pub use self::certificate::{Certificate, CertificateError};
pub use self::router::router;
pub use self::server::serve;

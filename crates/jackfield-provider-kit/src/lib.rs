//! Shared parts of provider adapters: the exchange with the provider, and its building blocks: an HTTP client,
//! server-sent events, lines, frames, statuses, `retry-after`, secrets.
//!
//! An adapter implements [`Adapter`](exchange::Adapter): it builds its request with its dialect and names the
//! decoder for the response; [`exchange::reply`] does the rest over a [`Transport`](transport::Transport). Every
//! error on the way is classified as a [`ModelFailure`](jackfield_domain::failure::ModelFailure); nothing here
//! retries, except that a request is sent once more without a field of the adapter's own that the server refuses.
//!
//! A provider's [`Upstream`](jackfield_ports::upstream::Upstream), which sends requests unchanged, is an
//! [`HttpUpstream`](upstream::HttpUpstream) over the same transport.
//!
//! Requests to URLs that a tool chooses use the separate [guarded] client: it connects only to public addresses,
//! unless others are allowed.
//!
//! No proxy, certificate or timeout is taken from the environment, except `SSL_CERT_FILE` and `SSL_CERT_DIR`, which
//! replace the system's certificate authorities.

#![warn(missing_docs)]

pub mod base_url;
pub mod by_model;
mod cause;
mod destinations;
pub mod exchange;
pub mod frames;
pub mod guarded;
pub mod key_header;
pub mod lines;
pub mod refused_fields;
pub mod retry_after;
pub mod secret;
pub mod sse;
pub mod status;
pub mod text_tools;
pub mod tokens;
pub mod transport;
pub mod upstream;

/// What the tests of this crate look at, beside what is public.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::transport::reuse::ConnectionReuse;
}

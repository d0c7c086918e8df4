//! What provider adapters share: the exchange with the provider, and under it an HTTP client,
//! server-sent events, lines, statuses, `retry-after`, secrets.
//!
//! An adapter is an [`Adapter`](exchange::Adapter): it builds its request with its dialect and names the
//! decoder for the answer; [`exchange::reply`] does the rest over a [`Transport`](transport::Transport).
//! Everything that goes wrong on the way is classified as a
//! [`ModelFailure`](jackfield_domain::failure::ModelFailure); nothing here retries.
//!
//! What is reached at the word of a tool goes through a client of its own, the [guarded] one: it
//! connects to public addresses only, unless others are allowed.
//!
//! No proxy, certificate or timeout is taken from the environment, but for `SSL_CERT_FILE` and
//! `SSL_CERT_DIR`, which replace the system's certificate authorities.

pub mod base_url;
pub mod by_model;
mod cause;
pub mod exchange;
pub mod guarded;
pub mod lines;
pub mod retry_after;
pub mod secret;
pub mod sse;
pub mod status;
pub mod transport;

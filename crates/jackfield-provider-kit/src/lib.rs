//! What provider adapters share: the guarded HTTP client, server-sent events, statuses, `retry-after`, secrets.
//!
//! An adapter builds its request with its dialect, sends it through a [`Transport`](transport::Transport),
//! and reads the [`Incoming`](transport::Incoming) response.
//! Everything that goes wrong on the way is already classified as a
//! [`ModelFailure`](jackfield_domain::failure::ModelFailure); nothing here retries.
//!
//! No proxy, certificate or timeout is taken from the environment, but for `SSL_CERT_FILE` and
//! `SSL_CERT_DIR`, which replace the system's certificate authorities.

pub mod base_url;
pub mod retry_after;
pub mod secret;
pub mod sse;
pub mod status;
pub mod transport;

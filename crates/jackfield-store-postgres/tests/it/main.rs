//! What needs no server.

mod addresses;
mod notifications;

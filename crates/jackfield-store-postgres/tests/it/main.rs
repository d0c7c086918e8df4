//! What needs no server.

mod addresses;

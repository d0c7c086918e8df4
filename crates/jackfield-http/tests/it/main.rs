//! The gateway over sockets of its own, with nothing behind it.

mod connections;

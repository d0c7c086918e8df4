//! The gateway, without a socket where none is needed.

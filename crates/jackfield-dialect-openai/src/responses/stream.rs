//! Streamed replies.

//! The contract of a chat model.

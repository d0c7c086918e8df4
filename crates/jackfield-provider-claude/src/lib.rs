//! The Claude Messages API as a chat model.

//! Configuration, and the registry that knows every adapter.

//! Web APIs as tools, by configuration.

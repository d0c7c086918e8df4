//! The async traits that adapters implement.

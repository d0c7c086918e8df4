//! The contract of a journal.

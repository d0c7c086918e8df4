//! Contract suites: one per port, one test per clause, no clause left out.

pub mod chat_model;
pub mod clause;
pub mod context_source;
pub mod directory;
pub mod journal;
pub mod logins;
pub mod meters;
mod own_key;
pub mod secrets;
mod spans;
pub mod toolbox;
pub mod toolbox_source;
pub mod upstream;
pub mod upstream_responses;

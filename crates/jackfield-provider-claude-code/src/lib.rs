//! Claude Code as a chat model: the `claude` program, over its pipes.
//!
//! [`ClaudeCode`] is the model and [`ClaudeCodeConfig`] its settings. Claude Code is an agent with a loop of its own;
//! ADR 0060 says how its loop and ours become one.
//!
//! | module | purpose |
//! |---|---|
//! | `config` | the settings |
//! | `plan`, `transcript` | what a request becomes: a continued session, or a new one |
//! | `setup` | what a process is started with: arguments, environment, tools |
//! | `program`, `stderr` | a running process: its start, lines and end |
//! | `wire` | the lines of the protocol |
//! | `permission` | its questions whether it may use a tool of its own |
//! | `reply`, `messages`, `wording` | one round: lines become deltas, calls wait for results |
//! | `listing` | its models, its version and its login |
//! | `waiting` | the processes between two rounds |
//! | `failure` | what went wrong, for the loop and for people |
//!
//! The facts about the program were found with Claude Code 2.1.332 on 2026-11-26, unless stated otherwise.

mod client;
mod config;
mod failure;
mod listing;
mod messages;
mod permission;
mod plan;
mod program;
mod reply;
mod setup;
mod stderr;
mod transcript;
mod waiting;
mod wire;
mod wording;

pub use client::ClaudeCode;
pub use config::ClaudeCodeConfig;

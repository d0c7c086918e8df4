//! Scripted vendor servers for the slices.
//!
//! A server gives the replies of a [`Script`](script::Script), in the vendor's own words, and judges every
//! request by the vendor's own rules: one that breaks a rule gets the 400 that the vendor would give, and
//! fails the test. There is a [`ScriptedClaude`](claude::ScriptedClaude); what it can be asked for
//! is in [`Scripted`](scripted::Scripted), and is the same for every vendor.
//! The program `scripted-claude` is the same server as a process, with the script in a file
//! ([`script::json`]).

pub mod checks;
pub mod claude;
pub mod program;
pub mod script;
pub mod scripted;
mod vendor;

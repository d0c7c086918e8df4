//! Scripted vendor servers for the slices.
//!
//! A server gives the replies of a [`Script`](script::Script), in the vendor's own words, and judges every
//! request by the vendor's own rules: one that breaks a rule gets the 400 that the vendor would give, and
//! fails the test. A server also remembers what it said, and takes reasoning back only as it was.
//!
//! | server | languages | program |
//! |---|---|---|
//! | [`ScriptedClaude`](claude::ScriptedClaude) | Claude Messages | `scripted-claude` |
//! | [`ScriptedOpenAi`](openai::ScriptedOpenAi) | Chat Completions, Responses; with the manners of compatible servers | `scripted-openai` |
//!
//! [`mcp`] is a scripted MCP server over standard input and output, the program `scripted-mcp`.
//! What can be asked of the others is in [`ScriptedServer`](scripted::ScriptedServer), the same for every vendor.
//! Their programs are the same servers as processes, with the script in a file ([`script::json`]).

pub mod checks;
pub mod claude;
pub mod mcp;
pub mod openai;
pub mod program;
pub mod script;
pub mod scripted;
mod vendor;

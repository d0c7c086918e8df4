//! Scripted vendor servers for the slice tests.
//!
//! A server sends the replies of a [`Script`](script::Script) in the vendor's wire format, and checks every request
//! by the vendor's own rules: an invalid request gets the vendor's 400 response, and fails the test. A server also
//! remembers its replies, and accepts reasoning only if it is unchanged.
//!
//! | server | languages | program |
//! |---|---|---|
//! | [`ScriptedBedrock`](bedrock::ScriptedBedrock) | Bedrock's Converse | `scripted-bedrock` |
//! | [`ScriptedClaude`](claude::ScriptedClaude) | Claude Messages | `scripted-claude` |
//! | [`ScriptedGemini`](gemini::ScriptedGemini) | Gemini | `scripted-gemini` |
//! | [`ScriptedOllama`](ollama::ScriptedOllama) | Ollama's own API | `scripted-ollama` |
//! | [`ScriptedOpenAi`](openai::ScriptedOpenAi) | Chat Completions, Responses; with the manners of compatible servers | `scripted-openai` |
//!
//! [`ScriptedOpenId`](openid::ScriptedOpenId) is a provider at which people sign in.
//!
//! [`built`] finds the programs beside a test.
//!
//! [`claude_code`] is no server, but a strict stand-in for the `claude` program, `scripted-claude-code`.
//!
//! [`postgres`] and [`pgbouncer`] are no scripted servers, but the real ones, started for tests.
//!
//! [`mcp`] is a scripted MCP server over standard input and output, the program `scripted-mcp`. The methods of the
//! others are in [`ScriptedServer`](scripted::ScriptedServer), the same for every vendor. Their programs are the
//! same servers as processes, with the script in a file ([`script::json`]).

pub mod bedrock;
pub mod built;
pub mod checks;
pub mod claude;
pub mod claude_code;
pub mod gemini;
pub mod mcp;
pub mod ollama;
pub mod openai;
pub mod openid;
#[cfg(unix)]
pub mod pgbouncer;
#[cfg(unix)]
pub mod postgres;
pub mod program;
pub mod prompt_cache;
pub mod script;
pub mod scripted;
mod vendor;

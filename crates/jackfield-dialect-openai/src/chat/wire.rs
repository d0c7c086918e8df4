//! The types of the wire format, as serde types without logic (`openai` 3.54.0 on PyPI, 2026-11).
//!
//! Request fields that may be passed on are kept in `extra`; unknown fields of replies are ignored.

mod message;
mod reply;
mod request;
mod tool;

pub use message::{Audio, AudioRef, CacheBreakpoint, Content, File, ImageUrl, Message, Part, Role};
pub use reply::{
    Choice, ChoiceDelta, Chunk, Completion, CompletionTokensDetails, Delta, PromptTokensDetails,
    ReplyMessage, ServerCall, ServerCalls, Usage,
};
pub use request::{
    AllowedTools, JsonSchema, Request, ResponseFormat, Stop, StreamOptions, ToolChoice, ToolName,
};
pub use tool::{
    CustomCall, CustomTool, Function, FunctionCall, Grammar, TextFormat, Tool, ToolCall,
};

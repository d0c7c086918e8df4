//! The types of the wire format, without logic (`openai` 3.54.0 on PyPI, 2026-11).
//!
//! Unknown fields are kept where a request may pass them on, and ignored everywhere else.

mod event;
mod item;
mod reply;
mod request;

pub(crate) use event::{IncomingEvent, Kind};
pub use item::{
    CacheBreakpoint, Call, Content, CustomCall, Item, Message, Output, OutputContent, Part,
    Reasoning, Role,
};
pub(crate) use reply::IncomingResponse;
pub use reply::{
    IncompleteDetails, InputTokensDetails, OutputTokensDetails, Response, ResponseError, Usage,
};
pub use request::{
    Chosen, Input, ReasoningConfig, Request, TextConfig, TextFormat, Tool, ToolChoice, ToolFormat,
};

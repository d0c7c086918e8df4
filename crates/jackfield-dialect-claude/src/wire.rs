//! The types of the wire format, without logic (Claude Messages API, 2026-10-21).
//!
//! Unknown fields are kept where a request may pass them on, and ignored everywhere else.

mod block;
mod error;
mod event;
mod models;
mod reply;
mod request;

pub use block::{Block, CacheControl, Citations, Content, Source, ToolResult, ToolUse};
pub use error::{ErrorBody, ErrorDetail};
pub use event::{BlockDelta, Event, MessageDelta};
pub(crate) use event::{IncomingDelta, IncomingEvent, Kind};
pub use models::{Model, ModelList, ServedModel, ServedModelList};
pub use reply::{Message, OutputTokensDetails, Usage};
pub use request::{
    InputMessage, Metadata, OutputConfig, OutputFormat, Request, Role, System, Thinking, Tool,
    ToolChoice,
};

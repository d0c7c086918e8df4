//! The vendor's types: fields only, no logic. Unknown fields are kept where they go back, and ignored elsewhere.
//!
//! Names are written in camel case; those of requests are read in snake case, too, as the vendor does.

mod error;
mod models;
mod part;
mod reply;
mod request;

pub use error::{ErrorBody, ErrorDetail};
pub use models::{Model, ModelList, ServedModel, ServedModelList};
pub use part::{Blob, Content, FileData, FunctionCall, FunctionResponse, Part};
pub use reply::{Candidate, Reply, UsageMetadata};
pub use request::{
    FunctionCallingConfig, FunctionDeclaration, GenerationConfig, Request, ThinkingConfig, Tool,
    ToolConfig,
};

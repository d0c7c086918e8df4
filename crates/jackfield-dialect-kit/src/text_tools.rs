//! Tools for models that cannot be given any: as text, in the prompt and in the reply.
//!
//! [`rewrite`](request::rewrite) puts the tools into the system prompt, and makes text of the calls and results of
//! the conversation. [`TextCallReader`](reader::TextCallReader) reads calls out of the text of a reply, in the forms
//! in which models are trained to write them, whatever form the prompt asks for. It serves models whose server does not
//! read their calls, too.
//!
//! What is read as a call runs, so little is: only tools that were offered, only calls that are complete in their
//! form, never out of a reply that was cut off, never out of a code block that is part of an answer, and never what the
//! user or a tool wrote word for word.

mod call;
mod code_fence;
mod formats;
mod opener;
mod quoted;
pub mod reader;
pub mod request;
mod segments;

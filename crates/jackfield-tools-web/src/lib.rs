//! Web APIs as tools, by configuration: method, address, parameters with schemas, headers.
//!
//! A [`ToolConfig`] is validated once and becomes a [`WebTool`]; [`WebTools`] is a toolbox of several tools. Each
//! value that a model chooses has a fixed place: it is encoded for that place, and cannot change the scheme, the
//! host or the fixed parts of the path. Requests go through the [guarded client](jackfield_provider_kit::guarded),
//! which decides about the permitted destinations.
//!
//! [`InternetTools`] is another toolbox: a web search with one of four [engines](SearchEngine), and pages as text.
//!
//! This crate reads no environment variables and no files: the embedding program passes secrets as [`Header`]s.

mod answer;
mod arguments;
mod config;
mod hidden;
mod internet;
mod page;
mod pointer;
mod schema;
mod search;
mod template;
mod tool;
mod toolbox;

pub use self::config::{BodyForm, Header, Parameter, ParameterPlace, ToolConfig, header_name};
pub use self::internet::InternetTools;
pub use self::search::SearchEngine;
pub use self::template::{InvalidTemplate, Template, TemplateValueError};
pub use self::tool::{ToolConfigError, WebTool};
pub use self::toolbox::WebTools;

/// What the tests of this crate look at, beside what is public.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::page::text_of_html;
}

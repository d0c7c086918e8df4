//! Web APIs as tools, by configuration: method, address, parameters with schemas, headers.
//!
//! A [`ToolConfig`] is checked once and becomes a [`WebTool`]; [`WebTools`] is the toolbox of several of
//! them. What a model chooses has its place: a value is encoded for where it stands, and neither scheme
//! nor host nor the fixed parts of the path can be changed by one. Requests go through the
//! [guarded client](jackfield_provider_kit::guarded), which decides what may be reached.
//!
//! No variable is read here, and no file: whoever configures fills secrets in as [`Header`]s.

mod answer;
mod arguments;
mod config;
mod hidden;
mod pointer;
mod schema;
mod template;
mod tool;
mod toolbox;

pub use self::config::{BodyForm, Header, Parameter, ParameterPlace, ToolConfig, header_name};
pub use self::template::{InvalidTemplate, Template, TemplateValueError};
pub use self::tool::{ToolConfigError, WebTool};
pub use self::toolbox::WebTools;

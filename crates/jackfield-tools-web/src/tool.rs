//! A validated web API, in which every parameter has its place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use http::Method;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_provider_kit::secret::Secret;
use serde_json::Value;

use crate::config::{BodyForm, Header, Parameter, ParameterPlace, ToolConfig, header_name};
use crate::schema;
use crate::template::is_name;

/// A validated web API as a tool.
#[derive(Clone)]
pub struct WebTool {
    pub(crate) config: ToolConfig,
    pub(crate) headers: Vec<Header>,
    /// The parameters with their places, in the order of the configuration.
    pub(crate) placed: Vec<PlacedParameter>,
    schema: Arc<Value>,
    /// The values of the URL's variables.
    pub(crate) variables: BTreeMap<Arc<str>, Secret>,
}

#[derive(Clone, Debug)]
pub(crate) struct PlacedParameter {
    pub(crate) part: ParameterPlace,
    pub(crate) required: bool,
    /// Whether the template contains it.
    pub(crate) templated: bool,
    /// Its name for the model.
    pub(crate) name: Arc<str>,
    /// The value that is sent if the model omits it.
    pub(crate) default: Option<Value>,
    /// Its name in the request.
    pub(crate) wire: Arc<str>,
}

/// An error in a tool's configuration, and its setting.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolConfigError {
    /// The setting, such as `url` or `parameters.city.in`.
    pub key: String,
    /// The error, in a sentence.
    pub message: String,
}

impl WebTool {
    /// Validates a tool.
    ///
    /// # Errors
    ///
    /// All errors in its configuration.
    pub fn new(config: ToolConfig) -> Result<Self, Vec<ToolConfigError>> {
        let mut faults = ToolConfigErrors(Vec::new());
        general(&config, &mut faults);
        let mut placed: Vec<PlacedParameter> = Vec::new();
        for parameter in &config.parameters {
            let this = place(&config, parameter, &mut faults);
            let same = |other: &&PlacedParameter| {
                let case = this.part == ParameterPlace::Header
                    && this.wire.eq_ignore_ascii_case(&other.wire);
                other.part == this.part && (other.wire == this.wire || case)
            };
            if let Some(other) = placed.iter().find(same) {
                let message = format!("`{}` goes to the same place", other.name);
                faults.add(format!("parameters.{}", this.name), message);
            }
            placed.push(this);
        }
        let url = &config.url;
        let is_unplaced = |name: &&Arc<str>| !placed.iter().any(|placed| placed.name == **name);
        let undeclared: BTreeSet<&Arc<str>> = url
            .in_path()
            .chain(url.in_query())
            .filter(is_unplaced)
            .collect();
        for name in undeclared {
            let message =
                format!("`{{{name}}}` is no parameter: say what it is under `parameters`");
            faults.add("url", message);
        }
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        let required = placed.iter().map(|placed| placed.required);
        let schema = schema::of_arguments(config.parameters.iter().zip(required));
        Ok(Self {
            config,
            headers: Vec::new(),
            placed,
            schema: Arc::new(schema),
            variables: BTreeMap::new(),
        })
    }

    /// Adds headers for every request.
    #[must_use]
    pub fn with_headers(mut self, headers: impl IntoIterator<Item = Header>) -> Self {
        self.headers = headers.into_iter().collect();
        self
    }

    /// The environment variables that its URL refers to.
    pub fn variables(&self) -> impl Iterator<Item = &Arc<str>> {
        self.config.url.variables()
    }

    /// Sets the value of a variable of its URL.
    ///
    /// # Errors
    ///
    /// A sentence about the error, without the value.
    pub fn with_variable(mut self, name: &Arc<str>, value: &str) -> Result<Self, &'static str> {
        let secret = Secret::new(value);
        self.config.url.check_variable(name, secret.expose())?;
        self.variables.insert(Arc::clone(name), secret);
        Ok(self)
    }

    /// Ignores the configured claims about the tool's effects.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        (self.config.read_only, self.config.idempotent) = (false, false);
        self
    }

    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.config.name
    }

    /// The safety of the tool, by its configuration.
    #[must_use]
    pub const fn safety(&self) -> Safety {
        if self.config.read_only {
            Safety::ReadOnly
        } else if self.config.idempotent {
            Safety::Idempotent
        } else {
            Safety::Unknown
        }
    }

    /// The secrets in its requests.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let headers = self.headers.iter().flat_map(|header| &header.secrets);
        headers.chain(self.variables.values())
    }

    pub(crate) fn spec(&self) -> ToolSpec {
        let config = &self.config;
        ToolSpec {
            description: Arc::clone(&config.description),
            icon: config.icon.clone(),
            input: InputFormat::Json(Arc::clone(&self.schema)),
            name: Arc::clone(&config.name),
            output: None,
            safety: self.safety(),
            time_limit: config.timeout,
            title: config.title.clone(),
        }
    }
}

impl fmt::Debug for WebTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebTool")
            .field("name", &self.config.name)
            .field("method", &self.config.method)
            .field("url", &self.config.url)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

struct ToolConfigErrors(Vec<ToolConfigError>);

impl ToolConfigErrors {
    fn add(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.0.push(ToolConfigError {
            key: key.into(),
            message: message.into(),
        });
    }
}

/// Checks everything except parameters.
fn general(config: &ToolConfig, faults: &mut ToolConfigErrors) {
    let name = &config.name;
    if !is_name(name) || name.contains('.') {
        let message = "the name of a tool has at most 64 letters, digits, `_` and `-`";
        faults.add("", message);
    }
    if !METHODS.contains(&config.method) {
        let message = format!("`{}` is no method that a tool has", config.method);
        faults.add("method", message);
    }
    let pointer = config.result.as_deref().unwrap_or_default();
    let escapes = pointer.split('~').skip(1);
    let escaped = escapes.into_iter().all(|part| part.starts_with(['0', '1']));
    if !(pointer.is_empty() || pointer.starts_with('/')) || !escaped {
        let message = "a JSON Pointer such as \"/current/temperature\" was expected";
        faults.add("result", message);
    }
    if config.parameters.len() > MAX_PARAMETERS {
        let message = format!("there are more than {MAX_PARAMETERS} parameters");
        faults.add("parameters", message);
    }
}

fn place(
    config: &ToolConfig,
    parameter: &Parameter,
    faults: &mut ToolConfigErrors,
) -> PlacedParameter {
    let name = &parameter.name;
    let key = |field: &str| format!("parameters.{name}{field}");
    if !is_name(name) {
        let message = "a parameter has at most 64 letters, digits, `_`, `.` and `-` in its name";
        faults.add(key(""), message);
    }
    let has_body = BODIES.contains(&config.method);
    let in_path = config.url.in_path().any(|other| other == name);
    let in_query = config.url.in_query().any(|other| other == name);
    let part = match parameter.part {
        None if in_path => ParameterPlace::Path,
        None if in_query => ParameterPlace::Query,
        None if has_body => ParameterPlace::Body,
        None => ParameterPlace::Query,
        Some(part) => part,
    };
    let misplaced = match part {
        ParameterPlace::Path if !in_path => Some(format!("`url` has no `{{{name}}}` in its path")),
        ParameterPlace::Body if !has_body => Some(format!("a {} has no body", config.method)),
        ParameterPlace::Query | ParameterPlace::Body | ParameterPlace::Header if in_path => {
            Some(format!("`url` has `{{{name}}}` in its path"))
        }
        ParameterPlace::Body | ParameterPlace::Header if in_query => {
            Some(format!("`url` has `{{{name}}}` in its query"))
        }
        ParameterPlace::Body
        | ParameterPlace::Header
        | ParameterPlace::Path
        | ParameterPlace::Query => None,
    };
    if let Some(elsewhere) = misplaced {
        faults.add(key(".in"), elsewhere);
    }
    if part == ParameterPlace::Path && parameter.required == Some(false) {
        let message = "what stands in the path is always required";
        faults.add(key(".required"), message);
    }
    let templated = in_path || in_query;
    if templated && parameter.wire.is_some() {
        let message = "`url` says already what it is called there";
        faults.add(key(".name"), message);
    }
    let wire = parameter.wire.as_ref().unwrap_or(name);
    if part == ParameterPlace::Header
        && let Err(message) = header_name(wire)
    {
        faults.add(key(".name"), message);
    }
    let kind = parameter.schema.get("type").and_then(Value::as_str);
    let flat = part != ParameterPlace::Body || config.body == BodyForm::Form;
    if flat && kind == Some("object") {
        let message = "an object goes into a JSON body only";
        faults.add(key(".type"), message);
    }
    if parameter.schema.contains_key("$ref") {
        let message = "a schema of a parameter refers to nothing: write it here";
        faults.add(key(".$ref"), message);
    }
    let default = parameter.schema.get("default").cloned();
    PlacedParameter {
        required: parameter
            .required
            .unwrap_or_else(|| part == ParameterPlace::Path && default.is_none()),
        part,
        templated,
        name: Arc::clone(name),
        default,
        wire: Arc::clone(wire),
    }
}

/// Methods whose parameters go into the body.
const BODIES: &[Method] = &[Method::DELETE, Method::PATCH, Method::POST, Method::PUT];
/// All methods that tools may use.
const METHODS: &[Method] = &[
    Method::DELETE,
    Method::GET,
    Method::HEAD,
    Method::PATCH,
    Method::POST,
    Method::PUT,
];
/// The most parameters of a tool.
const MAX_PARAMETERS: usize = 64;

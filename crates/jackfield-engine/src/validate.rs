//! Arguments against a tool's JSON Schema: before anything runs, off the async threads.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_domain::digest::Digest;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::tool::{CatalogEntry, InputFormat};
use jackfield_domain::tool_input::ToolInput;
use jsonschema::Validator;
use serde_json::Value;
use tokio::sync::Semaphore;

/// Compiled schemas, by the digest of their tool.
pub(crate) struct Validators {
    compiled: Mutex<HashMap<Digest, Arc<Compiled>>>,
    /// Bounds the threads that a hostile schema can hold.
    threads: Arc<Semaphore>,
}

type Compiled = Result<Validator, String>;

impl Default for Validators {
    fn default() -> Self {
        Self {
            compiled: Mutex::default(),
            threads: Arc::new(Semaphore::new(MOST_THREADS)),
        }
    }
}

impl Validators {
    /// Checks a call's arguments against its tool's schema.
    ///
    /// The caller bounds the time: a thread that a hostile schema holds is one of a few.
    pub(crate) async fn check(
        &self,
        tool: &CatalogEntry,
        input: &ToolInput,
    ) -> Result<(), ToolFailure> {
        let (InputFormat::Json(schema), ToolInput::Json(json)) = (&tool.definition.input, input)
        else {
            return Ok(());
        };
        let Ok(fields) = json.object() else {
            return Err(invalid("the arguments are not a JSON object".to_owned()));
        };
        let known = {
            let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
            compiled.get(&tool.digest).map(Arc::clone)
        };
        let (schema, arguments) = (Arc::clone(schema), Value::Object((**fields).clone()));
        let Ok(permit) = Arc::clone(&self.threads).acquire_owned().await else {
            return Ok(());
        };
        let name = tool.definition.name.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let compiled = known.unwrap_or_else(|| Arc::new(compile(&schema)));
            let verdict = match &*compiled {
                Err(fault) => Err(ToolFailure::not_sent(
                    ToolFailureKind::ProtocolViolation,
                    format!("the schema of `{name}` cannot be used: {fault}"),
                )),
                Ok(validator) => complaints(validator, &arguments).map_or(Ok(()), |text| {
                    Err(invalid(format!(
                        "The call was not run: {text} Correct the arguments."
                    )))
                }),
            };
            (compiled, verdict)
        })
        .await;
        let Ok((compiled, verdict)) = checked else {
            let kind = ToolFailureKind::ProtocolViolation;
            return Err(ToolFailure::not_sent(
                kind,
                "checking the arguments crashed",
            ));
        };
        let mut known = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SCHEMAS {
            known.clear();
        }
        known.insert(tool.digest, compiled);
        verdict
    }
}

fn compile(schema: &Value) -> Compiled {
    jsonschema::validator_for(schema).map_err(|error| error.to_string())
}

/// What is wrong with the arguments, in words that a model can act on; `None` if nothing is.
fn complaints(validator: &Validator, arguments: &Value) -> Option<String> {
    let mut text = String::new();
    for error in validator.iter_errors(arguments).take(MOST_COMPLAINTS) {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() {
            "the arguments".to_owned()
        } else {
            format!("`{place}`")
        };
        let what: String = error.to_string().chars().take(LONGEST_COMPLAINT).collect();
        // Writing to a string cannot fail.
        let _ignored = write!(text, "{place}: {what}. ");
    }
    (!text.is_empty()).then(|| text.trim_end().to_owned())
}

fn invalid(message: String) -> ToolFailure {
    ToolFailure::not_sent(ToolFailureKind::InvalidArguments, message)
}

const LONGEST_COMPLAINT: usize = 300;
const MOST_COMPLAINTS: usize = 5;
const MOST_SCHEMAS: usize = 4096;
const MOST_THREADS: usize = 8;

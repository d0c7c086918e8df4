//! Arguments against a tool's JSON Schema: before anything runs, off the async threads.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::tool::{CatalogEntry, InputFormat};
use jackfield_domain::tool_input::ToolInput;
use jsonschema::Validator;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// Schemas, by the digest of their tool.
pub(crate) struct Validators {
    schemas: Mutex<HashMap<Digest, Arc<Schema>>>,
    /// Bounds the threads that hostile schemas can hold together.
    threads: Arc<Semaphore>,
}

/// A schema, compiled when it is first needed.
struct Schema {
    compiled: OnceLock<Result<Validator, String>>,
    /// A few checks at a time, so that a hostile schema cannot hold every thread.
    turn: Arc<Semaphore>,
}

impl Default for Schema {
    fn default() -> Self {
        Self {
            compiled: OnceLock::new(),
            turn: Arc::new(Semaphore::new(MOST_OF_ONE_SCHEMA)),
        }
    }
}

impl Default for Validators {
    fn default() -> Self {
        Self {
            schemas: Mutex::default(),
            threads: Arc::new(Semaphore::new(MOST_THREADS)),
        }
    }
}

impl Validators {
    /// Checks a call's arguments against its tool's schema, within this time.
    pub(crate) async fn check(
        &self,
        tool: &CatalogEntry,
        input: &ToolInput,
        limit: Duration,
    ) -> Result<(), ToolFailure> {
        let (InputFormat::Json(schema), ToolInput::Json(json)) = (&tool.definition.input, input)
        else {
            return Ok(());
        };
        let Ok(fields) = json.object() else {
            return Err(invalid("the arguments are not a JSON object".to_owned()));
        };
        let name = tool.definition.name.clone();
        let known = self.schema(tool.digest);
        let deadline = Instant::now() + limit;
        let permits = async {
            let turn = Arc::clone(&known.turn).acquire_owned().await;
            (turn, Arc::clone(&self.threads).acquire_owned().await)
        };
        let (Ok(turn), Ok(thread)) = timeout_at(deadline, permits).await.map_err(|_| {
            late(format!(
                "the arguments of `{name}` could not be checked: other checks take too long"
            ))
        })?
        else {
            // Nobody closes the semaphores.
            return Ok(());
        };
        let (schema, arguments) = (Arc::clone(schema), Value::Object((**fields).clone()));
        let checked = tokio::task::spawn_blocking(move || {
            let _permits = (turn, thread);
            match known.compiled.get_or_init(|| compile(&schema)) {
                Err(fault) => Err(ToolFailure::not_sent(
                    ToolFailureKind::ProtocolViolation,
                    format!("the schema of `{name}` cannot be used: {fault}"),
                )),
                Ok(validator) => complaints(validator, &arguments).map_or(Ok(()), |text| {
                    Err(invalid(format!(
                        "The call was not run: {text} Correct the arguments."
                    )))
                }),
            }
        });
        match timeout_at(deadline, checked).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(_)) => Err(ToolFailure::not_sent(
                ToolFailureKind::ProtocolViolation,
                "checking the arguments crashed",
            )),
            Err(_) => {
                let name = &tool.definition.name;
                Err(late(format!(
                    "checking the arguments against the schema of `{name}` takes too long"
                )))
            }
        }
    }

    fn schema(&self, digest: Digest) -> Arc<Schema> {
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if schemas.len() >= MOST_SCHEMAS && !schemas.contains_key(&digest) {
            schemas.clear();
        }
        Arc::clone(schemas.entry(digest).or_default())
    }
}

fn compile(schema: &Value) -> Result<Validator, String> {
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

fn late(message: String) -> ToolFailure {
    ToolFailure::not_sent(ToolFailureKind::Timeout, message)
}

const LONGEST_COMPLAINT: usize = 300;
const MOST_COMPLAINTS: usize = 5;
const MOST_OF_ONE_SCHEMA: usize = 3;
const MOST_SCHEMAS: usize = 4096;
const MOST_THREADS: usize = 8;

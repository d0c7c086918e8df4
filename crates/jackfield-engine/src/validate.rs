//! Validates values against a tool's JSON Schemas: arguments before the call, and structured outcomes after it.
//! Long checks run off the async threads.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::tool::{CatalogEntry, InputFormat};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jsonschema::Validator;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use self::patterns::Names;
use self::watch::{WorkLimits, WorkStopped, watched};

mod answer;
mod nulls;
mod patterns;
mod plain;
pub(crate) mod schema;
pub(crate) mod usable;
mod watch;

pub use self::answer::AnswerFit;

/// The compiled schemas, by the tool's digest.
#[derive(Default)]
pub(crate) struct Validators {
    schemas: Mutex<HashMap<(Digest, SchemaSide), Arc<Schema>>>,
    /// Limits concurrent checks per toolbox, so that a hostile toolbox blocks only itself.
    permits: Mutex<HashMap<ToolboxId, Arc<Semaphore>>>,
}

/// A value and the schema to check it against.
struct SchemaCheck<'a> {
    schema: &'a Arc<Value>,
    side: SchemaSide,
    tool: &'a CatalogEntry,
    value: Arc<Value>,
}

/// The input or output schema of a tool.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
enum SchemaSide {
    Input,
    Output,
}

/// A schema, compiled on first use.
#[derive(Default)]
struct Schema {
    compiled: OnceLock<Result<CompiledSchema, String>>,
}

/// A usable schema.
struct CompiledSchema {
    names: Names,
    /// The size of the schema, if it is [plain].
    size: Option<usize>,
    validator: Validator,
}

/// The result of a check.
enum SchemaVerdict {
    /// The check could not start in time.
    Busy,
    Crashed,
    Fits,
    /// These arguments fit, which have no `null` where the given ones had one that does not.
    FitsWithoutNulls(Map<String, Value>),
    Late,
    /// What is wrong with the value, in words that a model can act on.
    Misfit(String),
    /// Why the schema cannot be used.
    Unusable(String),
}

impl Validators {
    /// Validates a call's arguments against its tool's schema, within `limit`. Gives other arguments if some that may be
    /// missing are `null`, which the schema does not allow: they count as missing.
    pub(crate) async fn check_arguments(
        &self,
        tool: &CatalogEntry,
        input: &ToolInput,
        limit: Duration,
    ) -> Result<Option<ToolInput>, ToolFailure> {
        let (InputFormat::Json(schema), ToolInput::Json(json)) = (&tool.definition.input, input)
        else {
            return Ok(None);
        };
        let Ok(fields) = json.object() else {
            return Err(invalid("the arguments are not a JSON object".to_owned()));
        };
        let arguments = Arc::new(Value::Object((**fields).clone()));
        let name = &tool.definition.name;
        let checked = SchemaCheck {
            schema,
            side: SchemaSide::Input,
            tool,
            value: arguments,
        };
        Err(match self.check_value(checked, limit).await {
            SchemaVerdict::Busy => late(format!(
                "the arguments of `{name}` could not be checked: other checks of `{}` take too long",
                tool.origin.toolbox
            )),
            SchemaVerdict::Crashed => unusable("checking the arguments crashed".to_owned()),
            SchemaVerdict::Fits => return Ok(None),
            SchemaVerdict::FitsWithoutNulls(fields) => {
                return Ok(Some(ToolInput::Json(JsonInput::from(fields))));
            }
            SchemaVerdict::Late => late(format!(
                "checking the arguments against the schema of `{name}` takes too long"
            )),
            SchemaVerdict::Misfit(text) => invalid(format!(
                "The call was not run: {text} Correct the arguments."
            )),
            SchemaVerdict::Unusable(why) => {
                unusable(format!("the schema of `{name}` cannot be used: {why}"))
            }
        })
    }

    /// Validates a tool's structured outcome against its output schema, within `limit`.
    ///
    /// The tool did run, so its outcome is never discarded: structured content that does not match is returned
    /// as text, because clients would assume that it matches the schema.
    pub(crate) async fn check_outcome(
        &self,
        tool: &CatalogEntry,
        mut result: ToolResult,
        limit: Duration,
    ) -> ToolResult {
        let (Some(schema), Some(structured)) = (&tool.definition.output, &result.structured) else {
            return result;
        };
        // An error need not match the output schema.
        if result.is_error {
            return result;
        }
        let structured = Arc::clone(structured);
        let checked = SchemaCheck {
            schema,
            side: SchemaSide::Output,
            tool,
            value: Arc::clone(&structured),
        };
        let unchecked = match self.check_value(checked, limit).await {
            // No `null` of an answer counts as missing.
            SchemaVerdict::Fits | SchemaVerdict::FitsWithoutNulls(_) => return result,
            SchemaVerdict::Misfit(what) => {
                let text = structured.to_string();
                let is_same_text = |part: &OutcomePart| part.as_text() == Some(&*text);
                if !result.content.iter().any(is_same_text) {
                    result.content.push(OutcomePart::Text(text.into()));
                }
                result.structured = None;
                let note = format!(
                    "[the structured answer is not what the tool says that it gives, and is given \
                     as text: {what}]"
                );
                result.content.push(OutcomePart::Text(note.into()));
                return result;
            }
            SchemaVerdict::Busy | SchemaVerdict::Late => "that takes too long".to_owned(),
            SchemaVerdict::Crashed => "that crashed".to_owned(),
            SchemaVerdict::Unusable(why) => why,
        };
        let note = format!(
            "[the structured answer could not be checked against the tool's own schema: {unchecked}]"
        );
        result.content.push(OutcomePart::Text(note.into()));
        result
    }

    async fn check_value(&self, checked: SchemaCheck<'_>, limit: Duration) -> SchemaVerdict {
        let SchemaCheck {
            schema,
            side,
            tool,
            value,
        } = checked;
        let compiled = self.schema((tool.digest, side));
        if compiled.accepts_inline(&value) {
            return SchemaVerdict::Fits;
        }
        let deadline = Instant::now() + limit;
        let permit = self.toolbox_permits(&tool.origin.toolbox).acquire_owned();
        let Ok(Ok(permit)) = timeout_at(deadline, permit).await else {
            return SchemaVerdict::Busy;
        };
        check_on_thread(compiled, schema, (value, side), (Some(permit), deadline)).await
    }

    fn schema(&self, place: (Digest, SchemaSide)) -> Arc<Schema> {
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if schemas.len() >= MAX_SCHEMAS && !schemas.contains_key(&place) {
            schemas.clear();
        }
        Arc::clone(schemas.entry(place).or_default())
    }

    fn toolbox_permits(&self, toolbox: &ToolboxId) -> Arc<Semaphore> {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = permits.entry(toolbox.clone());
        Arc::clone(turn.or_insert_with(|| Arc::new(Semaphore::new(MAX_PER_TOOLBOX))))
    }
}

/// Checks a value on a blocking thread, until the deadline. The toolbox's permit is held until the thread is
/// done, even after the deadline.
async fn check_on_thread(
    compiled: Arc<Schema>,
    schema: &Arc<Value>,
    (value, side): (Arc<Value>, SchemaSide),
    (permit, deadline): (Option<OwnedSemaphorePermit>, Instant),
) -> SchemaVerdict {
    let schema = Arc::clone(schema);
    let until = std::time::Instant::now() + (deadline - Instant::now());
    let checked = tokio::task::spawn_blocking(move || {
        let _turn = permit;
        compiled.check(&schema, (&value, side), until)
    });
    match timeout_at(deadline, checked).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(_)) => SchemaVerdict::Crashed,
        Err(_) => SchemaVerdict::Late,
    }
}

impl Schema {
    /// Whether a value matches, if this can be decided without another thread: the schema is compiled, plain
    /// and small, and the value is small. `false` also means undecided; error messages take longer to write.
    fn accepts_inline(&self, value: &Value) -> bool {
        let Some(Ok(CompiledSchema {
            size, validator, ..
        })) = self.compiled.get()
        else {
            return false;
        };
        let most = size.and_then(|size| MAX_AT_ONCE.checked_div(size));
        let is_small = most.is_some_and(|most| plain::weight(value, most).is_some());
        let bounds = || WorkLimits {
            steps: MAX_STEPS_AT_ONCE,
            deadline: std::time::Instant::now() + MAX_CHUNK,
        };
        // Problems here are reported by the check on the blocking thread.
        let is_valid = || watched(bounds(), || validator.is_valid(value));
        is_small && catch_unwind(AssertUnwindSafe(is_valid)).is_ok_and(|fits| fits == Ok(true))
    }

    /// Checks a value, until `until`. Blocks the thread.
    fn check(
        &self,
        schema: &Value,
        (value, side): (&Value, SchemaSide),
        until: std::time::Instant,
    ) -> SchemaVerdict {
        let compiled = match self.compiled.get() {
            Some(compiled) => compiled,
            None => {
                let steps = MAX_NODES;
                let built = match watched(
                    WorkLimits {
                        steps,
                        deadline: until,
                    },
                    || schema::compile(schema),
                ) {
                    Ok(built) => built.map(|(validator, names)| CompiledSchema {
                        names,
                        size: plain::size(schema),
                        validator,
                    }),
                    // Not cached: the next check may have more time.
                    Err(WorkStopped::Late) => return SchemaVerdict::Late,
                    Err(
                        stopped @ (WorkStopped::TooDeep
                        | WorkStopped::TooLong
                        | WorkStopped::TooMuch),
                    ) => Err(stopped.to_string()),
                };
                self.compiled.get_or_init(|| built)
            }
        };
        let (names, validator) = match compiled {
            Ok(CompiledSchema {
                names, validator, ..
            }) => (names, validator),
            Err(fault) => return SchemaVerdict::Unusable(fault.clone()),
        };
        if !names.accepts(value) {
            return SchemaVerdict::Unusable(WorkStopped::TooLong.to_string());
        }
        let steps = u64::MAX;
        match watched(
            WorkLimits {
                steps,
                deadline: until,
            },
            || validator.is_valid(value),
        ) {
            Ok(true) => return SchemaVerdict::Fits,
            Ok(false) => {}
            Err(WorkStopped::Late | WorkStopped::TooMuch) => return SchemaVerdict::Late,
            Err(stopped @ (WorkStopped::TooDeep | WorkStopped::TooLong)) => {
                return SchemaVerdict::Unusable(stopped.to_string());
            }
        }
        // The library collects all errors at once, which may not fit into memory.
        let bounds = || WorkLimits {
            steps: MAX_EXAMINED,
            deadline: until,
        };
        if side == SchemaSide::Input
            && let Ok(Some(fields)) = watched(bounds(), || nulls::without(validator, value))
        {
            return SchemaVerdict::FitsWithoutNulls(fields);
        }
        let subject = match side {
            SchemaSide::Input => "the arguments",
            SchemaSide::Output => "the answer",
        };
        let complaints = watched(bounds(), || describe_errors(validator, value, subject));
        let complaints = complaints.ok().filter(|text| !text.is_empty());
        SchemaVerdict::Misfit(
            complaints.unwrap_or_else(|| format!("{subject} do not fit the schema.")),
        )
    }
}

/// The errors of a value, in words that a model can act on.
fn describe_errors(validator: &Validator, value: &Value, subject: &str) -> String {
    let mut text = String::new();
    for error in validator.iter_errors(value).take(MAX_COMPLAINTS) {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() {
            subject.to_owned()
        } else {
            format!("`{place}`")
        };
        let what = schema::without_marks(&error.to_string());
        let what: String = what.chars().take(MAX_COMPLAINT).collect();
        // Writing to a string cannot fail.
        let _ignored = write!(text, "{place}: {what}. ");
    }
    text.trim_end().to_owned()
}

fn invalid(message: String) -> ToolFailure {
    ToolFailure::not_sent(ToolFailureKind::InvalidArguments, message)
}

fn late(message: String) -> ToolFailure {
    ToolFailure::not_sent(ToolFailureKind::Timeout, message)
}

fn unusable(message: String) -> ToolFailure {
    ToolFailure::not_sent(ToolFailureKind::ProtocolViolation, message)
}

/// The time limit of a check without another thread; a safety net.
const MAX_CHUNK: Duration = Duration::from_millis(10);
const MAX_COMPLAINT: usize = 300;
/// The maximum cost of a check on the turn's thread, in steps: less than a millisecond.
const MAX_AT_ONCE: usize = 16_384;
const MAX_COMPLAINTS: usize = 5;
/// The maximum number of subschemas that are visited for error messages.
const MAX_EXAMINED: u64 = 100_000;
/// The maximum number of validator nodes of a schema.
const MAX_NODES: u64 = 50_000;
const MAX_PER_TOOLBOX: usize = 2;
const MAX_SCHEMAS: usize = 4096;
/// The maximum number of subschemas that a check without another thread visits; a safety net.
const MAX_STEPS_AT_ONCE: u64 = 65_536;

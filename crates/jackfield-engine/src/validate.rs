//! Values against a tool's JSON Schemas, off the async threads where that may take long: arguments before
//! anything runs, and structured outcomes after.

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
use jackfield_domain::tool_input::ToolInput;
use jsonschema::Validator;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use self::patterns::Names;
use self::watch::{WorkLimits, WorkStopped, watched};

mod answer;
mod patterns;
mod plain;
pub(crate) mod schema;
pub(crate) mod usable;
mod watch;

pub use self::answer::AnswerFit;

/// Schemas, by the digest of their tool.
#[derive(Default)]
pub(crate) struct Validators {
    schemas: Mutex<HashMap<(Digest, SchemaSide), Arc<Schema>>>,
    /// A few checks of each toolbox at a time, so that one which is hostile holds up none but itself.
    turns: Mutex<HashMap<ToolboxId, Arc<Semaphore>>>,
}

/// What is checked against which schema.
struct SchemaCheck<'a> {
    schema: &'a Arc<Value>,
    side: SchemaSide,
    tool: &'a CatalogEntry,
    value: Arc<Value>,
}

/// Which of a tool's schemas.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
enum SchemaSide {
    Input,
    Output,
}

/// A schema, compiled when it is first needed.
#[derive(Default)]
struct Schema {
    compiled: OnceLock<Result<CompiledSchema, String>>,
}

/// A schema that can be used.
struct CompiledSchema {
    names: Names,
    /// How large the schema is, if it is [plain].
    size: Option<usize>,
    validator: Validator,
}

/// What a check came to.
enum SchemaVerdict {
    /// There was no time left to begin.
    Busy,
    Crashed,
    Fits,
    Late,
    /// What is wrong with the value, in words that a model can act on.
    Misfit(String),
    /// Why the schema cannot be used.
    Unusable(String),
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
        let arguments = Arc::new(Value::Object((**fields).clone()));
        let name = &tool.definition.name;
        let checked = SchemaCheck {
            schema,
            side: SchemaSide::Input,
            tool,
            value: arguments,
        };
        Err(match self.fits(checked, limit).await {
            SchemaVerdict::Busy => late(format!(
                "the arguments of `{name}` could not be checked: other checks of `{}` take too long",
                tool.origin.toolbox
            )),
            SchemaVerdict::Crashed => unusable("checking the arguments crashed".to_owned()),
            SchemaVerdict::Fits => return Ok(()),
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

    /// Checks what a tool gave against what it says that it gives, within this time.
    ///
    /// The tool did run, so nothing of what it gave is lost: what does not fit is given as text, since
    /// as structured content it would be taken for what the schema promises.
    pub(crate) async fn checked(
        &self,
        tool: &CatalogEntry,
        mut result: ToolResult,
        limit: Duration,
    ) -> ToolResult {
        let (Some(schema), Some(structured)) = (&tool.definition.output, &result.structured) else {
            return result;
        };
        // A failure need not look like what the tool gives when it works.
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
        let unchecked = match self.fits(checked, limit).await {
            SchemaVerdict::Fits => return result,
            SchemaVerdict::Misfit(what) => {
                let text = structured.to_string();
                let told = |part: &OutcomePart| part.as_text() == Some(&*text);
                if !result.content.iter().any(told) {
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

    async fn fits(&self, checked: SchemaCheck<'_>, limit: Duration) -> SchemaVerdict {
        let SchemaCheck {
            schema,
            side,
            tool,
            value,
        } = checked;
        let known = self.schema((tool.digest, side));
        if known.takes_at_once(&value) {
            return SchemaVerdict::Fits;
        }
        let deadline = Instant::now() + limit;
        let turn = self.turn(&tool.origin.toolbox).acquire_owned();
        let Ok(Ok(turn)) = timeout_at(deadline, turn).await else {
            return SchemaVerdict::Busy;
        };
        let whole = match side {
            SchemaSide::Input => "the arguments",
            SchemaSide::Output => "the answer",
        };
        looked(known, schema, (value, whole), (Some(turn), deadline)).await
    }

    fn schema(&self, place: (Digest, SchemaSide)) -> Arc<Schema> {
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if schemas.len() >= MOST_SCHEMAS && !schemas.contains_key(&place) {
            schemas.clear();
        }
        Arc::clone(schemas.entry(place).or_default())
    }

    fn turn(&self, toolbox: &ToolboxId) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = turns.entry(toolbox.clone());
        Arc::clone(turn.or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_ONE_TOOLBOX))))
    }
}

/// Checks a value on a thread that may be held up, until then. The turn is held as long as the thread is.
async fn looked(
    known: Arc<Schema>,
    schema: &Arc<Value>,
    (value, whole): (Arc<Value>, &'static str),
    (turn, deadline): (Option<OwnedSemaphorePermit>, Instant),
) -> SchemaVerdict {
    let schema = Arc::clone(schema);
    let until = std::time::Instant::now() + (deadline - Instant::now());
    let checked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        known.look(&schema, (&value, whole), until)
    });
    match timeout_at(deadline, checked).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(_)) => SchemaVerdict::Crashed,
        Err(_) => SchemaVerdict::Late,
    }
}

impl Schema {
    /// Whether a value fits, as far as that can be told on the spot: the schema is known, plain and
    /// small, and so is the value. What is wrong with one is told in words, and that takes longer.
    fn takes_at_once(&self, value: &Value) -> bool {
        let Some(Ok(CompiledSchema {
            size, validator, ..
        })) = self.compiled.get()
        else {
            return false;
        };
        let most = size.and_then(|size| MOST_AT_ONCE.checked_div(size));
        let is_small = most.is_some_and(|most| plain::weight(value, most).is_some());
        let bounds = || WorkLimits {
            steps: MOST_STEPS_AT_ONCE,
            until: std::time::Instant::now() + LONGEST_AT_ONCE,
        };
        // Whatever goes wrong here is told by the check on a thread of its own.
        let is_valid = || watched(bounds(), || validator.is_valid(value));
        is_small && catch_unwind(AssertUnwindSafe(is_valid)).is_ok_and(|fits| fits == Ok(true))
    }

    /// Checks a value, on a thread that may be held up until then.
    fn look(
        &self,
        schema: &Value,
        (value, whole): (&Value, &str),
        until: std::time::Instant,
    ) -> SchemaVerdict {
        let compiled = match self.compiled.get() {
            Some(compiled) => compiled,
            None => {
                let steps = MOST_NODES;
                let built = match watched(WorkLimits { steps, until }, || schema::compile(schema)) {
                    Ok(built) => built.map(|(validator, names)| CompiledSchema {
                        names,
                        size: plain::size(schema),
                        validator,
                    }),
                    // The next one may have more time.
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
        if !names.take(value) {
            return SchemaVerdict::Unusable(WorkStopped::TooLong.to_string());
        }
        let steps = u64::MAX;
        match watched(WorkLimits { steps, until }, || validator.is_valid(value)) {
            Ok(true) => return SchemaVerdict::Fits,
            Ok(false) => {}
            Err(WorkStopped::Late | WorkStopped::TooMuch) => return SchemaVerdict::Late,
            Err(stopped @ (WorkStopped::TooDeep | WorkStopped::TooLong)) => {
                return SchemaVerdict::Unusable(stopped.to_string());
            }
        }
        // All that is wrong is collected at once, and may be more than fits into memory.
        let steps = MOST_LOOKED_AT;
        let complaints = watched(WorkLimits { steps, until }, || {
            complaints(validator, value, whole)
        });
        let complaints = complaints.ok().filter(|text| !text.is_empty());
        SchemaVerdict::Misfit(
            complaints.unwrap_or_else(|| format!("{whole} do not fit the schema.")),
        )
    }
}

/// What is wrong with a value, in words that a model can act on.
fn complaints(validator: &Validator, value: &Value, whole: &str) -> String {
    let mut text = String::new();
    for error in validator.iter_errors(value).take(MOST_COMPLAINTS) {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() {
            whole.to_owned()
        } else {
            format!("`{place}`")
        };
        let what = schema::without_marks(&error.to_string());
        let what: String = what.chars().take(LONGEST_COMPLAINT).collect();
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

/// How long a check on the spot may take, should it ever come to that.
const LONGEST_AT_ONCE: Duration = Duration::from_millis(10);
const LONGEST_COMPLAINT: usize = 300;
/// How many steps a check may take that holds up the thread of a turn: less than a millisecond.
const MOST_AT_ONCE: usize = 16_384;
const MOST_COMPLAINTS: usize = 5;
/// How many schemas within a schema are looked at for what is wrong.
const MOST_LOOKED_AT: u64 = 100_000;
/// How many validators a schema may become.
const MOST_NODES: u64 = 50_000;
const MOST_OF_ONE_TOOLBOX: usize = 2;
const MOST_SCHEMAS: usize = 4096;
/// How many schemas within a schema a check on the spot may come by: more than it ever does.
const MOST_STEPS_AT_ONCE: u64 = 65_536;

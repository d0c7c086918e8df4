//! Checks whether a tool's schema can validate calls, before the tool is offered to a model.

use std::time::Instant;

use jackfield_domain::schema;
use serde_json::Value;

use super::patterns::{Pattern, PatternBudget};
use super::watch::{WorkLimits, WorkStopped, watched};
use super::{MAX_NODES, plain, schema as compiled};

/// The repaired schema for validating calls, if the tool's own is broken and could be repaired.
///
/// A schema whose check is not finished by `until` is used as it is: each call has a time limit of its own.
///
/// # Errors
///
/// Why no call could ever be validated, as the end of a sentence about the schema.
pub(crate) fn repair(own: &Value, until: Instant) -> Result<Option<Value>, String> {
    let bounds = WorkLimits {
        steps: MAX_NODES,
        deadline: until,
    };
    match watched(bounds, || repair_unbounded(own)) {
        Ok(usable) => usable.map_err(|why| format!("cannot be used: {why}")),
        Err(WorkStopped::Late) => Ok(None),
        Err(stopped @ (WorkStopped::TooDeep | WorkStopped::TooLong | WorkStopped::TooMuch)) => {
            Err(format!("cannot be used: {stopped}"))
        }
    }
}

fn repair_unbounded(own: &Value) -> Result<Option<Value>, String> {
    let is_pattern = |text: &str| Pattern::new(&text.into(), &PatternBudget::default()).is_ok();
    let mended = schema::repair(own, &is_pattern);
    if mended.is_none() && plain::size(own).is_some() {
        return Ok(None);
    }
    let Err(fault) = compiled::compile(own) else {
        return Ok(None);
    };
    let Some(mended) = mended else {
        return Err(fault);
    };
    compiled::compile(&mended.schema)?;
    Ok(Some(mended.schema))
}

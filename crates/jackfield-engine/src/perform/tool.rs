//! One call of a tool: its arguments, its run and its outcome.

use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailure};
use jackfield_domain::own_tool;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{CatalogEntry, ToolOrigin};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents};
use jackfield_ports::toolbox_source::ToolboxSet;
use tokio::time::Instant;

use crate::crash;
use crate::events::RunError;
use crate::state::EngineState;
use crate::toolboxes;

/// Validates the arguments, runs the tool, and validates its outcome.
pub(crate) async fn run_tool(
    shared: &EngineState,
    toolboxes: &ToolboxSet,
    tool: Option<&CatalogEntry>,
    run: &ToolRun,
    context: &CallContext,
    events: &mut dyn ToolEvents,
) -> Result<ToolEnd, RunError> {
    if tool.is_some_and(|tool| tool.asked_by.is_some()) {
        // The provider runs it, once it has this outcome.
        return Ok(ToolEnd::Finished(own_tool::allowed(&run.input)));
    }
    let deadline = Instant::now() + run.time_limit.min(A_DAY);
    let toolbox = toolboxes::find_or_fail(toolboxes, &run.tool.toolbox)?;
    let mut corrected = None;
    if let Some(tool) = tool {
        // Shorter than the call's limit, so that a slow schema is distinguished from a slow tool.
        let limit = run.time_limit.min(MAX_CHECK).mul_f64(CHECK_SHARE);
        let checked = shared
            .validators
            .check_arguments(tool, &run.input, limit)
            .await?;
        corrected = checked.map(|input| ToolRun {
            input,
            ..run.clone()
        });
    }
    let run = corrected.as_ref().unwrap_or(run);
    crash::point("before-tool");
    context.begin()?;
    let change = shared.tool_cache.begin_change(tool, &run.tool.toolbox);
    let ended = toolbox.call(run, context, events).await;
    drop(change);
    crash::point("after-tool");
    if matches!(&ended, Err(error) if error.failure.disposition == Disposition::NotSent) {
        context.begin()?;
    }
    // The check must not exceed the call's deadline, or an outcome that arrives just in time would be lost.
    let left = deadline.saturating_duration_since(Instant::now());
    let limit = left.mul_f64(CHECK_SHARE).min(MAX_LAST_CHECK);
    Ok(check_outcome(shared, tool, ended, limit).await?)
}

/// Resumes a call that continues elsewhere, and validates its outcome.
pub(crate) async fn resume_tool(
    shared: &EngineState,
    toolboxes: &ToolboxSet,
    (origin, tool): (&ToolOrigin, Option<&CatalogEntry>),
    (handle, answer): (&JobHandle, Option<&ElicitationAnswer>),
    context: &CallContext,
    events: &mut dyn ToolEvents,
) -> Result<ToolEnd, RunError> {
    // The call goes on where it runs, and the next owner resumes it.
    context.begin()?;
    let ended = match toolboxes::find_or_fail(toolboxes, &origin.toolbox) {
        Ok(toolbox) => {
            let _change = shared.tool_cache.begin_change(tool, &origin.toolbox);
            toolbox.resume(handle, answer, context, events).await
        }
        // The call was handed over before, so a missing toolbox does not prove that it had no effect.
        Err(failure) => Err(ToolFailure::unknown(failure.kind, failure.message).into()),
    };
    // An outcome that is known is recorded in any case.
    if matches!(&ended, Err(error) if error.failure.disposition != Disposition::Landed) {
        context.begin()?;
    }
    Ok(check_outcome(shared, tool, ended, MAX_LAST_CHECK).await?)
}

/// The end of a call in a turn without a person, who could answer its questions.
pub(super) async fn declined(
    shared: &EngineState,
    toolboxes: &ToolboxSet,
    call: (&ToolOrigin, Option<&CatalogEntry>),
    mut ended: Result<ToolEnd, RunError>,
    context: &CallContext,
    events: &mut dyn ToolEvents,
) -> Result<ToolEnd, RunError> {
    for _ in 0..MAX_DECLINED {
        let Ok(ToolEnd::Asked { handle, .. }) = &ended else {
            break;
        };
        let answer = (handle, Some(&ElicitationAnswer::Declined));
        ended = resume_tool(shared, toolboxes, call, answer, context, events).await;
    }
    ended
}

/// Validates the outcome of a tool. It stays the outcome in any case.
async fn check_outcome(
    shared: &EngineState,
    tool: Option<&CatalogEntry>,
    ended: Result<ToolEnd, ToolError>,
    limit: Duration,
) -> Result<ToolEnd, ToolError> {
    match (tool, ended) {
        (Some(tool), Ok(ToolEnd::Finished(result))) => {
            let checked = shared.validators.check_outcome(tool, result, limit).await;
            Ok(ToolEnd::Finished(checked))
        }
        (_, ended) => ended,
    }
}

/// The maximum time limit of a tool.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The share of a tool's time limit that validating its arguments may take.
const CHECK_SHARE: f64 = 0.8;
/// Upper bound on the time from which the share for a check is taken, regardless of the tool's limit: a good
/// schema takes milliseconds, and a bad one occupies a thread.
const MAX_CHECK: Duration = Duration::from_secs(8);
/// The time limit for validating an outcome.
const MAX_LAST_CHECK: Duration = Duration::from_secs(2);
/// How many questions of a call are declined, before it waits for an answer all the same.
const MAX_DECLINED: usize = 10;

//! Tool search: which tools of a turn are deferred, and the search that finds them.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::find_tools::{self, DEFAULT_FOUND, MAX_FOUND};
use jackfield_domain::ids::ToolName;
use jackfield_domain::policy;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{Catalog, CatalogEntry, Discovery, Permission, ToolChoice};
use jackfield_ports::toolbox::ToolEnd;

use crate::events::RunError;
use crate::options::TurnOptions;
use crate::state::EngineState;

mod rank;
mod words;

/// Defers tools of a turn with these options, and adds the tool that finds them. Those in `revealed`, which earlier
/// turns of the session found, are offered in this order.
pub(crate) fn defer(catalog: &mut Catalog, options: &TurnOptions, revealed: &[ToolName]) {
    let search = &options.tool_search;
    // Of two tools of one name, the model could not say which one it calls.
    if !search.enabled || catalog.tool(find_tools::NAME).is_some() {
        return;
    }
    let is_chosen = |name: &ToolName| match &options.choice {
        ToolChoice::Named(chosen) => chosen == name,
        ToolChoice::Only { tools, .. } => tools.contains(name),
        ToolChoice::Auto | ToolChoice::Forbidden | ToolChoice::Required => false,
    };
    let is_deferred = |tool: &CatalogEntry| {
        let always = &search.always;
        tool.ran_by == RanBy::Engine
            && tool.asked_by.is_none()
            && !is_chosen(&tool.definition.name)
            && !always
                .iter()
                .any(|pattern| policy::matches_tool(pattern, &tool.origin))
    };
    if catalog.iter().filter(|tool| is_deferred(tool)).count() < MIN_DEFERRED {
        return;
    }
    let discovery = |name: &ToolName| {
        let place = revealed.iter().position(|other| other == name);
        let place = place.and_then(|place| u32::try_from(place).ok());
        place.map_or(Discovery::Deferred, Discovery::Revealed)
    };
    let entries = catalog.iter().filter_map(|tool| {
        let mut tool = tool.clone();
        if is_deferred(&tool) {
            // A search must find no tool that could never run.
            if matches!(tool.permission, Permission::Deny(_)) {
                return None;
            }
            tool.discovery = Some(discovery(&tool.definition.name));
        }
        Some(tool)
    });
    *catalog = entries.collect();
    if let Some(search) = find_tools::entry(catalog) {
        *catalog = catalog.iter().cloned().chain([search]).collect();
    }
}

/// Runs a call of `find_tools` in a turn with this catalog.
pub(crate) async fn run(
    shared: &EngineState,
    catalog: Arc<Catalog>,
    tool: &CatalogEntry,
    run: &ToolRun,
) -> Result<ToolEnd, RunError> {
    let validators = &shared.validators;
    validators
        .check_arguments(tool, &run.input, CHECK_LIMIT)
        .await?;
    let arguments = run.arguments();
    let field = |name: &str| arguments.and_then(|fields| fields.get(name));
    let query = field("query").and_then(|query| query.as_str());
    let query = query.unwrap_or_default().to_owned();
    // The schema allows 5.0, too.
    let limit = field("limit").and_then(serde_json::Value::as_f64);
    let limit = limit.map_or(DEFAULT_FOUND, |limit| limit as usize);
    let limit = limit.clamp(1, MAX_FOUND);
    let searching = move || find_tools::outcome(&find(&catalog, &query, limit));
    let outcome = tokio::task::spawn_blocking(searching).await;
    let outcome = outcome
        .map_err(|_| ToolFailure::not_sent(ToolFailureKind::Crashed, "the search crashed"))?;
    Ok(ToolEnd::Finished(outcome))
}

/// The tools of a catalog that a search may find and that fit a query best, the best first.
fn find<'a>(catalog: &'a Catalog, query: &str, limit: usize) -> Vec<&'a CatalogEntry> {
    let tools = catalog.iter().filter(|tool| tool.discovery.is_some());
    let Some(names) = query.trim().strip_prefix(SELECT) else {
        return rank::best(&tools.collect::<Vec<_>>(), query, limit);
    };
    let names = names.split(',').map(str::trim);
    let tools = names.filter_map(|name| catalog.tool(name));
    tools
        .filter(|tool| tool.discovery.is_some())
        .take(MAX_FOUND)
        .collect()
}

/// Below so many tools, none is deferred: the definitions are hardly longer than the search.
const MIN_DEFERRED: usize = 10;
/// The time limit for checking the arguments of a search.
const CHECK_LIMIT: Duration = Duration::from_secs(2);
/// What a query begins with that names tools exactly.
const SELECT: &str = "select:";

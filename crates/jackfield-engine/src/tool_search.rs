//! Tool search: which tools of a turn are deferred, and the search that finds them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::find_tools::{self, DEFAULT_FOUND, MAX_FOUND};
use jackfield_domain::ids::ToolName;
use jackfield_domain::policy;
use jackfield_domain::request::ToolRun;
use jackfield_domain::session::Session;
use jackfield_domain::setup::Opening;
use jackfield_domain::tool::{Catalog, CatalogEntry, Discovery, ToolChoice};
use jackfield_ports::toolbox::ToolEnd;

use crate::events::RunError;
use crate::options::TurnOptions;
use crate::state::EngineState;

mod rank;
mod words;

/// Defers tools of a turn with these options, and adds the tool that finds them. Those that are [`known`] are offered, in
/// their order.
pub(crate) fn defer(
    catalog: &mut Catalog,
    options: &TurnOptions,
    session: &Session,
    opening: &Opening,
) {
    let search = &options.tool_search;
    // A turn needs a round to search, one to call and one to answer.
    let has_rounds = options.tools_after_first_round && options.limits.rounds >= 3;
    // Where the request says which tools there are, there is nothing to find.
    let is_limited = matches!(options.choice, ToolChoice::Only { .. });
    // Of two tools of one name, the model could not say which one it calls.
    let is_taken = catalog.tool(find_tools::NAME).is_some();
    if !search.enabled || !has_rounds || is_limited || is_taken {
        return;
    }
    let is_deferred = |tool: &CatalogEntry| {
        let mut always = search.always.iter();
        tool.ran_by == RanBy::Engine
            && tool.asked_by.is_none()
            && !always.any(|pattern| policy::matches_tool(pattern, &tool.origin))
    };
    if catalog.iter().filter(|tool| is_deferred(tool)).count() < MIN_DEFERRED {
        return;
    }
    let known = known(session, opening);
    let discovery = |name: &ToolName| {
        let is_chosen = options.choice == ToolChoice::Named(name.clone());
        let place = known.iter().position(|other| other == name);
        let place = place.or_else(|| is_chosen.then_some(known.len()));
        let place = place.and_then(|place| u32::try_from(place).ok());
        place.map_or(Discovery::Deferred, Discovery::Revealed)
    };
    let entries = catalog.iter().map(|tool| {
        let mut tool = tool.clone();
        if is_deferred(&tool) {
            tool.discovery = Some(discovery(&tool.definition.name));
        }
        tool
    });
    *catalog = entries.collect();
    if let Some(search) = find_tools::entry(catalog) {
        *catalog = catalog.iter().cloned().chain([search]).collect();
    }
}

/// The tools that a turn need not search for, in their order: those that searches of the session found, then those that
/// its conversation calls, which may come from another session.
fn known(session: &Session, opening: &Opening) -> Vec<ToolName> {
    let mut known = session.revealed().to_vec();
    let before = session.messages();
    let sent = match opening {
        Opening::Transcript(transcript) => transcript.messages(),
        Opening::ClientResults(_) | Opening::UserMessage(_) => &[],
    };
    let calls = before
        .iter()
        .chain(sent)
        .flat_map(|message| message.calls());
    for name in calls.filter_map(|call| ToolName::parse(call.name.as_str()).ok()) {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
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
    let mut named = BTreeSet::new();
    let names = names.take(MAX_FOUND).filter(|name| named.insert(*name));
    let tools = names.filter_map(|name| catalog.tool(name));
    tools.filter(|tool| tool.discovery.is_some()).collect()
}

/// Below so many tools, none is deferred: the definitions are hardly longer than the search.
const MIN_DEFERRED: usize = 10;
/// The time limit for checking the arguments of a search.
const CHECK_LIMIT: Duration = Duration::from_secs(2);
/// What a query begins with that names tools exactly.
const SELECT: &str = "select:";

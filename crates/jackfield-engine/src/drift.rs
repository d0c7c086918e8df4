//! Drift: compares a turn's setup with the effective configuration, and restricts what the turn may still do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::find_tools;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::policy::Policy;
use jackfield_domain::restrictions::{Restriction, Restrictions};
use jackfield_domain::tool::{CatalogEntry, Permission, ToolOrigin};
use jackfield_domain::turn::Turn;
use jackfield_ports::toolbox_source::{
    RegisteredToolbox, ToolboxProblem, ToolboxSet, WHOLE_SOURCE,
};

use crate::catalog::{self, DENIED, ToolOffer, UnknownCallPolicy};
use crate::error::ParkReason;
use crate::state::EngineState;

/// Compares a turn's setup with the effective configuration. Missing toolboxes park the turn; tools that
/// changed or are now denied are restricted.
///
/// `force` means that a person wants the turn to continue without the missing tools.
pub(crate) async fn restrictions(
    shared: &EngineState,
    turn: &Turn,
    toolboxes: &ToolboxSet,
    policy: &Policy,
    force: bool,
) -> Result<Restrictions, ParkReason> {
    let (setup, provider) = (turn.setup(), &turn.model().provider);
    let mut targets = (0..setup.targets()).filter_map(|target| setup.model_of(target));
    // A route goes on with the targets that are there.
    let is_there = if setup.route.is_some() {
        targets.any(|target| shared.models.contains_key(&target.provider))
    } else {
        shared.models.contains_key(provider)
    };
    if !is_there {
        return Err(ParkReason::NoProvider {
            known: shared.models.keys().map(ToString::to_string).collect(),
            name: Arc::clone(provider),
        });
    }
    let tools = || {
        let tools = setup.catalog.iter();
        tools.filter(|tool| {
            tool.ran_by == RanBy::Engine && tool.asked_by.is_none() && !find_tools::is(tool)
        })
    };
    let needed: BTreeSet<&ToolboxId> = tools().map(|tool| &tool.origin.toolbox).collect();
    let available: Vec<RegisteredToolbox> = toolboxes
        .toolboxes
        .iter()
        .filter(|registered| needed.contains(registered.toolbox.id()))
        .cloned()
        .collect();
    let is_available = |id: &ToolboxId| available.iter().any(|here| here.toolbox.id() == id);
    let missing: Vec<&ToolboxId> = needed
        .iter()
        .copied()
        .filter(|id| !is_available(id))
        .collect();
    if let (Some(first), false) = (missing.first(), force) {
        return Err(missing_reason(first, &missing, toolboxes));
    }
    // Approvals stay open even in a non-interactive process, so they are not denied here.
    let policy = Policy {
        can_ask: true,
        rules: policy.rules.clone(),
    };
    let list_tools = || {
        let unknown = UnknownCallPolicy::default();
        catalog::build_offer(
            &available,
            &|_| true,
            &policy,
            unknown,
            &shared.checked_tools,
        )
    };
    let mut offered = list_tools().await;
    if !force && unavailable_toolbox(&needed, &offered).is_some() {
        // A turn that began with these tools waits as long as their server may take to start.
        for registered in &available {
            registered.toolbox.wait_until_listed().await;
        }
        offered = list_tools().await;
        if let Some(down) = unavailable_toolbox(&needed, &offered) {
            return Err(down);
        }
    }
    let current: BTreeMap<&ToolOrigin, &CatalogEntry> = offered
        .catalog
        .iter()
        .map(|tool| (&tool.origin, tool))
        .collect();
    // The tools of a provider itself are as they were; only the policy may have changed.
    let own = setup.catalog.iter().filter(|tool| tool.asked_by.is_some());
    let own = own.filter_map(|tool| {
        let now = policy.permission(&tool.origin, tool.safety, false);
        Some((tool, restricted_by(&tool.permission, &now)?))
    });
    let others = tools()
        .filter_map(|tool| Some((tool, restriction(tool, current.get(&tool.origin).copied())?)));
    let tools = others.chain(own).map(|(tool, why)| {
        let why = match why {
            // The rule and where it is configured are no remote client's business.
            Restriction::Denied(_) if setup.caller.is_some() => Restriction::Denied(DENIED.into()),
            why @ (Restriction::Changed | Restriction::Denied(_) | Restriction::Gone) => why,
        };
        (tool.definition.name.clone(), why)
    });
    let tools: BTreeMap<ToolName, Restriction> = tools.collect();
    Ok(Restrictions { tools })
}

/// Why a turn is parked without these toolboxes. After a problem of one of them, or of a whole source, which may have
/// hidden them, they may be back later.
fn missing_reason(first: &ToolboxId, missing: &[&ToolboxId], toolboxes: &ToolboxSet) -> ParkReason {
    let problems = || toolboxes.problems.iter();
    let down = |problem: &ToolboxProblem, toolbox: &ToolboxId| ParkReason::ToolboxDown {
        message: problem.message.clone(),
        toolbox: toolbox.clone(),
    };
    if let Some(own) = problems().find(|problem| missing.contains(&&problem.toolbox)) {
        return down(own, &own.toolbox);
    }
    match problems().find(|problem| problem.toolbox.as_str() == WHOLE_SOURCE) {
        Some(problem) => down(problem, first),
        None => ParkReason::NoToolboxes {
            missing: missing.iter().map(ToString::to_string).collect(),
        },
    }
}

/// A needed toolbox that lists no tools and reports a problem: its tools are unknown.
fn unavailable_toolbox(needed: &BTreeSet<&ToolboxId>, offered: &ToolOffer) -> Option<ParkReason> {
    let is_silent = |id: &ToolboxId| {
        let mut tools = offered.catalog.iter();
        !tools.any(|tool| tool.origin.toolbox == *id)
    };
    let mut problems = offered.problems.iter().chain(&offered.skipped);
    let problem = problems
        .find(|problem| needed.contains(&problem.toolbox) && is_silent(&problem.toolbox))?;
    Some(ParkReason::ToolboxDown {
        message: problem.message.clone(),
        toolbox: problem.toolbox.clone(),
    })
}

/// Why a tool may not start now, if it may not.
fn restriction(recorded: &CatalogEntry, current: Option<&CatalogEntry>) -> Option<Restriction> {
    let Some(current) = current else {
        return Some(Restriction::Gone);
    };
    // Those of the program itself change with its version, and no server can change them.
    let is_ours = recorded.origin.toolbox.as_str() == BUILTIN;
    if !is_ours && current.digest != recorded.digest {
        return Some(Restriction::Changed);
    }
    restricted_by(&recorded.permission, &current.permission)
}

/// Why a tool may not start now, by its permissions of then and now, if it may not.
fn restricted_by(recorded: &Permission, current: &Permission) -> Option<Restriction> {
    match (recorded, current) {
        (Permission::Deny(_), _)
        | (_, Permission::Allow | Permission::Ask | Permission::Granted { .. }) => None,
        (_, Permission::Deny(why)) => Some(Restriction::Denied(Arc::clone(why))),
    }
}

/// The toolbox of the program's own tools; no server may have its name.
const BUILTIN: &str = "builtin";

//! Drift: compares a turn's setup with the effective configuration, and restricts what the turn may still do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::policy::{Permission, Policy};
use jackfield_domain::restrictions::{Restriction, Restrictions};
use jackfield_domain::setup::Setup;
use jackfield_domain::tool::{CatalogEntry, ToolOrigin};

use crate::catalog::{self, RegisteredToolbox, ToolOffer, UnknownCallPolicy};
use crate::engine::EngineState;
use crate::error::ParkReason;

/// Compares a turn's setup with the effective configuration. Missing toolboxes park the turn; tools that
/// changed or are now denied are restricted.
///
/// `go_on` means that a person wants the turn to continue without the missing tools.
pub(crate) async fn restrictions(
    shared: &EngineState,
    setup: &Setup,
    policy: &Policy,
    go_on: bool,
) -> Result<Restrictions, ParkReason> {
    let provider = &setup.model.provider;
    if !shared.models.contains_key(provider) {
        return Err(ParkReason::NoProvider {
            known: shared.models.keys().map(ToString::to_string).collect(),
            name: Arc::clone(provider),
        });
    }
    let tools = || {
        let tools = setup.catalog.iter();
        tools.filter(|tool| tool.ran_by == RanBy::Engine)
    };
    let wanted: BTreeSet<&ToolboxId> = tools().map(|tool| &tool.origin.toolbox).collect();
    let here: Vec<RegisteredToolbox> = shared
        .toolboxes
        .iter()
        .filter(|registered| wanted.contains(registered.toolbox.id()))
        .cloned()
        .collect();
    let is_here = |id: &ToolboxId| here.iter().any(|here| here.toolbox.id() == id);
    let missing: Vec<String> = wanted
        .iter()
        .filter(|id| !is_here(id))
        .map(ToString::to_string)
        .collect();
    if !missing.is_empty() && !go_on {
        return Err(ParkReason::NoToolboxes { missing });
    }
    // Approvals stay open even in a non-interactive process, so they are not denied here.
    let policy = Policy {
        can_ask: true,
        rules: policy.rules.clone(),
    };
    let gather = || {
        let unknown = UnknownCallPolicy::default();
        catalog::gather(&here, &|_| true, &policy, unknown, &shared.looked)
    };
    let mut offered = gather().await;
    if !go_on && down(&wanted, &offered).is_some() {
        // A turn that began with these tools waits as long as their server may take to start.
        for registered in &here {
            registered.toolbox.settled().await;
        }
        offered = gather().await;
        if let Some(down) = down(&wanted, &offered) {
            return Err(down);
        }
    }
    let today: BTreeMap<&ToolOrigin, &CatalogEntry> = offered
        .catalog
        .iter()
        .map(|tool| (&tool.origin, tool))
        .collect();
    let tools = tools().filter_map(|tool| {
        let why = restriction(tool, today.get(&tool.origin).copied())?;
        Some((tool.definition.name.clone(), why))
    });
    let tools: BTreeMap<ToolName, Restriction> = tools.collect();
    Ok(Restrictions { tools })
}

/// A needed toolbox that lists no tools and reports a problem: its tools are unknown.
fn down(wanted: &BTreeSet<&ToolboxId>, offered: &ToolOffer) -> Option<ParkReason> {
    let is_silent = |id: &ToolboxId| {
        let mut tools = offered.catalog.iter();
        !tools.any(|tool| tool.origin.toolbox == *id)
    };
    let mut problems = offered.problems.iter();
    let problem = problems
        .find(|problem| wanted.contains(&problem.toolbox) && is_silent(&problem.toolbox))?;
    Some(ParkReason::ToolboxDown {
        message: problem.message.clone(),
        toolbox: problem.toolbox.clone(),
    })
}

/// Why a tool may not start now, if it may not.
fn restriction(then: &CatalogEntry, today: Option<&CatalogEntry>) -> Option<Restriction> {
    let Some(today) = today else {
        return Some(Restriction::Gone);
    };
    if today.digest != then.digest {
        return Some(Restriction::Changed);
    }
    match (&then.permission, &today.permission) {
        (Permission::Deny(_), _)
        | (_, Permission::Allow | Permission::Ask | Permission::Granted { .. }) => None,
        (_, Permission::Deny(why)) => Some(Restriction::Denied(Arc::clone(why))),
    }
}

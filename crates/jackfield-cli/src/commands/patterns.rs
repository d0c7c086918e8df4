//! Checks the patterns of `--allow` and `--deny` against the available tools.

use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict};
use jackfield_domain::tool::{Catalog, CatalogEntry, Permission, Safety};
use jackfield_engine::ToolOffer;

use crate::args::ConfigArgs;
use crate::render;

/// Warns of patterns that match no tool: they have no effect, and are usually typing errors.
///
/// Prints nothing if no tools are offered, or if a failed toolbox may have them.
pub(crate) fn warn(setup: &ConfigArgs, offered: &ToolOffer) {
    let is_whole = offered.problems.is_empty() && offered.skipped.is_empty();
    if is_whole && offered.catalog.iter().next().is_some() {
        for warning in idle(setup, &offered.catalog) {
            render::remark(&warning);
        }
    }
}

fn idle(setup: &ConfigArgs, catalog: &Catalog) -> Vec<String> {
    let names: Vec<String> = catalog.iter().map(name).collect();
    let allow = setup.allow.iter().map(|pattern| ("--allow", pattern));
    let deny = setup.deny.iter().map(|pattern| ("--deny", pattern));
    allow
        .chain(deny)
        .filter(|(_, pattern)| !catalog.iter().any(|tool| fits(pattern, tool)))
        .map(|(flag, pattern)| {
            format!(
                "warning: {flag} '{pattern}' fits no tool; there are: {}",
                names.join(", ")
            )
        })
        .collect()
}

fn name(tool: &CatalogEntry) -> String {
    format!("{}/{}", tool.origin.toolbox, tool.origin.tool)
}

/// Whether a policy rule with only this pattern would match the tool.
fn fits(pattern: &str, tool: &CatalogEntry) -> bool {
    let rule = PolicyRule {
        pattern: pattern.into(),
        verdict: RuleVerdict::Allow,
    };
    let policy = Policy {
        can_ask: false,
        rules: vec![rule],
    };
    policy.permission(&tool.origin, Safety::Unknown, false) == Permission::Allow
}

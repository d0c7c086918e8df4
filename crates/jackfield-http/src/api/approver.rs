//! Configures approvals by people through this API. Tools that run without a question where no person is
//! available do so here, too.

use std::sync::Arc;

use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::tool::Permission;
use jackfield_engine::{Engine, TurnOptions};

/// Lets people approve the calls that would be denied without them. The configured rules take precedence.
pub(crate) async fn enable_approvals(engine: &Engine, options: &mut TurnOptions) {
    options.policy.can_ask = false;
    let offered = engine.tools(options).await;
    let allowed = offered
        .catalog
        .iter()
        .filter(|tool| tool.permission == Permission::Allow)
        .map(|tool| format!("{}/{}", tool.origin.toolbox, tool.origin.tool))
        // As a pattern, a name with a star would match other tools, too.
        .filter(|name| !name.contains('*'));
    let rules = allowed.map(|name| PolicyRule {
        pattern: Arc::from(name),
        verdict: RuleVerdict::Allow,
    });
    // The last matching rule decides.
    let mut rules: Vec<PolicyRule> = rules.collect();
    rules.append(&mut options.policy.rules);
    options.policy.rules = rules;
    options.policy.can_ask = true;
}

//! Who is asked before a tool runs: a person, through this API. What would run where nobody can be asked,
//! runs without a question here, too.

use std::sync::Arc;

use jackfield_domain::policy::{Permission, PolicyRule, RuleVerdict};
use jackfield_engine::{Engine, TurnOptions};

/// Has people asked, about what would be denied where there are none. What the configuration says of a tool
/// comes before that.
pub(crate) async fn people(engine: &Engine, options: &mut TurnOptions) {
    options.policy.can_ask = false;
    let offered = engine.tools(options).await;
    let allowed = offered
        .catalog
        .iter()
        .filter(|tool| tool.permission == Permission::Allow)
        .map(|tool| format!("{}/{}", tool.origin.toolbox, tool.origin.tool))
        // It would be a pattern of others, too.
        .filter(|name| !name.contains('*'));
    let rules = allowed.map(|name| PolicyRule {
        pattern: Arc::from(name),
        verdict: RuleVerdict::Allow,
    });
    // The last rule that matches decides.
    let mut rules: Vec<PolicyRule> = rules.collect();
    rules.append(&mut options.policy.rules);
    options.policy.rules = rules;
    options.policy.can_ask = true;
}

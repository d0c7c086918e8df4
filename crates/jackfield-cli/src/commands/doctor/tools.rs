//! Checks MCP servers, and the five common problems with tools.

use std::time::Duration;

use jackfield_assembly::{Assembly, Config, ServerStatus, ServerToolbox};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::policy::matches_tool;
use jackfield_domain::tool::{Catalog, Permission};
use jackfield_engine::ServerTools;
use tokio::time::timeout;

use super::pending::Pending;
use crate::doctor_check::{Area, DoctorCheck, TroubleshootingSection};
use crate::render::words;

/// Tests a server, as `mcp test` does.
pub(super) fn server(
    server: ServerToolbox,
    pending: &Pending,
) -> impl Future<Output = Vec<DoctorCheck>> + Send + use<> {
    let pending = pending.clone();
    async move {
        let id = server.config.id.clone();
        if !server.config.enabled {
            let says = format!("`{id}` is switched off");
            return vec![DoctorCheck::skipped(Area::Servers, says)];
        }
        let waiting = pending.wait(format!("the MCP server `{id}`"));
        let tried = timeout(MAX_TIME, server.test()).await;
        drop(waiting);
        let Ok(tested) = tried else {
            let says = format!(
                "`{id}` neither started nor failed within {} s",
                MAX_TIME.as_secs()
            );
            let help = format!("see what it says: jackfield mcp logs {id}");
            return vec![DoctorCheck::failed(Area::Servers, says, help)];
        };
        let check = match &tested.state {
            ServerStatus::Failed { advice, reason } => {
                let says = format!("`{id}`: {reason}");
                DoctorCheck::failed(Area::Servers, says, advice.clone())
            }
            ServerStatus::Off
            | ServerStatus::Ready { .. }
            | ServerStatus::Starting
            | ServerStatus::Stopped => {
                let tools = words::counted(tested.tools.len() as u64, "tool");
                let says = format!("`{id}` offers {tools}");
                if tested.usable {
                    DoctorCheck::passed(Area::Servers, says)
                } else {
                    let help = format!("see what it says: jackfield mcp test {id}");
                    let says = format!("`{id}` does not list its tools");
                    DoctorCheck::failed(Area::Servers, says, help)
                }
            }
        };
        let mut checks = vec![check.with_duration(tested.duration)];
        checks.extend(tested.problems.iter().map(|problem| {
            let help = format!("see what it says: jackfield mcp logs {id}");
            DoctorCheck::warning(Area::Servers, format!("`{id}`: {problem}"), help)
        }));
        checks
    }
}

/// Checks whether tools reach the model.
pub(super) async fn offered(
    config: &Config,
    assembled: &Assembly,
    servers_failed: bool,
) -> Vec<DoctorCheck> {
    let mut options = assembled.options.clone();
    // As in an interactive run, where a person can be asked.
    options.policy.can_ask = true;
    let provider = &options.model.provider;
    let takes_tools = assembled
        .engine
        .capabilities(provider)
        .is_none_or(|can| can.tools);
    if !takes_tools {
        let says = format!("models of `{provider}` are offered no tools");
        let help = format!("take out `tools = false` under [providers.{provider}]");
        return vec![DoctorCheck::warning(Area::Tools, says, help)];
    }
    if servers_failed {
        let says = "what the model is offered: the servers have to work first";
        return vec![DoctorCheck::skipped(Area::Tools, says)];
    }
    let Ok(offered) = timeout(OFFERED, assembled.engine.tools(&options)).await else {
        let says = format!("the tools could not be had within {} s", OFFERED.as_secs());
        let help = "see which server is slow: jackfield mcp test";
        return vec![DoctorCheck::warning(Area::Tools, says, help)];
    };
    let denied = offered.catalog.iter();
    let denied = denied.filter(|tool| matches!(tool.permission, Permission::Deny(_)));
    let denied: Vec<&str> = denied.map(|tool| tool.definition.name.as_str()).collect();
    let count = offered.catalog.iter().count();
    let tools = words::counted(count as u64, "tool");
    let mut checks = vec![DoctorCheck::passed(
        Area::Tools,
        format!("the model is offered {tools}"),
    )];
    if !denied.is_empty() {
        let names = words::shortened(&denied.join(", "), NAMES);
        let help = "see which rule it is: jackfield tools show NAME";
        let says = format!("denied by the policy: {names}");
        checks.push(DoctorCheck::warning(Area::Tools, says, help));
    }
    let is_whole = offered.problems.is_empty() && offered.skipped.is_empty();
    if is_whole && options.server_tools == ServerTools::All {
        checks.extend(idle_patterns(config, assembled, &offered.catalog));
    }
    checks.extend(
        offered
            .problems
            .iter()
            .chain(&offered.skipped)
            .map(|problem| {
                let help = "see what is left: jackfield tools list";
                DoctorCheck::warning(Area::Tools, words::problem(problem), help)
            }),
    );
    checks
}

/// A warning for each pattern of an assistant or of the policy that fits no tool.
fn idle_patterns(config: &Config, assembled: &Assembly, catalog: &Catalog) -> Vec<DoctorCheck> {
    let assistants = config.assistants.iter().flat_map(|(name, assistant)| {
        let patterns = match &assistant.options.server_tools {
            ServerTools::Only(patterns) => patterns.as_slice(),
            ServerTools::All | ServerTools::None => &[],
        };
        let patterns = patterns.iter();
        patterns.map(move |pattern| (format!("the assistant `{name}`"), pattern))
    });
    let rules = config.options.policy.rules.iter();
    let rules = rules.map(|rule| ("[policy.tools]".to_owned(), &rule.pattern));
    let idle = assistants.chain(rules).filter(|(_, pattern)| {
        let mut tools = catalog.iter();
        !tools.any(|tool| matches_tool(pattern, &tool.origin))
            && !can_fit_later(config, assembled, pattern)
    });
    let checks = idle.map(|(whose, pattern)| {
        let says = format!("{whose}: no tool fits `{pattern}`");
        let help = "correct the pattern, or take it out; the tools are in: jackfield tools list";
        DoctorCheck::warning(Area::Tools, says, help)
    });
    checks.collect()
}

/// Whether a pattern names tools that may come later: of servers that people bring or that are switched off, of a
/// provider, or all built-in ones.
fn can_fit_later(config: &Config, assembled: &Assembly, pattern: &str) -> bool {
    let Some((toolbox, tool)) = pattern.split_once('/') else {
        return false;
    };
    let is_off = config
        .servers
        .iter()
        .any(|(id, server)| id.as_str() == toolbox && !server.enabled);
    is_off
        || toolbox.starts_with(ToolboxId::OF_USERS)
        || toolbox.starts_with(ToolboxId::OF_TEAMS)
        || assembled.providers.contains_key(toolbox)
        || (toolbox, tool) == ("builtin", "*")
}

/// Checks for limits that lead to common complaints.
pub(super) fn limits(config: &Config) -> Vec<DoctorCheck> {
    let limits = &config.options.limits;
    let mut checks = Vec::new();
    let mut warn = |finding: String, help: &str, page| {
        checks.push(DoctorCheck::warning(Area::Tools, finding, help).with_page(page));
    };
    if limits.rounds > MANY_ROUNDS {
        let says = format!("a turn may have {} rounds", limits.rounds);
        warn(
            says,
            "lower `limits.rounds`, or set a [budget]",
            TroubleshootingSection::Loops,
        );
    }
    if limits.repeats > MANY_REPEATS {
        let says = format!("a call may have the same outcome {} times", limits.repeats);
        warn(
            says,
            "lower `limits.repeats`",
            TroubleshootingSection::Loops,
        );
    }
    if limits.shown < LITTLE {
        let says = format!("a model sees {} bytes of an outcome", limits.shown);
        warn(
            says,
            "raise `limits.shown`",
            TroubleshootingSection::Results,
        );
    }
    if limits.parallel_calls == 1 {
        let says = "calls run one after another".to_owned();
        warn(
            says,
            "raise `limits.parallel_calls`",
            TroubleshootingSection::CallsOneAfterAnother,
        );
    }
    if config.options.settings.parallel_calls == Some(false) {
        let says = "models are told to make one call at a time".to_owned();
        let help = "take out `parallel_calls = false` under [settings]";
        warn(says, help, TroubleshootingSection::CallsOneAfterAnother);
    }
    if checks.is_empty() {
        checks.push(DoctorCheck::passed(
            Area::Tools,
            "the limits of a turn are sensible",
        ));
    }
    checks
}

/// No server may take longer than two minutes to start, plus a little to list its tools.
const MAX_TIME: Duration = Duration::from_secs(150);
/// The time limit of a second listing by servers that have just listed their tools.
const OFFERED: Duration = Duration::from_secs(15);
/// The maximum length of a list of names, in characters.
const NAMES: usize = 200;
/// More rounds than a reasonable turn has.
const MANY_ROUNDS: u32 = 100;
/// More repetitions than ever help.
const MANY_REPEATS: u32 = 20;
/// Fewer bytes than most results have.
const LITTLE: usize = 1024;

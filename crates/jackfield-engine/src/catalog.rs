//! The catalog of a turn: the tools of all toolboxes under their model-facing names, with the policy applied.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackfield_domain::approval::Grants;
use jackfield_domain::block::RanBy;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::naming::{prefixed_tool_name, tool_name};
use jackfield_domain::own_tool;
use jackfield_domain::policy::{Policy, UnknownRule};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart};
use jackfield_domain::text::hidden;
use jackfield_domain::tool::{
    Catalog, CatalogEntry, InputFormat, Permission, ToolDefinition, ToolOrigin, ToolSpec,
    UnknownPolicy,
};
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxProblem};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::options::TurnOptions;
use crate::validate::{self, schema::limit_violation};

/// The tools that a turn offers to its model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOffer {
    /// The tools.
    pub catalog: Catalog,
    /// The toolboxes' instructions for their tools.
    pub instructions: Vec<SystemPart>,
    /// The toolboxes whose tools are unavailable. The other toolboxes are offered all the same.
    pub problems: Vec<ToolboxProblem>,
    /// The tools that are left out for a reason that only their toolbox can remove. Turns do not report them.
    pub skipped: Vec<ToolboxProblem>,
}

impl ToolOffer {
    /// Removes the server tools that policy denies, and the instructions of toolboxes that have no tool left.
    pub(crate) fn remove_denied(&mut self) {
        let is_denied = |tool: &CatalogEntry| {
            tool.ran_by == RanBy::Engine
                && tool.asked_by.is_none()
                && matches!(tool.permission, Permission::Deny(_))
        };
        if !self.catalog.iter().any(is_denied) {
            return;
        }
        let kept = self.catalog.iter().filter(|tool| !is_denied(tool));
        self.catalog = kept.cloned().collect();
        let catalog = &self.catalog;
        self.instructions.retain(|part| match &part.origin {
            PartOrigin::Server(toolbox) => {
                let mut tools = catalog.iter();
                tools.any(|tool| tool.origin.toolbox.as_str() == &**toolbox)
            }
            PartOrigin::Configuration
            | PartOrigin::Default
            | PartOrigin::Flag
            | PartOrigin::Retrieved(_)
            | PartOrigin::Session => true,
        });
    }
}

/// The results of the last checks, by toolbox.
pub(crate) type CheckedTools = Mutex<ToolsByToolbox>;

type ToolsByToolbox = BTreeMap<ToolboxId, Arc<HashMap<Arc<str>, CatalogTool>>>;

/// A tool with the result of its check.
pub(crate) struct CatalogTool {
    check: ToolCheck,
    tool: ToolSpec,
}

/// The check of a tool definition; it does not depend on the turn.
#[derive(Clone)]
struct ToolCheck {
    digest: Digest,
    /// The repaired input schema, if the tool's own is broken and could be repaired.
    repaired: Option<Arc<Value>>,
    /// Why the tool is left out, if it is.
    unusable: Option<Arc<str>>,
}

impl ToolCheck {
    fn run(tool: &ToolSpec, until: Instant) -> Self {
        let (repaired, unusable) = match repair_input_schema(tool, until) {
            Ok(repaired) => (repaired.map(Arc::new), None),
            Err(why) => (None, Some(why.into())),
        };
        Self {
            digest: tool.digest(),
            repaired,
            unusable,
        }
    }
}

/// Checks tools on a blocking thread. Tools that share their schemas with those of the last check (the same
/// allocation, not only equal) keep its result: parsing all schemas takes longer than the rest.
async fn check_tools(
    cache: Option<&CheckedTools>,
    toolbox: &ToolboxId,
    tools: &[ToolSpec],
) -> Vec<ToolCheck> {
    let before = cache.and_then(|cache| lock(cache).get(toolbox).cloned());
    let before = before.unwrap_or_default();
    let same = |tool: &ToolSpec| {
        before
            .get(&tool.name)
            .filter(|known| is_same(&known.tool, tool))
    };
    let known = tools
        .iter()
        .map(|tool| same(tool).map(|known| known.check.clone()));
    let checks: Vec<Option<ToolCheck>> = known.collect();
    if before.len() == tools.len()
        && let Some(looks) = checks.iter().cloned().collect()
    {
        return looks;
    }
    let own = tools.to_vec();
    let until = Instant::now() + LOOK_LIMIT;
    let run_checks = move || {
        let looks = own.iter().zip(checks);
        let looks = looks.map(|(tool, look)| look.unwrap_or_else(|| ToolCheck::run(tool, until)));
        looks.collect::<Vec<_>>()
    };
    let Ok(checks) = tokio::task::spawn_blocking(run_checks).await else {
        // If the check panics, the checks of single calls report the problem.
        let digests = tools.iter().map(|tool| ToolCheck {
            digest: tool.digest(),
            repaired: None,
            unusable: None,
        });
        return digests.collect();
    };
    let known = tools.iter().cloned().zip(checks.iter().cloned());
    let known =
        known.map(|(tool, look)| (Arc::clone(&tool.name), CatalogTool { check: look, tool }));
    let known = Arc::new(known.collect());
    if let Some(cache) = cache {
        lock(cache).insert(toolbox.clone(), known);
    }
    checks
}

fn lock(cache: &CheckedTools) -> MutexGuard<'_, ToolsByToolbox> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether two tools are equal, comparing shared schemas by pointer only.
fn is_same(one: &ToolSpec, other: &ToolSpec) -> bool {
    let share = |one: Option<&Arc<Value>>, other: Option<&Arc<Value>>| match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, Some(_)) | (Some(_), None) => false,
    };
    let inputs = match (&one.input, &other.input) {
        (InputFormat::Json(one), InputFormat::Json(other)) => Arc::ptr_eq(one, other),
        (InputFormat::Text(one), InputFormat::Text(other)) => one == other,
        (InputFormat::Json(_), InputFormat::Text(_))
        | (InputFormat::Text(_), InputFormat::Json(_)) => false,
    };
    inputs
        && share(one.output.as_ref(), other.output.as_ref())
        && one.description == other.description
        && one.name == other.name
        && one.safety == other.safety
        && one.title == other.title
}

/// What to do with calls whose outcome is unknown after a failure or a crash.
#[derive(Clone, Copy, Default)]
pub(crate) struct UnknownCallPolicy<'a> {
    /// The policy where no rule matches.
    pub(crate) otherwise: UnknownPolicy,
    pub(crate) rules: &'a [UnknownRule],
}

/// Lists the tools of all toolboxes concurrently, and builds the catalog of those that are offered.
pub(crate) async fn build_offer(
    toolboxes: &[RegisteredToolbox],
    is_offered: &(dyn Fn(&ToolOrigin) -> bool + Sync),
    policy: &Policy,
    unknown: UnknownCallPolicy<'_>,
    cache: &CheckedTools,
) -> ToolOffer {
    let mut lists = JoinSet::new();
    for (place, registered) in toolboxes.iter().cloned().enumerate() {
        lists.spawn(async move {
            let listed = tokio::time::timeout(LIST_LIMIT, registered.toolbox.list()).await;
            let tools = match listed {
                Ok(Ok(tools)) => Ok(tools),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!(
                    "no list of tools within {} s",
                    LIST_LIMIT.as_secs()
                )),
            };
            (place, tools)
        });
    }
    let crashed = || Err("it crashed while it listed its tools".to_owned());
    let mut listed: Vec<Result<Vec<ToolSpec>, String>> = Vec::new();
    listed.resize_with(toolboxes.len(), crashed);
    while let Some(joined) = lists.join_next().await {
        if let Ok((place, tools)) = joined
            && let Some(slot) = listed.get_mut(place)
        {
            *slot = tools;
        }
    }
    let mut entries: BTreeMap<ToolName, CatalogEntry> = BTreeMap::new();
    let (mut instructions, mut problems, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for (registered, tools) in toolboxes.iter().zip(listed) {
        let toolbox = registered.toolbox.id();
        let of_toolbox = |message| ToolboxProblem {
            message,
            toolbox: toolbox.clone(),
        };
        let mut problem = |message| problems.push(of_toolbox(message));
        let mut skip = |message| skipped.push(of_toolbox(message));
        let tools = match tools {
            Ok(tools) => tools,
            Err(message) => {
                problem(message);
                continue;
            }
        };
        let all = tools.len();
        // The own servers of many people have few ids: what is known of one person's is of no use for another.
        let cache = registered.status.server.is_none().then_some(cache);
        let checks = check_tools(cache, toolbox, &tools).await;
        let mut tools: Vec<(ToolSpec, ToolCheck)> = tools.into_iter().zip(checks).collect();
        tools.retain(|(tool, _)| {
            is_offered(&ToolOrigin {
                tool: Arc::clone(&tool.name),
                toolbox: toolbox.clone(),
            })
        });
        // Problems of a toolbox that offers nothing to this turn are not reported.
        if tools.is_empty() && all > 0 {
            continue;
        }
        registered
            .toolbox
            .problems()
            .into_iter()
            .for_each(&mut problem);
        registered
            .toolbox
            .skipped_tools()
            .into_iter()
            .for_each(&mut skip);
        let text = registered.toolbox.instructions();
        if let Some(text) = text.filter(|said| !tools.is_empty() && !said.trim().is_empty()) {
            instructions.push(instructions_part(toolbox, text.trim()));
        }
        for (mut tool, check) in tools {
            if let Some(why) = check.unusable {
                skip(why.to_string());
                continue;
            }
            if let Some(repaired) = check.repaired {
                tool.input = InputFormat::Json(repaired);
            }
            let entry = entry(toolbox, registered, (tool, check.digest), policy, unknown);
            // The first tool keeps the name: a call must not reach another tool than the one that the model
            // saw.
            match entries.entry(entry.definition.name.clone()) {
                Entry::Occupied(first) => problem(format!(
                    "skipped tool `{}`: the name `{}` is taken by a tool of `{}`",
                    entry.origin.tool,
                    first.key(),
                    first.get().origin.toolbox,
                )),
                Entry::Vacant(free) => {
                    free.insert(entry);
                }
            }
        }
    }
    ToolOffer {
        catalog: entries.into_values().collect(),
        instructions,
        problems,
        skipped,
    }
}

/// In a non-interactive turn, changes the permission of tools from deny to ask if the session has a grant for
/// them and the missing approval is the only reason for the denial: the grant then answers the approval.
pub(crate) fn apply_session_grants(catalog: &mut Catalog, grants: &Grants, policy: &Policy) {
    if grants.iter().len() == 0 {
        return;
    }
    let policy = Policy {
        can_ask: true,
        rules: policy.rules.clone(),
    };
    let is_granted = |tool: &CatalogEntry| {
        matches!(tool.permission, Permission::Deny(_))
            && tool.ran_by == RanBy::Engine
            && grants.find(tool).is_some()
            // `trusted` is irrelevant here, because it only matters in non-interactive turns.
            && policy.permission(&tool.origin, tool.safety, false) == Permission::Ask
    };
    if !catalog.iter().any(is_granted) {
        return;
    }
    let entries = catalog.iter().map(|tool| {
        let mut updated = tool.clone();
        if is_granted(tool) {
            updated.permission = Permission::Ask;
        }
        updated
    });
    *catalog = entries.collect();
}

/// Why no call of a tool could ever be validated, in a sentence that names the tool; `None` if its schemas are
/// usable. Such a tool is not offered.
#[must_use]
pub fn unusable_reason(tool: &ToolSpec) -> Option<String> {
    repair_input_schema(tool, Instant::now() + LOOK_LIMIT).err()
}

/// Whether the input schema of a tool is broken, and offered in a repaired form.
#[must_use]
pub fn is_schema_repaired(tool: &ToolSpec) -> bool {
    repair_input_schema(tool, Instant::now() + LOOK_LIMIT).is_ok_and(|repaired| repaired.is_some())
}

/// The repaired input schema, if the tool's own is broken and could be repaired.
///
/// # Errors
///
/// Why the tool is left out. This applies to tools of every toolbox: each turn records its schemas, and each
/// call is validated against them.
fn repair_input_schema(tool: &ToolSpec, until: Instant) -> Result<Option<Value>, String> {
    let skip_message = |what: &str, why: String| {
        let short_name: String = tool.name.chars().take(80).collect();
        format!("skipped tool `{short_name}`: its {what} schema {why}")
    };
    let output = tool
        .output
        .as_ref()
        .and_then(|schema| limit_violation(schema));
    let InputFormat::Json(schema) = &tool.input else {
        return output.map_or(Ok(None), |why| Err(skip_message("output", why)));
    };
    if let Some(why) = limit_violation(schema) {
        return Err(skip_message("input", why));
    }
    if let Some(why) = output {
        return Err(skip_message("output", why));
    }
    validate::usable::repair(schema, until).map_err(|why| skip_message("input", why))
}

/// A server's instructions, marked as the server's words, without tag letters.
fn instructions_part(toolbox: &ToolboxId, text: &str) -> SystemPart {
    let mended = hidden::without_tags(text);
    let text = mended.as_deref().unwrap_or(text);
    let end = text.floor_char_boundary(INSTRUCTIONS);
    let (text, rest) = text.split_at(end);
    let cut = if rest.is_empty() { "" } else { " […]" };
    SystemPart {
        origin: PartOrigin::Server(toolbox.as_str().into()),
        text: format!("What the tool server `{toolbox}` says about its tools:\n{text}{cut}").into(),
    }
}

fn entry(
    toolbox: &ToolboxId,
    registered: &RegisteredToolbox,
    (tool, digest): (ToolSpec, Digest),
    policy: &Policy,
    unknown: UnknownCallPolicy<'_>,
) -> CatalogEntry {
    let origin = ToolOrigin {
        tool: Arc::clone(&tool.name),
        toolbox: toolbox.clone(),
    };
    let status = &registered.status;
    let name = match &status.prefix {
        Some(prefix) => prefixed_tool_name(prefix, toolbox, &tool.name),
        None => tool_name(toolbox, &tool.name),
    };
    let when_unknown = UnknownRule::resolve(unknown.rules, &origin).unwrap_or(unknown.otherwise);
    CatalogEntry {
        asked_by: None,
        definition: Arc::new(ToolDefinition {
            description: tool.description,
            extensions: Vec::new(),
            input: tool.input,
            name,
            output: tool.output,
            strict: None,
        }),
        digest: match status.server {
            // What was approved or begun with one server is not done with another.
            Some(server) => Digest::of_parts([&*digest.to_hex(), &*server.to_hex()]),
            None => digest,
        },
        discovery: None,
        icon: tool.icon,
        permission: policy.permission(&origin, tool.safety, status.trusted),
        origin,
        ran_by: RanBy::Engine,
        safety: tool.safety,
        time_limit: tool.time_limit,
        title: tool.title,
        when_unknown,
    }
}

/// The entry of a tool that a provider runs itself; `None` if it has no name for rules.
pub(crate) fn own_tool(
    provider: &Arc<str>,
    tool: ToolSpec,
    options: &TurnOptions,
) -> Option<CatalogEntry> {
    let origin = own_tool::origin(provider, &tool.name)?;
    let mut permission = options.policy.permission(&origin, tool.safety, false);
    let is_remote = options.caller.is_some();
    // The rule and where it is configured are no remote client's business.
    if !options.askable.offers(&origin) || (is_remote && matches!(permission, Permission::Deny(_)))
    {
        permission = Permission::Deny(DENIED.into());
    }
    Some(CatalogEntry {
        asked_by: Some(Arc::clone(provider)),
        digest: tool.digest(),
        discovery: None,
        definition: Arc::new(ToolDefinition {
            description: tool.description,
            extensions: Vec::new(),
            input: tool.input,
            name: own_tool::name(&origin),
            output: None,
            strict: None,
        }),
        icon: tool.icon,
        origin,
        permission,
        ran_by: RanBy::Engine,
        safety: tool.safety,
        time_limit: tool.time_limit,
        title: tool.title,
        when_unknown: UnknownPolicy::Report,
    })
}

/// Why a call is denied, for the model of a remote client.
pub(crate) const DENIED: &str = "the policy does not allow it";
/// The maximum length of a server's instructions in the prompt, in bytes.
const INSTRUCTIONS: usize = 8 << 10;
/// The time limit for checking all new schemas of one toolbox.
const LOOK_LIMIT: Duration = Duration::from_secs(2);
/// The time limit for listing the tools of a toolbox. Toolboxes that start a process have shorter limits of
/// their own.
const LIST_LIMIT: Duration = Duration::from_secs(150);

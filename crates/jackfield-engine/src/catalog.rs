//! The catalog of a turn: what all toolboxes offer, under model-facing names, with policy applied.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_domain::approval::Grants;
use jackfield_domain::block::RanBy;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::naming::{bare_tool_name, prefixed_tool_name, tool_name};
use jackfield_domain::policy::{Permission, Policy, UnknownRule};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart};
use jackfield_domain::tool::{
    Catalog, CatalogEntry, InputFormat, ToolDefinition, ToolOrigin, ToolSpec, UnknownPolicy,
};
use jackfield_ports::toolbox::Toolbox;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::validate::{self, schema::refused};

/// A toolbox of the engine.
#[derive(Clone)]
pub(crate) struct RegisteredToolbox {
    /// Whether it is ours: bare names, trusted.
    pub(crate) builtin: bool,
    pub(crate) standing: ToolboxStatus,
    pub(crate) toolbox: Arc<dyn Toolbox>,
}

/// How a toolbox stands among the others.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolboxStatus {
    /// What its tools' names begin with in place of its id; may be empty.
    pub prefix: Option<Arc<str>>,
    /// Whether its tools that change nothing run where nobody can be asked.
    pub trusted: bool,
}

/// The tools that a turn is offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOffer {
    /// The tools.
    pub catalog: Catalog,
    /// What the toolboxes of these tools say about how to use them.
    pub instructions: Vec<SystemPart>,
    /// The toolboxes whose tools could not be had. They do not stop the others.
    pub problems: Vec<ToolboxProblem>,
}

/// A toolbox whose tools, or one of them, could not be had.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolboxProblem {
    /// What went wrong, in a sentence.
    pub message: String,
    /// The toolbox.
    pub toolbox: ToolboxId,
}

/// What was worked out of the tools of each toolbox when they were gathered last.
pub(crate) type CheckedTools = Mutex<BTreeMap<ToolboxId, Arc<HashMap<Arc<str>, CatalogTool>>>>;

/// A tool, and what was worked out of it.
pub(crate) struct CatalogTool {
    look: ToolCheck,
    tool: ToolSpec,
}

/// What is worked out of a tool alone, whatever turn it is for.
#[derive(Clone)]
struct ToolCheck {
    digest: Digest,
    /// What it takes, where its own schema was broken and could be mended.
    mended: Option<Arc<Value>>,
    /// Why it is left out.
    unusable: Option<Arc<str>>,
}

impl ToolCheck {
    fn at(tool: &ToolSpec, until: Instant) -> Self {
        let (mended, unusable) = match usable(tool, until) {
            Ok(mended) => (mended.map(Arc::new), None),
            Err(why) => (None, Some(why.into())),
        };
        Self {
            digest: tool.digest(),
            mended,
            unusable,
        }
    }
}

/// Looks at tools, on a thread that may be held up. Those that are the very ones of the last time, and not only
/// equal to them, are not looked at again: to read all their schemas takes longer than all the rest.
async fn look(looked: &CheckedTools, toolbox: &ToolboxId, tools: &[ToolSpec]) -> Vec<ToolCheck> {
    let locked = || looked.lock().unwrap_or_else(PoisonError::into_inner);
    let before = locked().get(toolbox).cloned().unwrap_or_default();
    let same = |tool: &ToolSpec| {
        before
            .get(&tool.name)
            .filter(|known| is_same(&known.tool, tool))
    };
    let known = tools
        .iter()
        .map(|tool| same(tool).map(|known| known.look.clone()));
    let looks: Vec<Option<ToolCheck>> = known.collect();
    if before.len() == tools.len()
        && let Some(looks) = looks.iter().cloned().collect()
    {
        return looks;
    }
    let own = tools.to_vec();
    let until = Instant::now() + LOOK_LIMIT;
    let look = move || {
        let looks = own.iter().zip(looks);
        let looks = looks.map(|(tool, look)| look.unwrap_or_else(|| ToolCheck::at(tool, until)));
        looks.collect::<Vec<_>>()
    };
    let Ok(looks) = tokio::task::spawn_blocking(look).await else {
        // Whatever crashed there crashes the checks of calls, too, which are told one by one.
        let digests = tools.iter().map(|tool| ToolCheck {
            digest: tool.digest(),
            mended: None,
            unusable: None,
        });
        return digests.collect();
    };
    let known = tools.iter().cloned().zip(looks.iter().cloned());
    let known = known.map(|(tool, look)| (Arc::clone(&tool.name), CatalogTool { look, tool }));
    let known = Arc::new(known.collect());
    locked().insert(toolbox.clone(), known);
    looks
}

/// Whether two tools are the same without a look into what they share.
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

/// What to do about calls of which nobody knows whether they took effect.
#[derive(Clone, Copy, Default)]
pub(crate) struct UnknownCallPolicy<'a> {
    /// Where no rule matches.
    pub(crate) otherwise: UnknownPolicy,
    pub(crate) rules: &'a [UnknownRule],
}

/// Asks all toolboxes at once for their tools, and takes those that are to be offered.
pub(crate) async fn gather(
    toolboxes: &[RegisteredToolbox],
    is_offered: &(dyn Fn(&ToolOrigin) -> bool + Sync),
    policy: &Policy,
    unknown: UnknownCallPolicy<'_>,
    looked: &CheckedTools,
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
    let (mut instructions, mut problems) = (Vec::new(), Vec::new());
    for (registered, tools) in toolboxes.iter().zip(listed) {
        let toolbox = registered.toolbox.id();
        let mut problem = |message| {
            problems.push(ToolboxProblem {
                message,
                toolbox: toolbox.clone(),
            });
        };
        let tools = match tools {
            Ok(tools) => tools,
            Err(message) => {
                problem(message);
                continue;
            }
        };
        let all = tools.len();
        let looks = look(looked, toolbox, &tools).await;
        let mut tools: Vec<(ToolSpec, ToolCheck)> = tools.into_iter().zip(looks).collect();
        tools.retain(|(tool, _)| {
            is_offered(&ToolOrigin {
                tool: Arc::clone(&tool.name),
                toolbox: toolbox.clone(),
            })
        });
        // What nobody is offered is nobody's problem.
        if tools.is_empty() && all > 0 {
            continue;
        }
        registered
            .toolbox
            .problems()
            .into_iter()
            .for_each(&mut problem);
        let said = registered.toolbox.instructions();
        if let Some(said) = said.filter(|said| !tools.is_empty() && !said.trim().is_empty()) {
            instructions.push(part(toolbox, said.trim()));
        }
        for (mut tool, look) in tools {
            if let Some(why) = look.unusable {
                problem(why.to_string());
                continue;
            }
            if let Some(mended) = look.mended {
                tool.input = InputFormat::Json(mended);
            }
            let entry = entry(toolbox, registered, (tool, look.digest), policy, unknown);
            // The first one keeps the name: a call must not reach another tool than the one shown.
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
    }
}

/// Has those tools asked about that are denied for no other reason than that nobody can be asked, and that
/// somebody allowed for the whole session: the question has its answer, and nobody has to be there for it.
pub(crate) fn answered_before(catalog: &mut Catalog, grants: &Grants, policy: &Policy) {
    if grants.iter().len() == 0 {
        return;
    }
    let policy = Policy {
        can_ask: true,
        rules: policy.rules.clone(),
    };
    let answered = |tool: &CatalogEntry| {
        matches!(tool.permission, Permission::Deny(_))
            && tool.ran_by == RanBy::Engine
            && grants.of(tool).is_some()
            // Where somebody can be asked, whether a server is trusted makes no difference.
            && policy.permission(&tool.origin, tool.safety, false) == Permission::Ask
    };
    if !catalog.iter().any(answered) {
        return;
    }
    let asked = catalog.iter().map(|tool| {
        let mut asked = tool.clone();
        if answered(tool) {
            asked.permission = Permission::Ask;
        }
        asked
    });
    *catalog = asked.collect();
}

/// Why no call of a tool could ever be checked, in a sentence that names it; it is not offered then.
#[must_use]
pub fn unusable(tool: &ToolSpec) -> Option<String> {
    usable(tool, Instant::now() + LOOK_LIMIT).err()
}

/// The schema to check calls against, where the tool's own is broken and can be mended.
///
/// # Errors
///
/// Why a tool is left out, whatever toolbox it is of: each turn takes its schemas along, and each call is
/// checked against them.
fn usable(tool: &ToolSpec, until: Instant) -> Result<Option<Value>, String> {
    let left_out = |what: &str, why: String| {
        let shown: String = tool.name.chars().take(80).collect();
        format!("skipped tool `{shown}`: its {what} schema {why}")
    };
    let output = tool.output.as_ref().and_then(|schema| refused(schema));
    let InputFormat::Json(schema) = &tool.input else {
        return output.map_or(Ok(None), |why| Err(left_out("output", why)));
    };
    if let Some(why) = refused(schema) {
        return Err(left_out("input", why));
    }
    if let Some(why) = output {
        return Err(left_out("output", why));
    }
    validate::usable::usable(schema, until).map_err(|why| left_out("input", why))
}

/// A server's own words, told apart from ours.
fn part(toolbox: &ToolboxId, said: &str) -> SystemPart {
    let end = said.floor_char_boundary(INSTRUCTIONS);
    let (said, rest) = said.split_at(end);
    let cut = if rest.is_empty() { "" } else { " […]" };
    SystemPart {
        origin: PartOrigin::Server(toolbox.as_str().into()),
        text: format!("What the tool server `{toolbox}` says about its tools:\n{said}{cut}").into(),
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
    let standing = &registered.standing;
    let name = match &standing.prefix {
        _ if registered.builtin => bare_tool_name(&tool.name),
        Some(prefix) => prefixed_tool_name(prefix, toolbox, &tool.name),
        None => tool_name(toolbox, &tool.name),
    };
    let trusted = registered.builtin || standing.trusted;
    let when_unknown = UnknownRule::of(unknown.rules, &origin).unwrap_or(unknown.otherwise);
    CatalogEntry {
        definition: Arc::new(ToolDefinition {
            description: tool.description,
            extensions: Vec::new(),
            input: tool.input,
            name,
            output: tool.output,
            strict: None,
        }),
        digest,
        icon: tool.icon,
        permission: policy.permission(&origin, tool.safety, trusted),
        origin,
        ran_by: RanBy::Engine,
        safety: tool.safety,
        time_limit: tool.time_limit,
        title: tool.title,
        when_unknown,
    }
}

/// How many bytes of a server's own words models are told.
const INSTRUCTIONS: usize = 8 << 10;
/// How long the schemas of a toolbox's new tools are looked at, all together.
const LOOK_LIMIT: Duration = Duration::from_secs(2);
/// How long a toolbox has to list its tools; those that start something have limits of their own.
const LIST_LIMIT: Duration = Duration::from_secs(150);

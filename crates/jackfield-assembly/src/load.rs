//! Loads the configuration: the user's file, the project's, the environment, the flags. Later sources override
//! earlier ones.

use std::io::{self, ErrorKind::NotADirectory, ErrorKind::NotFound};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_domain::note::NoteEffect;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::price::Money;
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_engine::{ServerTools, TurnOptions};

use serde_json::Value;

use crate::assistants::DEFAULT_ASSISTANT;
use crate::bounded_file::read_at_most;
use crate::config::{Config, system_prompt};
use crate::database::{has_password, is_address};
use crate::document::quoted;
use crate::file::{self, Draft, Trust};
use crate::journal::JournalKind;
use crate::key_source::KeySource;
use crate::place::{ConfigError, ConfigProblem, Origin, ValueSource};
use crate::preferred::use_model_with_key;
use crate::prices::PricesFile;
use crate::servers::ServersFile;
use crate::surroundings::{Surroundings, read_small};

/// The flags of this run. They override everything else.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// Patterns of allowed tools.
    pub allow: Vec<String>,
    /// The only file to read.
    pub config: Option<PathBuf>,
    /// The maximum cost of a turn, in the currency of the prices.
    pub cost: Option<Money>,
    /// The journal's file.
    pub db: Option<PathBuf>,
    /// Patterns of denied tools; they override the allowed ones.
    pub deny: Vec<String>,
    /// The only file of MCP servers to read.
    pub mcp_config: Option<PathBuf>,
    /// The model: an alias, or `provider/model`, or an assistant if the turns of this run can be of one.
    pub model: Option<String>,
    /// Whether the turns of this run can be of an assistant: the one that `model` names, or else the default one,
    /// if it is configured and no model is named for this run.
    pub takes_assistant: bool,
    /// The maximum number of rounds of a turn.
    pub rounds: Option<u32>,
    /// The strictness of the turn, if given; `Some(None)` overrides files with none.
    pub strict: Option<Option<NoteEffect>>,
    /// The system prompt, which replaces any other.
    pub system: Option<String>,
    /// Whether tools are offered at all.
    pub tools: Option<bool>,
    /// Whether files of MCP servers are not read, which also disables a server as approver. For commands without
    /// tools.
    pub without_servers: bool,
}

/// Loads all sources, and reports all problems at once.
///
/// # Errors
///
/// [`ConfigError`], with file, line and key of each problem.
pub fn load(surroundings: &Surroundings, flags: &Flags) -> Result<Config, ConfigError> {
    let mut draft = Draft {
        without_servers: flags.without_servers,
        ..Draft::default()
    };
    files(&mut draft, surroundings, flags)?;
    if let Some(path) = &flags.mcp_config {
        draft.config.servers.clear();
        draft.config.remarks.clear();
        let path = surroundings.directory.join(path);
        servers(&mut draft, surroundings, &path)?;
    }
    environment(&mut draft, surroundings);
    if let Some(path) = &flags.db {
        let file = surroundings.directory.join(path);
        name_journal(&mut draft, path.to_str(), file, Origin::Flag("--db"));
    }
    let configured_model = draft.model.clone();
    apply(&mut draft, flags);
    if flags.without_servers {
        draft.config.approvals.tool = None;
        draft.config.remarks.clear();
    }
    let Draft {
        aliases,
        assistant_files,
        mut config,
        model,
        mut problems,
        ..
    } = draft;
    let assistants = file::assistants(&assistant_files, &config);
    config.assistants = assistants.by_name;
    problems.extend(config.resolve_routes());
    let assistant = chosen_assistant(&config, flags, &model);
    // An assistant that a flag names has the configured model, unless it has one of its own.
    let is_named = flags.model.is_some() && assistant.is_some();
    let model = if is_named { configured_model } else { model };
    match model.filter(|(name, _)| assistant.as_ref() != Some(name)) {
        Some((name, place)) => match config.named_model(&name, &place) {
            Ok((model, route)) => {
                (config.options.model, config.model_place) = (model, place);
                config.options.route = route;
            }
            Err(problem) => problems.push(problem),
        },
        None => use_model_with_key(&mut config, surroundings),
    }
    for (alias, place) in aliases {
        let known = config
            .aliases
            .get(&alias)
            .map(|model| config.provider(model, &place));
        problems.extend(known.and_then(Result::err));
    }
    problems.extend(config.resolve_assistants(&assistants.models));
    problems.extend(config.check_currency());
    ConfigError::check(problems)?;
    if let Some(name) = assistant {
        use_assistant(&mut config, flags, &name);
    }
    config.journal.database.resolve(&surroundings.environment);
    let location = surroundings.environment.get("GOOGLE_CLOUD_LOCATION");
    let location = location.and_then(Result::ok);
    config.google_location = location.filter(|location| !location.trim().is_empty());
    let idle = config.unused_prices();
    config.remarks.extend(idle);
    let own = named_file(surroundings, flags)?.or_else(|| surroundings.user_file());
    if let Some(file) = own.map(|own| PricesFile::beside(&own))
        && let Some(catalogue) = file.read()?
    {
        config.imported_prices = Some((Arc::new(catalogue), file.path().into()));
    }
    let cache = surroundings.cache_directory.as_ref();
    config.cache = cache.map(|cache| cache.join("jackfield"));
    let data = surroundings.data_directory.as_ref();
    config.data = data.map(|data| data.join("jackfield"));
    Ok(config)
}

/// The assistant that the turns of this run are of, if they are of one.
fn chosen_assistant(
    config: &Config,
    flags: &Flags,
    model: &Option<(Arc<str>, ValueSource)>,
) -> Option<Arc<str>> {
    if !flags.takes_assistant {
        return None;
    }
    match (&flags.model, model) {
        (Some(name), _) => {
            let names = config.assistant_names();
            names.get(name.as_str()).cloned()
        }
        (None, Some((_, place))) if matches!(place.origin, Origin::Variable(_)) => None,
        (None, _) => config
            .assistants
            .get_key_value(DEFAULT_ASSISTANT)
            .map(|(name, _)| Arc::clone(name)),
    }
}

/// Makes the options of an assistant those of this run, with the flags over them.
fn use_assistant(config: &mut Config, flags: &Flags, name: &str) {
    let Some(assistant) = config.assistant(name) else {
        return;
    };
    config.extensions = assistant.extensions;
    config.model_place = assistant.place;
    config.options = assistant.options;
    apply_to_options(&mut config.options, flags);
    if !assistant.kept {
        config.journal.kind = JournalKind::Memory;
    }
}

/// The file that flags or the environment name.
pub(crate) fn named_file(
    surroundings: &Surroundings,
    flags: &Flags,
) -> Result<Option<PathBuf>, ConfigError> {
    let named = match &flags.config {
        Some(path) => Some(path.clone()),
        None => surroundings
            .environment
            .variable("JACKFIELD_CONFIG")?
            .map(PathBuf::from),
    };
    Ok(named.map(|path| surroundings.directory.join(path)))
}

fn files(draft: &mut Draft, surroundings: &Surroundings, flags: &Flags) -> Result<(), ConfigError> {
    if let Some(path) = named_file(surroundings, flags)? {
        let bytes = read_small(&path).map_err(|source| unreadable(&path, source))?;
        add(draft, surroundings, &path, &bytes, Trust::Named);
        return named_servers(draft, surroundings, &path).map(drop);
    }
    let user = surroundings.user_file();
    let mut named = false;
    if let Some(path) = &user
        && let Some(bytes) = read_if_there(path)?
    {
        add(draft, surroundings, path, &bytes, Trust::Own);
        named = named_servers(draft, surroundings, path)?;
    }
    if let Some(path) = surroundings.user_servers()
        && !named
        && path.exists()
    {
        servers(draft, surroundings, &path)?;
    }
    project(draft, surroundings, user.as_deref())
}

/// Reads the project's files, as far as they are trusted.
fn project(
    draft: &mut Draft,
    surroundings: &Surroundings,
    user: Option<&Path>,
) -> Result<(), ConfigError> {
    let mut named = false;
    if let Some(path) = surroundings.project_file()
        && user != Some(&*path)
        && let Some(bytes) = read_if_there(&path)?
    {
        let trust = if is_trusted(draft, surroundings, &path) {
            Trust::Named
        } else {
            Trust::Found
        };
        add(draft, surroundings, &path, &bytes, trust);
        // A file named by a found file was refused before.
        named = trust == Trust::Found && draft.mcp_config.take().is_some()
            || named_servers(draft, surroundings, &path)?;
    }
    let Some(path) = surroundings.project_servers().filter(|_| !named) else {
        return Ok(());
    };
    if surroundings.user_servers().as_ref() == Some(&path) {
        return Ok(());
    }
    if is_trusted(draft, surroundings, &path) {
        return servers(draft, surroundings, &path);
    }
    let shown = surroundings.display_path(&path);
    let place = ValueSource::from(Origin::File(shown.into()));
    let message = "not used: a file that was merely found does not start commands";
    draft
        .config
        .remarks
        .push(ConfigProblem::new(place, message).with_help(format!(
        "name it with `--mcp-config {}`, or add its folder to `trusted_projects` in your own file",
        shown.display()
    )));
    Ok(())
}

/// Reads the file of servers that this file names, if any.
fn named_servers(
    draft: &mut Draft,
    surroundings: &Surroundings,
    by: &Path,
) -> Result<bool, ConfigError> {
    let Some(file) = draft.mcp_config.take() else {
        return Ok(false);
    };
    let base = by.parent().unwrap_or(&surroundings.directory);
    servers(draft, surroundings, &surroundings.resolve(&file, base))?;
    Ok(true)
}

/// Reads servers over the existing ones.
fn servers(draft: &mut Draft, surroundings: &Surroundings, path: &Path) -> Result<(), ConfigError> {
    if draft.without_servers {
        return Ok(());
    }
    let bytes = read_at_most(path, MAX_SERVERS).map_err(|source| unreadable(path, source))?;
    let ServersFile {
        problems,
        remarks,
        servers,
    } = crate::servers::read(surroundings, path, &bytes);
    draft.problems.extend(problems);
    draft.config.remarks.extend(remarks);
    for server in servers {
        draft.config.servers.insert(server.id.clone(), server);
    }
    draft.config.files.push(path.to_owned());
    Ok(())
}

fn add(draft: &mut Draft, surroundings: &Surroundings, path: &Path, bytes: &[u8], trust: Trust) {
    file::read(draft, surroundings.display_path(path), bytes, trust);
    let base = path.parent().unwrap_or(&surroundings.directory);
    for provider in draft.config.providers.values_mut() {
        provider.resolve_key_file(|file| surroundings.resolve(file, base));
    }
    draft
        .config
        .journal
        .resolve(|file| surroundings.resolve(file, base));
    if let Some((KeySource::File(file), _)) = &mut draft.config.secrets
        && let Some(text) = file.to_str()
    {
        *file = surroundings.resolve(text, base);
    }
    draft
        .config
        .serve
        .resolve(|file| surroundings.resolve(file, base));
    draft.config.files.push(path.to_owned());
}

pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    match read_small(path) {
        Ok(bytes) => Ok(Some(bytes)),
        // Many services have `/dev/null` as their home.
        Err(error) if [NotFound, NotADirectory].contains(&error.kind()) => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}

fn unreadable(path: &Path, source: io::Error) -> ConfigError {
    ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

/// Whether the user's own file trusts a folder that contains this file, with links resolved.
fn is_trusted(draft: &Draft, surroundings: &Surroundings, path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    draft.trusted_projects.iter().any(|project| {
        // A relative path would depend on the working directory, and so match any folder.
        let project = surroundings.resolve(project, Path::new(""));
        project.is_absolute()
            && project
                .canonicalize()
                .is_ok_and(|project| path.starts_with(project))
    })
}

fn environment(draft: &mut Draft, surroundings: &Surroundings) {
    let mut variable = |name| match surroundings.environment.variable(name) {
        Ok(value) => value,
        Err(problem) => {
            draft.problems.push(problem);
            None
        }
    };
    let (model, system) = (variable("JACKFIELD_MODEL"), variable("JACKFIELD_SYSTEM"));
    let db = variable("JACKFIELD_DB");
    if let Some(model) = model {
        let origin = Origin::Variable("JACKFIELD_MODEL");
        set_raw_value(draft, "model", model.as_str(), origin.clone());
        draft.model = Some((model.into(), origin.into()));
    }
    if let Some(system) = system {
        let origin = Origin::Variable("JACKFIELD_SYSTEM");
        set_raw_value(draft, "system.prompt", system.as_str(), origin);
        draft.config.options.system = system_prompt(PartOrigin::Configuration, &system);
    }
    if let Some(db) = db {
        let file = surroundings.resolve(&db, &surroundings.directory);
        name_journal(draft, Some(&db), file, Origin::Variable("JACKFIELD_DB"));
    }
}

/// Sets the journal from a flag or variable: the address of a database, `env:NAME` for a variable with one, or a file.
fn name_journal(draft: &mut Draft, named: Option<&str>, file: PathBuf, origin: Origin) {
    let variable = named.and_then(|named| named.strip_prefix("env:"));
    if let Some(name) = variable {
        let journal = &mut draft.config.journal;
        journal.set_url_variable(name, origin.into());
    } else if let Some(url) = named.filter(|named| is_address(named)) {
        name_database(draft, url, origin);
    } else {
        let shown = file.display().to_string();
        set_raw_value(draft, "journal.path", shown, origin.clone());
        draft.config.journal.set_path(file, origin.into());
    }
}

/// Sets the journal's database from a flag or variable.
fn name_database(draft: &mut Draft, url: &str, origin: Origin) {
    if matches!(origin, Origin::Flag(_)) && has_password(url) {
        let message =
            "other users of this machine can read the password of an address in a command";
        let problem = ConfigProblem::new(origin.into(), message);
        draft.problems.push(problem.with_help(
            "put the whole address into a variable and name it with `--db env:NAME`, or the password alone with \
             `password_env`",
        ));
        return;
    }
    if !has_password(url) {
        set_raw_value(draft, "journal.url", url, origin.clone());
    }
    draft.config.journal.set_url(url, origin.into());
}

/// Records a raw value from a flag or variable.
fn set_raw_value(draft: &mut Draft, key: &str, value: impl Into<Value>, origin: Origin) {
    let place = ValueSource {
        key: Some(key.to_owned()),
        ..origin.into()
    };
    draft.config.set_raw_value(value.into(), place);
}

/// Records the raw values of the flags.
fn set_raw_flags(draft: &mut Draft, flags: &Flags) {
    if let Some(model) = &flags.model {
        set_raw_value(draft, "model", model.as_str(), Origin::Flag("--model"));
    }
    if let Some(system) = &flags.system {
        let origin = Origin::Flag("--system");
        set_raw_value(draft, "system.prompt", system.as_str(), origin);
    }
    if let Some(cost) = flags.cost {
        let origin = Origin::Flag("--max-cost");
        set_raw_value(draft, "budget.cost", cost.to_string(), origin);
    }
    if let Some(rounds) = flags.rounds {
        set_raw_value(draft, "limits.rounds", rounds, Origin::Flag("--max-rounds"));
    }
    if let Some(strict) = flags.strict {
        let strict = strict.map_or(Value::Bool(false), |effect| effect.as_str().into());
        set_raw_value(draft, "settings.strict", strict, Origin::Flag("--strict"));
    }
    let lists = [
        (&flags.allow, "allow", "--allow"),
        (&flags.deny, "deny", "--deny"),
    ];
    for (patterns, verdict, flag) in lists {
        for pattern in patterns {
            let key = format!("policy.tools.{}", quoted(pattern));
            set_raw_value(draft, &key, verdict, Origin::Flag(flag));
        }
    }
}

fn apply(draft: &mut Draft, flags: &Flags) {
    set_raw_flags(draft, flags);
    if let Some(cost) = flags.cost {
        draft.config.options.allowance.cost = Some(cost);
        draft.config.cost_place = None;
    }
    if let Some(model) = &flags.model {
        draft.model = Some((model.as_str().into(), Origin::Flag("--model").into()));
    }
    let options = &mut draft.config.options;
    apply_to_options(options, flags);
    let rules = [
        (&flags.allow, RuleVerdict::Allow),
        (&flags.deny, RuleVerdict::Deny),
    ];
    options
        .policy
        .rules
        .extend(rules.into_iter().flat_map(|(patterns, verdict)| {
            patterns.iter().map(move |pattern| PolicyRule {
                pattern: Arc::from(pattern.as_str()),
                verdict,
            })
        }));
}

/// Applies the flags that also override an assistant.
fn apply_to_options(options: &mut TurnOptions, flags: &Flags) {
    if let Some(system) = &flags.system {
        options.system = system_prompt(PartOrigin::Flag, system);
    }
    if let Some(rounds) = flags.rounds {
        options.limits.rounds = rounds;
    }
    if let Some(strict) = flags.strict {
        options.strict = strict;
    }
    if let Some(tools) = flags.tools {
        options.server_tools = if tools {
            ServerTools::All
        } else {
            ServerTools::None
        };
    }
}

/// The maximum size of a file of servers, in bytes: other programs keep more than servers in theirs.
pub(crate) const MAX_SERVERS: u64 = 16 << 20;

//! Reads one configuration file over the previous ones.

mod assistants;
mod extensions;
mod oidc;
mod own_servers;
mod providers;
mod response_format;
mod routes;
mod secrets;
mod sections;
mod serve;
mod tool_cache;
mod tool_sets;
#[cfg_attr(not(feature = "web"), path = "file/without_web.rs")]
mod web;

pub(crate) use self::assistants::Assistants;
pub(crate) use self::web::KEYWORDS;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::CacheTtl;
use jackfield_domain::system_prompt::PartOrigin;
use toml::de::DeValue;

use crate::config::{Config, system_prompt};
use crate::document::{AskedKey, DocumentReader, LineEnds, ParsedFile, Section};
use crate::form::{self, ValueForm};
use crate::place::{ConfigProblem, Origin, ValueSource};
use crate::values::{self, parse_model};
use crate::windows;

/// The merged files, environment and flags, before names are resolved.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// The place of each alias.
    pub(crate) aliases: BTreeMap<Arc<str>, ValueSource>,
    /// The files that configure assistants. They are [read](self::assistants()) again when everything else is known.
    pub(crate) assistant_files: Vec<AssistantFile>,
    pub(crate) config: Config,
    /// The file of MCP servers that the current file names.
    pub(crate) mcp_config: Option<Arc<str>>,
    pub(crate) model: Option<(Arc<str>, ValueSource)>,
    pub(crate) problems: Vec<ConfigProblem>,
    pub(crate) trusted_projects: Vec<Arc<str>>,
    /// Whether files of MCP servers are not read.
    pub(crate) without_servers: bool,
}

/// A file that configures assistants.
#[derive(Debug)]
pub(crate) struct AssistantFile {
    shown: PathBuf,
    text: String,
    trust: Trust,
}

/// How far a file is trusted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Trust {
    /// Named by the user, or in a project that the user trusts.
    Named,
    /// Found in a project: it may not configure where keys are sent or what may run.
    Found,
    /// The user's own file.
    Own,
}

/// Reads a file over the draft, and records problems there. Returns every known key.
pub(crate) fn read(draft: &mut Draft, shown: &Path, bytes: &[u8], trust: Trust) -> Vec<AskedKey> {
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let line = Some(LineEnds::of(bytes).at(at));
            let place = ValueSource {
                key: None,
                line,
                origin: Origin::File(shown.into()),
            };
            let problem = ConfigProblem::new(place, format!("this is not UTF-8 from byte {at} on"));
            let help = format!(
                "save {} as UTF-8, or convert it, for example with `iconv -f ISO-8859-1 -t UTF-8`",
                shown.display()
            );
            draft.problems.push(problem.with_help(help));
            return Vec::new();
        }
    };
    let ParsedFile {
        asked,
        problems,
        said,
    } = DocumentReader::new(shown, text).read(|root| top(draft, root, trust));
    if text.contains("assistants") {
        draft.assistant_files.push(AssistantFile {
            shown: shown.to_owned(),
            text: text.to_owned(),
            trust,
        });
    }
    draft.problems.extend(problems);
    let said = web::whole(&mut draft.config, said, trust);
    for (value, place) in said {
        // A rule of a merely found file yields to the user's own rule of the same pattern.
        let key = place.key.as_deref().unwrap_or_default();
        let is_asked = value == "ask" && key.starts_with("policy.tools.");
        let is_weak = trust == Trust::Found && (is_asked || key.starts_with("policy.unknown_of."));
        if !(is_weak && draft.config.raw_values.0.contains_key(key)) {
            draft.config.set_raw_value(value, place);
        }
    }
    asked
}

/// The assistants of these files over the rest of the configuration, which is complete. Problems were reported when
/// the files were read first.
pub(crate) fn assistants(files: &[AssistantFile], config: &Config) -> Assistants {
    let mut assistants = Assistants::default();
    let others = config.plain_assistant();
    for file in files {
        let reader = DocumentReader::new(&file.shown, &file.text);
        let _known = reader.read(|mut root| {
            let section = root.section("assistants");
            assistants::read(&mut assistants, &others, section, file.trust);
        });
    }
    assistants
}

/// Every key that a file may have, with `NAME` for free names.
#[must_use]
pub fn keys() -> Vec<String> {
    let mut keys: Vec<String> = known().into_iter().map(|known| known.key).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Every key that the readers know, in their order, with `NAME` for free names.
pub(crate) fn known() -> Vec<AskedKey> {
    let sample = "[aliases]\nNAME = \"a/b\"\n[assistants.NAME]\n[models.NAME]\n[prices.NAME]\n[providers.NAME]\n[own_servers.programs.NAME.env]\nNAME = \"\"\n[policy.tools]\nNAME = \"allow\"\n\
                  [policy.unknown_of]\nNAME = \"ask\"\n[routes.NAME]\n[serve.mcp.NAME.tools.NAME.arguments]\nNAME = 0\n\
                  [serve.tokens.NAME.endpoints]\nNAME = \"a\"\n[tool_cache.ttl_of]\nNAME = \"10m\"\n\
                  [web.tools.NAME.headers]\nNAME = \"\"\n[web.tools.NAME.parameters.NAME]\n";
    read(
        &mut Draft::default(),
        Path::new("sample"),
        sample.as_bytes(),
        Trust::Own,
    )
}

fn top(draft: &mut Draft, mut root: Section<'_>, trust: Trust) {
    let used = (trust == Trust::Found).then(|| used(draft));
    let mine = |model: &ModelRef| {
        used.as_ref()
            .is_none_or(|used| used.contains(&model.provider))
    };
    form::keys! { let root;
        model: form::filled("claude/claude-opus-5-5"), "The model: an alias, or provider/model";
        trusted_projects: form::texts("~/work"), "Folders whose jackfield.toml may say everything";
    }
    if let Some((model, place)) = model {
        let named = parse_model(&model).filter(|_| !draft.config.aliases.contains_key(&model));
        if let Some(model) = named.filter(|model| !mine(model)) {
            root.problem(not_used(&model, place.clone()));
        }
        draft.model = Some((model, place));
    }
    if let Some((projects, place)) = trusted_projects {
        if trust == Trust::Own {
            draft.trusted_projects = projects;
        } else {
            root.problem(ConfigProblem::new(
                place,
                "only the user's own file says which projects are trusted",
            ));
        }
    }
    aliases(draft, root.section("aliases"), mine);
    mcp(draft, root.section("mcp"), trust);
    let config = &mut draft.config;
    windows::read(&mut config.windows, root.section("models"));
    sections::prices(&mut config.prices, root.section("prices"), trust);
    providers::read(&mut config.providers, root.section("providers"), trust);
    routes::read(&mut config.routes, root.section("routes"), trust);
    system(config, root.section("system"));
    sections::approvals(&mut config.approvals, root.section("approvals"), trust);
    sections::budget(config, root.section("budget"), trust);
    sections::compaction(&mut config.options, root.section("compaction"));
    sections::journal(&mut config.journal, root.section("journal"), trust);
    sections::limits(&mut config.options.limits, root.section("limits"));
    sections::network(&mut config.network, root.section("network"), trust);
    own_servers::read(&mut config.own_servers, root.section("own_servers"), trust);
    sections::policy(&mut config.options, root.section("policy"), trust);
    sections::session(config, root.section("session"));
    let settings = root.section("settings");
    if trust == Trust::Found {
        let mut read = settings.again();
        for place in ["cache", "cache_ttl"].map(|name| read.place_of(name)) {
            let Some(place) = place else { continue };
            let help = trust_help(&place);
            let message =
                "a file that was merely found does not say what is kept in caches, at which price";
            settings.problem(ConfigProblem::new(place, message).with_help(help));
        }
    }
    sections::settings(&mut config.options, &mut config.extensions, settings, trust);
    sections::tags(&mut config.tags, root.section("tags"), trust);
    // That of all turns yields to a provider's, which yields to an assistant's.
    if let Some(mode) = config.options.settings.cache.take() {
        config.cache_mode = mode;
    }
    let ttl = &mut config.options.settings.cache_ttl;
    ttl.take_if(|ttl| *ttl == CacheTtl::FiveMinutes);
    secrets::read(&mut config.secrets, root.section("secrets"), trust);
    serve::read(&mut config.serve, root.section("serve"), trust);
    tool_cache::read(&mut config.tool_cache, root.section("tool_cache"), trust);
    sections::tool_search(&mut config.options.tool_search, root.section("tool_search"));
    web::read(&mut config.web, root.section("web"), trust);
    let others = config.plain_assistant();
    let section = root.section("assistants");
    assistants::read(&mut Assistants::default(), &others, section, trust);
    let servers = ["mcpServers", "mcp_servers"];
    root.finish_with(|name| servers.contains(&name).then_some(SERVERS_HELP));
}

fn aliases(draft: &mut Draft, section: Section<'_>, mine: impl Fn(&ModelRef) -> bool) {
    let names = section.again();
    for entry in section.entries() {
        let alias = form::of(ValueForm::Text("claude/claude-haiku-5-5"), alias);
        let about = "The model of a short name, as provider/model";
        let model = names.value(&entry, alias, about);
        if let Some(model) = model {
            if !mine(&model) {
                names.problem(not_used(&model, entry.place.clone()));
            }
            draft.aliases.insert(Arc::clone(&entry.name), entry.place);
            draft.config.aliases.insert(entry.name, model);
        }
    }
}

fn alias(value: &DeValue<'_>) -> Result<ModelRef, String> {
    let name = values::filled(value)?;
    parse_model(&name).ok_or_else(|| format!("`{name}` is not of the form `provider/model`"))
}

/// The providers that the user uses, according to the draft. Many more exist by default, but a merely found file
/// must not decide whether conversations go there.
fn used(draft: &Draft) -> BTreeSet<Arc<str>> {
    let config = &draft.config;
    let configured = config.providers.iter();
    let configured = configured.filter(|(_, provider)| !provider.is_default());
    let chosen = draft.model.as_ref().and_then(|(name, _)| parse_model(name));
    let models = config.aliases.values().chain(&chosen);
    let named = models.chain([&config.options.model]);
    let named = named.map(|model| &model.provider);
    configured
        .map(|(name, _)| name)
        .chain(named)
        .cloned()
        .collect()
}

fn not_used(model: &ModelRef, place: ValueSource) -> ConfigProblem {
    let message = format!(
        "a file that was merely found chooses among the providers that you use, and `{}` is none of them",
        model.provider
    );
    let help = trust_help(&place);
    ConfigProblem::new(place, message).with_help(help)
}

fn mcp(draft: &mut Draft, mut section: Section<'_>, trust: Trust) {
    form::keys! { let section;
        config: form::filled("mcp-servers.json"), "The file with the MCP servers";
        elicitation: form::flag(), "Whether servers may ask a person during a call";
        sampling: form::flag(), "Whether servers may ask for a message of the model during a call, each time after a yes";
    }
    let questions = &mut draft.config.questions;
    if let Some((asks, _)) = elicitation {
        questions.elicitation = asks;
    }
    if let Some((asks, _)) = sampling {
        questions.sampling = asks;
    }
    if let Some((file, place)) = config {
        if trust == Trust::Found {
            let help = trust_help(&place);
            let message = "a file that was merely found does not start commands";
            section.problem(ConfigProblem::new(place, message).with_help(help));
        }
        draft.mcp_config = Some(file);
    }
    form::keys! { section over draft.config;
        list_lifetime: form::duration("5s"), "How long a list of tools is used at least, of a server that announces no changes";
        start_wait: form::duration("5s"), "How long a turn waits for MCP servers that start";
    }
    section.finish_with(|_| Some(SERVERS_HELP));
}

fn system(config: &mut Config, mut section: Section<'_>) {
    form::keys! { let section;
        prompt: form::text("Be brief."), "The system prompt";
    }
    if let Some((prompt, _)) = prompt {
        config.options.system = system_prompt(PartOrigin::Configuration, &prompt);
    }
    section.finish();
}

/// Help for a key that a found file may not have.
pub(crate) fn trust_help(place: &ValueSource) -> String {
    let file = match &place.origin {
        Origin::File(path) => path.display().to_string(),
        Origin::Default | Origin::Flag(_) | Origin::Variable(_) => "the file".to_owned(),
    };
    format!(
        "move it to your own file, name this one with `--config {file}`, \
         or add its folder to `trusted_projects` in your own file"
    )
}

/// Help for an MCP server in this file.
const SERVERS_HELP: &str = "MCP servers are in a file of their own, `mcp-servers.json` beside this one: \
    add them with `jackfield mcp add`, or take over another program's file with `jackfield mcp import`";

//! Reads the tables of assistants.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::system_prompt::PartOrigin;

use crate::assistants::ConfiguredAssistant;
use crate::config::system_prompt;
use crate::document::Section;
use crate::file::{Trust, sections, serve, trust_help};
use crate::form::{self, ValueForm};
use crate::place::{ConfigProblem, ValueSource};
use crate::serve::ApprovalsMode;

/// The assistants of all files.
#[derive(Debug, Default)]
pub(crate) struct Assistants {
    pub(crate) by_name: BTreeMap<Arc<str>, ConfiguredAssistant>,
    /// The model of each assistant that names one, as written.
    pub(crate) models: BTreeMap<Arc<str>, (Arc<str>, ValueSource)>,
}

/// Reads `[assistants]` over earlier ones. What a new assistant does not say is as in `others`.
pub(crate) fn read(
    assistants: &mut Assistants,
    others: &ConfiguredAssistant,
    section: Section<'_>,
    trust: Trust,
) {
    if trust == Trust::Found
        && let Some(place) = section.first_place()
    {
        let help = trust_help(&place);
        let message = "a file that was merely found says nothing of assistants";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    let names = section.again();
    for entry in section.entries() {
        let is_name = !entry.name.trim().is_empty() && !entry.name.contains('/');
        if !is_name {
            let message =
                "the name of an assistant has no `/`, which stands between provider and model";
            names.problem(ConfigProblem::new(entry.place.clone(), message));
        }
        let mut section = Section::of(&names, &entry);
        let slot = assistants.by_name.entry(Arc::clone(&entry.name));
        let assistant = slot.or_insert_with(|| others.clone());
        assistant.options.assistant = Some(Arc::clone(&entry.name));
        assistant.place = entry.place;
        form::keys! { let section;
            model: form::filled("claude/claude-opus-5-5"), "Its model: an alias, or provider/model";
            system: form::text("Be brief."), "Its system prompt";
            tool_search: form::flag(), "Whether it finds most of its server tools by a search";
            tools: form::of(ValueForm::Tools, serve::tools), "Its server tools, below what a request may use";
        }
        if let Some(model) = model {
            assistants.models.insert(entry.name, model);
        }
        if let Some((prompt, _)) = system {
            assistant.options.system = system_prompt(PartOrigin::Configuration, &prompt);
        }
        if let Some((enabled, _)) = tool_search {
            assistant.options.tool_search.enabled = enabled;
        }
        if let Some((tools, _)) = tools {
            assistant.options.server_tools = tools;
        }
        let approvals = [("deny", ApprovalsMode::Deny), ("wait", ApprovalsMode::Wait)];
        form::keys! { section over assistant;
            approvals: form::one_of(&approvals), "What becomes of its calls that need a word";
            kept: form::flag(), "Whether its turns are kept";
        }
        sections::limits(&mut assistant.options.limits, section.section("limits"));
        let settings = section.section("settings");
        sections::settings(
            &mut assistant.options,
            &mut assistant.extensions,
            settings,
            trust,
        );
        section.finish();
    }
}

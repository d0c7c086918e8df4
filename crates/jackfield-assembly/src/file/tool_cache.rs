//! Reads which results of tools are kept.

use std::time::Duration;

use jackfield_engine::{ToolCacheRule, ToolCacheSettings};
use toml::de::DeValue;

use crate::document::Section;
use crate::file::{Trust, trust_help};
use crate::form::{self, ValueForm};
use crate::place::ConfigProblem;
use crate::values;

/// Reads `[tool_cache]` and `[tool_cache.ttl_of]`.
pub(crate) fn read(settings: &mut ToolCacheSettings, mut section: Section<'_>, trust: Trust) {
    form::keys! { section over settings;
        bytes: form::size("16MiB"), "The maximum size of all kept results of tools";
    }
    form::keys! { let section;
        entries: form::positive(), "The maximum number of kept results of tools";
    }
    if let Some((entries, _)) = entries {
        settings.entries = usize::try_from(entries).unwrap_or(usize::MAX);
    }
    let rules = section.section("ttl_of");
    let table = rules.again();
    for entry in rules.entries() {
        let about = "How long results of the tools that fit the pattern are used again, or off";
        let Some(ttl) = table.value(&entry, form::of(ValueForm::Duration("10m"), ttl), about)
        else {
            continue;
        };
        if trust == Trust::Found && ttl.is_some() {
            let help = trust_help(&entry.place);
            let message = "a file that was merely found does not say which results are used again";
            table.problem(ConfigProblem::new(entry.place, message).with_help(help));
            continue;
        }
        settings.rules.push(ToolCacheRule {
            pattern: entry.name,
            ttl,
        });
    }
    section.finish();
}

/// A duration; `None` for `"off"`.
fn ttl(value: &DeValue<'_>) -> Result<Option<Duration>, String> {
    if value.as_str() == Some(OFF) {
        return Ok(None);
    }
    let ttl = values::duration(value);
    ttl.map(Some)
        .map_err(|why| format!("{why}; or \"{OFF}\" for tools whose results are not kept"))
}

/// The value for tools whose results are not kept.
const OFF: &str = "off";

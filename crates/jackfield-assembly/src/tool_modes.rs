//! How the models of a provider are given tools: `tools` and `tools_of`.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::policy::matches;
use jackfield_engine::near::did_you_mean;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::text_tools::ToolMode;
use serde_json::Value;

use crate::place::{ConfigProblem, ValueSource};

/// The options of a provider, with their places.
type Options = BTreeMap<Arc<str>, (Value, ValueSource)>;

/// The option that says so for all models; `true` and `false` are for the factory.
pub(crate) const TOOLS: &str = "tools";
/// The option that says so for some models, by patterns of their names.
pub(crate) const TOOLS_OF: &str = "tools_of";

/// The words for the modes.
pub(crate) const MODES: [(&str, ToolMode); 3] = [
    ("auto", ToolMode::Auto),
    ("native", ToolMode::Native),
    ("text", ToolMode::Text),
];

/// Whether the factory reads this option, and not this module.
pub(crate) fn is_for_factory(name: &str, value: &Value) -> bool {
    name != TOOLS_OF && (name != TOOLS || value.is_boolean())
}

/// The modes of the models by their names, with this one for those that the options do not name; `None` if all are
/// native.
///
/// # Errors
///
/// The problem of a value.
pub(crate) fn read(
    options: &Options,
    default: ToolMode,
) -> Result<Option<ByModel<ToolMode>>, ConfigProblem> {
    let of_all = match options.get(TOOLS) {
        None | Some((Value::Bool(true), _)) => default,
        Some((Value::Bool(false), _)) => {
            return match options.get(TOOLS_OF) {
                None => Ok(None),
                Some((_, place)) => {
                    let message = "`tools = false` leaves none of these models any tools";
                    Err(ConfigProblem::new(place.clone(), message))
                }
            };
        }
        Some((value, place)) => mode(value).ok_or_else(|| {
            let message = format!("tools is true, false, or {}{}", words(), hint(value));
            ConfigProblem::new(place.clone(), message)
        })?,
    };
    let mut patterns: Vec<(String, ToolMode)> = Vec::new();
    if let Some((table, place)) = options.get(TOOLS_OF) {
        let wrong = |why: String| ConfigProblem::new(place.clone(), why);
        let table = table
            .as_object()
            .ok_or_else(|| wrong("this is a table of model names".to_owned()))?;
        for (pattern, value) in table {
            let mode = mode(value)
                .ok_or_else(|| wrong(format!("`{pattern}` is {}{}", words(), hint(value))))?;
            patterns.push((pattern.clone(), mode));
        }
    }
    // The longest pattern is the one that says most.
    patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
    if of_all == ToolMode::Native && patterns.iter().all(|(_, mode)| *mode == ToolMode::Native) {
        return Ok(None);
    }
    Ok(Some(ByModel::new(move |model| {
        let mut patterns = patterns.iter();
        let found = patterns.find(|(pattern, _)| matches(pattern, model));
        found.map_or(of_all, |(_, mode)| *mode)
    })))
}

fn mode(value: &Value) -> Option<ToolMode> {
    let word = value.as_str()?;
    let found = MODES.iter().find(|(name, _)| *name == word);
    found.map(|(_, mode)| *mode)
}

fn words() -> String {
    let words = MODES.map(|(name, _)| format!("\"{name}\""));
    format!("one of {}", words.join(", "))
}

fn hint(value: &Value) -> String {
    let names = MODES.map(|(name, _)| name);
    value
        .as_str()
        .map(|word| did_you_mean(word, &names))
        .unwrap_or_default()
}

//! The configuration of a LiteLLM proxy: `config.yaml`.
//!
//! Its form is that of LiteLLM's documentation of the proxy's configuration, as read on 2026-11-26: `model_list`,
//! `litellm_settings`, `router_settings`, `general_settings` and `environment_variables`.

mod deployment;
mod groups;
mod providers;
mod settings;
mod unknown;
mod vendors;
mod weights;
mod written;

use self::groups::Group;
use self::providers::Provider;
use self::settings::Settings;
use crate::yaml::{Entry, Node};
use crate::{ImportError, Imported, Remark, yaml};

/// Reads the configuration of a LiteLLM proxy.
///
/// `variable` looks up an environment variable. It is asked for addresses alone, which Jackfield's configuration has
/// as they are, and never for a key.
///
/// # Errors
///
/// [`ImportError`] if the text is too large, is not YAML, or has no `model_list`.
pub fn import(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Imported, ImportError> {
    let root = yaml::read(text)?;
    let Some(models) = root.get("model_list") else {
        return Err(ImportError::Foreign {
            gateway: "LiteLLM's proxy",
            wanted: "model_list",
        });
    };
    let mut import = Import::new(variable);
    import.repeated("", &root);
    import.model_list(models);
    for entry in root.entries() {
        match &*entry.key {
            "model_list" => {}
            "environment_variables" => import.environment(entry),
            "general_settings" => import.general_settings(&entry.node),
            "litellm_settings" => import.litellm_settings(&entry.node),
            "router_settings" => import.router_settings(&entry.node),
            _ => import.unknown("", entry),
        }
    }
    import.finish_keys();
    import.finish_groups();
    let configuration = import.written();
    let mut remarks = import.remarks;
    remarks.sort();
    remarks.dedup();
    Ok(Imported {
        configuration,
        remarks,
    })
}

/// What is known so far.
struct Import<'a> {
    groups: Vec<Group>,
    providers: Vec<Provider>,
    remarks: Vec<Remark>,
    settings: Settings,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Import<'a> {
    fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            groups: Vec::new(),
            providers: Vec::new(),
            remarks: Vec::new(),
            settings: Settings::default(),
            variable,
        }
    }

    fn remark(&mut self, line: usize, place: impl Into<String>, text: impl Into<String>) {
        self.remarks.push(Remark {
            line,
            place: place.into(),
            text: text.into(),
        });
    }

    /// Names keys that stand twice in a map.
    fn repeated(&mut self, place: &str, node: &Node) {
        let entries = node.entries();
        for (index, entry) in entries.iter().enumerate() {
            let later = entries.get(index + 1..).unwrap_or_default();
            if let Some(other) = later.iter().find(|other| other.key == entry.key) {
                // A merged entry is replaced on purpose.
                if other.line > entry.line {
                    let text = format!("is given again in line {}, which counts", other.line);
                    self.remark(entry.line, below(place, &entry.key), text);
                }
            }
        }
    }

    /// Names a key that was not carried over, and why.
    fn unknown(&mut self, place: &str, entry: &Entry) {
        let place = below(place, &entry.key);
        self.remark(entry.line, place.clone(), unknown::reason(&place));
    }
}

/// The place of a key below another place.
fn below(place: &str, key: &str) -> String {
    if place.is_empty() {
        key.to_owned()
    } else {
        format!("{place}.{key}")
    }
}

/// The environment variable that a value names as `os.environ/NAME`.
fn named_variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("os.environ/")?.trim();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_');
    is_name.then_some(name)
}

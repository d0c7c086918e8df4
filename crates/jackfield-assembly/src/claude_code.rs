//! The factory of providers of the kind `claude-code`.

use std::path::PathBuf;
use std::sync::Arc;

use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_provider_claude_code::{ClaudeCode, ClaudeCodeConfig};
use serde_json::Value;

use crate::factory::{ProviderFactory, ProviderSettings};

/// Builds models behind the `claude` program.
pub(crate) struct ClaudeCodeFactory;

impl ProviderFactory for ClaudeCodeFactory {
    fn options(&self) -> &[&str] {
        &[
            "allowed_tools",
            "arguments",
            "builtin_tools",
            "command",
            "env",
            "env_from",
            "folder",
            "max_processes",
            "max_turns",
        ]
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        Ok(Arc::new(ClaudeCode::new(configure(settings)?)))
    }
}

/// The configuration with these settings.
fn configure(settings: ProviderSettings) -> Result<ClaudeCodeConfig, BoxError> {
    // Sessions are kept by folder, so it is the same one after a restart.
    let data = match settings.data {
        Some(data) => data,
        // It is not used.
        None if settings.options.contains_key("folder") => std::env::temp_dir(),
        None => return Err("there is no data folder for it: name a `folder`".into()),
    };
    let mut config = ClaudeCodeConfig::new(data.join(&*settings.name));
    config.base_url = settings.base_url;
    config.guard = settings.guard;
    config.key = settings.key;
    let mut passed_on = Vec::new();
    for (name, value) in &settings.options {
        match &**name {
            "allowed_tools" => {
                let expected = "allowed_tools is a list of rules such as \"Bash(git *)\"";
                config.allowed_tools = texts(value).ok_or(expected)?;
            }
            "arguments" => config.arguments = texts(value).ok_or("arguments is a list of texts")?,
            "builtin_tools" => {
                let expected = "builtin_tools is a list of names such as \"Read\"";
                config.builtin_tools = texts(value).ok_or(expected)?;
            }
            "command" => {
                let command = value
                    .as_str()
                    .ok_or("command is the name or path of claude")?;
                command.clone_into(&mut config.command);
            }
            "env" => {
                let expected = "env is a table of texts";
                let table = value.as_object().ok_or(expected)?;
                for (variable, value) in table {
                    let value = value.as_str().ok_or(expected)?;
                    config
                        .environment
                        .push((variable.clone(), value.to_owned()));
                }
            }
            "env_from" => {
                passed_on = texts(value).ok_or("env_from is a list of names of variables")?;
            }
            "folder" => {
                let folder = value.as_str().map(PathBuf::from);
                let folder = folder.filter(|folder| folder.is_absolute());
                config.folder = folder.ok_or("folder is an absolute path")?;
            }
            "max_processes" => {
                let processes = value.as_u64().and_then(|most| usize::try_from(most).ok());
                let processes = processes.filter(|most| *most > 0);
                config.max_processes =
                    processes.ok_or("max_processes is a number of at least 1")?;
            }
            "max_turns" => {
                let turns = value.as_u64().and_then(|turns| u32::try_from(turns).ok());
                let turns = turns.filter(|turns| *turns > 0);
                config.max_turns = Some(turns.ok_or("max_turns is a number of at least 1")?);
            }
            // The registry refuses unknown options before.
            _ => {}
        }
    }
    for name in passed_on {
        if let Ok(value) = std::env::var(&name) {
            config.environment.push((name, value));
        }
    }
    Ok(config)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let texts = value.as_array()?.iter();
    texts.map(|text| text.as_str().map(str::to_owned)).collect()
}

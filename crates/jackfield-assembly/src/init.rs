//! Generates a first configuration file: commented, and working with what was found on the machine.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::kinds::MODELS;
use crate::others::FoundServers;

/// The findings on this machine.
#[derive(Clone, Debug, Default)]
pub struct LocalFindings {
    /// The providers whose key is in the environment, with the variable of each.
    pub keys: Vec<(Arc<str>, String)>,
    /// The local model servers.
    pub local: Vec<LocalServer>,
    /// The files of MCP servers.
    pub servers: Vec<FoundServers>,
}

/// A local model server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LocalServer {
    /// Its address, if it has to be configured.
    pub base_url: Option<String>,
    /// The kind of provider, if it differs from the name.
    pub kind: Option<&'static str>,
    /// Its models.
    pub models: Vec<Arc<str>>,
    /// The provider's name.
    pub name: Arc<str>,
}

impl LocalFindings {
    /// The best available model; `None` without findings.
    #[must_use]
    pub fn model(&self) -> Option<String> {
        let known = MODELS
            .iter()
            .find(|(provider, _)| self.keys.iter().any(|(key, _)| **key == **provider));
        let known = known.map(|(provider, model)| format!("{provider}/{model}"));
        known.or_else(|| self.local_model())
    }

    /// The first local model that answers questions.
    fn local_model(&self) -> Option<String> {
        let mut local = self.local.iter();
        local.find_map(|server| {
            let mut models = server.models.iter();
            let model = models.find(|model| !model.contains("embed"))?;
            Some(format!("{}/{model}", server.name))
        })
    }

    /// The text of a `jackfield.toml`. Unknown values are commented out.
    #[must_use]
    pub fn file(&self, home: Option<&Path>) -> String {
        let mut text = HEAD.to_owned();
        self.models(&mut text);
        self.providers(&mut text);
        self.servers(&mut text, home);
        text.push_str(TAIL);
        text
    }

    fn models(&self, text: &mut String) {
        match self.model() {
            Some(model) => push(text, &format!("model = {}", quoted(&model))),
            None => {
                text.push_str(
                    "# No key and no server of models was found: set a key, or start a server.\n",
                );
                push(text, "# model = \"claude/claude-opus-5-5\"");
            }
        }
        text.push_str("\n# Short names, for --model and for `model`.\n[aliases]\n");
        match self.local_model() {
            Some(model) => push(text, &format!("local = {}", quoted(&model))),
            None => push(text, "# fast = \"claude/claude-haiku-5-5\""),
        }
    }

    fn providers(&self, text: &mut String) {
        text.push_str("\n# Keys stay in the environment; a file names the variable alone.\n");
        for (provider, variable) in &self.keys {
            push(text, &format!("# {provider}: found in {variable}"));
        }
        for server in &self.local {
            let models = server.models.len();
            push(
                text,
                &format!(
                    "# {}: answers on this machine, models: {models}",
                    server.name
                ),
            );
            let (Some(base_url), name) = (&server.base_url, quoted(&server.name)) else {
                continue;
            };
            push(text, &format!("[providers.{name}]"));
            if let Some(kind) = server.kind {
                push(text, &format!("kind = {}", quoted(kind)));
            }
            push(text, &format!("base_url = {}", quoted(base_url)));
            push(text, "api_key_env = \"\"");
        }
        text.push_str(PROVIDERS);
    }

    fn servers(&self, text: &mut String, home: Option<&Path>) {
        text.push_str(SERVERS);
        for found in &self.servers {
            let path = shown(&found.path, home);
            let ids = found.servers.join(", ");
            push(
                text,
                &format!(
                    "# {} ({}): {}",
                    one_line(&path),
                    found.owner,
                    one_line(&ids)
                ),
            );
            match &found.unfit {
                None => push(text, &format!("# config = {}", quoted(&path))),
                Some(why) => push(
                    text,
                    &format!("# - has to be copied and changed: {}", one_line(why)),
                ),
            }
        }
        if self.servers.is_empty() {
            push(text, "# config = \"mcp-servers.json\"");
        }
    }
}

/// A path with `~` for the home.
fn shown(path: &Path, home: Option<&Path>) -> String {
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    match below {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

fn push(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _written = writeln!(text, "{line}");
}

/// A TOML string.
fn quoted(text: &str) -> String {
    // A JSON string is a valid TOML string, except for one character that JSON does not escape.
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A text that cannot end a comment.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

const HEAD: &str = "\
# The configuration of Jackfield. Every key: docs/configuration.md, or `jackfield config schema`.
# What holds in the end, and where it comes from: `jackfield config show`. Does it work? `jackfield doctor`.

# Who is asked: an alias, or provider/model. What there is: `jackfield models`.
";
const PROVIDERS: &str = "\
# [providers.work]
# kind = \"openai\"
# api_key_env = \"WORK_OPENAI_KEY\"
";
const SERVERS: &str = "
# Servers of tools stand in a file of their own, by default the mcp-servers.json beside this one. Another
# file starts commands as this one would: look at it before you name it. Do they work? `jackfield mcp test`.
[mcp]
";
const TAIL: &str = "
# Which tools may run without asking. The built-in ones, which calculate and tell the time, may.
[policy.tools]
# \"github/get_*\" = \"allow\"
# \"github/create_*\" = \"ask\"

# A limit never throws work away.
[limits]
# rounds = 10
# tool_call = \"30s\"
# on_limit = \"answer\"
";

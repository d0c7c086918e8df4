//! The text of the `jackfield.toml`.

use std::fmt::Write as _;

use super::Import;
use super::groups::{Named, WrittenTarget};
use super::providers::{Key, Provider};

impl Import<'_> {
    pub(super) fn written(&self) -> String {
        let settings = &self.settings;
        let mut text = HEAD.to_owned();
        if let Some(model) = &settings.model {
            line(&mut text, "model", &quoted(model));
        }
        let aliases = settings
            .names
            .iter()
            .filter_map(|(name, meaning)| match meaning {
                Named::Alias(model) => Some((name, model)),
                Named::Route { .. } => None,
            });
        let aliases: Vec<_> = aliases.collect();
        if !aliases.is_empty() {
            text.push_str("\n[aliases]\n");
            for (name, model) in aliases {
                line(&mut text, &key(name), &quoted(model));
            }
        }
        for provider in &self.providers {
            write_provider(&mut text, provider);
        }
        for (name, meaning) in &settings.names {
            if let Named::Route {
                content_filter,
                targets,
            } = meaning
            {
                self.write_route(&mut text, name, content_filter, targets);
            }
        }
        for (model, window) in &settings.windows {
            table(&mut text, &["models", model]);
            line(&mut text, "context_window", &window.to_string());
        }
        for price in &settings.prices {
            table(&mut text, &["prices", &price.model]);
            for (name, amount) in &price.amounts {
                line(&mut text, name, amount);
            }
            line(&mut text, "source", &quoted("LiteLLM's configuration"));
        }
        if let Some(retries) = settings.model_retries {
            table(&mut text, &["limits"]);
            line(&mut text, "model_retries", &retries.to_string());
        }
        if settings.json_log || settings.metrics {
            table(&mut text, &["serve"]);
            if settings.json_log {
                line(&mut text, "log", &quoted("json"));
            }
            if settings.metrics {
                line(&mut text, "metrics", "true");
            }
        }
        if let Some(variable) = &settings.master_key {
            table(&mut text, &["serve", "tokens", "master"]);
            line(&mut text, "env", &quoted(variable));
            line(&mut text, "admin", "true");
        }
        text
    }

    fn write_route(
        &self,
        text: &mut String,
        name: &str,
        content_filter: &[String],
        targets: &[WrittenTarget],
    ) {
        table(text, &["routes", name]);
        text.push_str("targets = [\n");
        for target in targets {
            let _ = writeln!(text, "  {},", written_target(target));
        }
        text.push_str("]\n");
        if !content_filter.is_empty() {
            let models: Vec<String> = content_filter.iter().map(|model| quoted(model)).collect();
            line(text, "content_filter", &format!("[{}]", models.join(", ")));
        }
        let share_a_tier =
            |pair: &[WrittenTarget]| matches!(pair, [one, two] if one.tier == two.tier);
        if targets.windows(2).any(share_a_tier) {
            let strategy = self.settings.strategy.unwrap_or("weighted");
            line(text, "strategy", &quoted(strategy));
        }
        if let Some(seconds) = self.settings.first_byte {
            line(text, "first_byte", &duration(seconds));
        }
    }
}

fn write_provider(text: &mut String, provider: &Provider) {
    let mut lines = String::new();
    if provider.name != provider.kind.name {
        line(&mut lines, "kind", &quoted(provider.kind.name));
    }
    if let Some(address) = &provider.base_url {
        line(&mut lines, "base_url", &quoted(address));
    }
    match provider.variable.as_deref() {
        Some(variable) if variable == provider.kind.key => {}
        Some(variable) => line(&mut lines, "api_key_env", &quoted(variable)),
        None if provider.kind.key.is_empty() => {}
        None => line(&mut lines, "api_key_env", "\"\""),
    }
    if let (Key::Literal(_), false) = (&provider.key, lines.is_empty()) {
        lines.insert_str(
            0,
            "# Its key was not taken over: it belongs in the environment.\n",
        );
    }
    if let Some(organization) = &provider.organization {
        line(&mut lines, "organization", &quoted(organization));
    }
    if !lines.is_empty() {
        table(text, &["providers", &provider.name]);
        text.push_str(&lines);
    }
}

fn written_target(target: &WrittenTarget) -> String {
    let mut fields = vec![format!("model = {}", quoted(&target.model))];
    if target.tier != 0 {
        fields.push(format!("tier = {}", target.tier));
    }
    if target.weight != 1 {
        fields.push(format!("weight = {}", target.weight));
    }
    if let Some(seconds) = target.first_byte {
        fields.push(format!("first_byte = {}", duration(seconds)));
    }
    for (name, value) in [("images", target.images), ("tools", target.tools)] {
        if let Some(value) = value {
            fields.push(format!("{name} = {value}"));
        }
    }
    match &*fields {
        [_] => quoted(&target.model),
        fields => format!("{{ {} }}", fields.join(", ")),
    }
}

/// A time as Jackfield reads it, at least a millisecond.
fn duration(seconds: f64) -> String {
    let millis = (seconds.clamp(0.001, MAX_SECONDS) * 1000.0).round();
    if millis % 1000.0 == 0.0 {
        format!("\"{}s\"", millis / 1000.0)
    } else {
        format!("\"{millis}ms\"")
    }
}

fn table(text: &mut String, names: &[&str]) {
    let names: Vec<String> = names.iter().map(|name| key(name)).collect();
    let _ = write!(text, "\n[{}]\n", names.join("."));
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name} = {value}");
}

/// A key, quoted where TOML wants it.
fn key(name: &str) -> String {
    let is_bare = !name.is_empty()
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "_-".contains(character));
    if is_bare {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

const HEAD: &str = "\
# Read from a configuration of LiteLLM's proxy by `jackfield config import litellm`.
# Every key and its meaning: docs/configuration.md.

";

/// A day: no timeout is longer.
const MAX_SECONDS: f64 = 86_400.0;

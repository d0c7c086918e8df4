//! Expands `${NAME}` in the configuration of servers and web APIs.

use crate::surroundings::Environment;

/// Expands variables in a text. `${env:NAME}` is the same as `${NAME}`, `${NAME:-TEXT}` has a default, and `$${`
/// is a literal `${`. An empty variable counts as missing.
///
/// # Errors
///
/// A sentence that names the missing variable, without any value.
pub(crate) fn expand(text: &str, environment: &Environment) -> Result<String, String> {
    expand_with(text, environment, |_| {})
}

/// Expands variables, and reports the value of each.
pub(crate) fn expand_with(
    text: &str,
    environment: &Environment,
    mut on_value: impl FnMut(&str),
) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = from.get(2..).unwrap_or_default();
            continue;
        }
        expanded.push_str(before);
        let Some((inside, after)) = from.get(2..).unwrap_or_default().split_once('}') else {
            return Err(format!("a `${{` in it has no `}}`; {LITERAL}"));
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        // The form of other programs.
        let name = name.strip_prefix("env:").unwrap_or(name);
        if !is_name(name) {
            return Err(format!(
                "`${{{inside}}}` names no environment variable; {LITERAL}"
            ));
        }
        match (environment.get(name), default) {
            (Some(Ok(value)), _) if !value.is_empty() => {
                on_value(&value);
                expanded.push_str(&value);
            }
            (Some(Err(_)), _) => {
                return Err(format!("the environment variable {name} is not UTF-8"));
            }
            (None | Some(Ok(_)), Some(default)) => expanded.push_str(default),
            (Some(Ok(_)), None) => {
                return Err(format!("the environment variable {name} is empty"));
            }
            (None, None) => return Err(format!("the environment variable {name} is not set")),
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

const LITERAL: &str = "write `$${` where `${` itself is meant";

//! Reads which servers users and teams may have of their own.

use std::sync::Arc;

use jackfield_domain::directory::OwnServer;
use toml::de::DeValue;

use super::sections::allowed;
use crate::document::Section;
use crate::file::{Trust, trust_help};
use crate::form::{self, ValueForm};
use crate::own_servers::{OwnProgram, OwnServersConfig};
use crate::place::ConfigProblem;
use crate::values;

/// Reads `[own_servers]` and `[own_servers.programs]`. A program replaces an earlier one of the same name entirely.
pub(crate) fn read(config: &mut OwnServersConfig, mut section: Section<'_>, trust: Trust) {
    if trust == Trust::Found
        && let Some(place) = section.first_place()
    {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say what people may reach and start";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    let networks = form::of(ValueForm::Texts("10.0.0.0/8"), allowed);
    form::keys! { section over config;
        allow_private: networks, "What servers of people may be at although it is not public";
        idle: form::duration("10m"), "How long a connection that no turn uses stays open";
        max_open: form::positive(), "The maximum number of connections to them";
        per_team: form::whole::<usize>(0), "The maximum number of servers of a team; 0 allows none";
        per_user: form::whole::<usize>(0), "The maximum number of servers of a user; 0 allows none";
    }
    let programs = section.section("programs");
    section.finish();
    let names = programs.again();
    for entry in programs.entries() {
        let mut section = Section::of(&names, &entry);
        form::keys! { let section;
            arguments: form::texts("--read-only"), "The arguments of the program; ${NAME} is filled in from the environment";
            command: form::filled("files-server"), "The program: a name to look up in PATH, or a path";
            variables: form::of(ValueForm::Texts("API_KEY"), variables), "The variables whose values each owner sets";
        }
        let fixed = section.free("env", "The variables that are the same for all");
        let values = fixed.again();
        let mut environment = Vec::new();
        for variable in fixed.entries() {
            let text = form::text("/srv/files");
            if let Some(value) = values.value(&variable, text, "The value of a variable") {
                environment.push((variable.name, value));
            }
        }
        section.finish();
        let Some((command, _)) = command else {
            let message = "the program has no `command`";
            names.problem(ConfigProblem::new(entry.place, message));
            continue;
        };
        let variables = variables.map(|(names, _)| names).unwrap_or_default();
        let mut fixed = environment.iter().map(|(name, _)| name);
        if let Some(twice) = fixed.find(|name| variables.contains(name)) {
            let message = format!("`{twice}` is in `env`, so its owners cannot set it");
            names.problem(ConfigProblem::new(entry.place.clone(), message));
        }
        let program = OwnProgram {
            arguments: arguments.map(|(texts, _)| texts).unwrap_or_default(),
            command,
            environment,
            place: entry.place,
            variables,
        };
        config.programs.insert(entry.name, program);
    }
}

/// The names of variables.
fn variables(value: &DeValue<'_>) -> Result<Vec<Arc<str>>, String> {
    let names = values::texts(value)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |name: &str| !name.is_empty() && name.len() <= 64 && name.chars().all(fits);
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(format!("`{name}` is no name of a variable")),
        None if names.len() > OwnServer::MAX_SECRETS => {
            Err(format!("these are more than {}", OwnServer::MAX_SECRETS))
        }
        None => Ok(names),
    }
}

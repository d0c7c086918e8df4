//! Checks the program, its configuration, and the terminal.

use std::io::IsTerminal as _;

use jackfield_assembly::{Config, ConfigError, Environment, Surroundings};

use crate::doctor_check::{Area, DoctorCheck, TroubleshootingSection};
use crate::fault::CommandError;

pub(super) fn version() -> DoctorCheck {
    let says = format!(
        "jackfield {} on {} ({})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    DoctorCheck::passed(Area::Version, says)
}

/// Reports the files that were read, and what was found but is not used.
pub(super) fn files(config: &Config) -> Vec<DoctorCheck> {
    let read = config.files.iter().map(|file| {
        let says = format!("{} is read", file.display());
        DoctorCheck::passed(Area::Configuration, says)
    });
    let mut checks: Vec<DoctorCheck> = read.collect();
    if checks.is_empty() {
        let says = "there is no configuration file: defaults hold";
        checks.push(DoctorCheck::passed(Area::Configuration, says));
    }
    checks.extend(config.remarks.iter().map(|remark| {
        let help = remark.help.clone().unwrap_or_default();
        DoctorCheck::warning(Area::Configuration, remark.to_string(), help)
            .with_page(TroubleshootingSection::Tools)
    }));
    checks
}

/// The configuration errors, each with its line.
pub(super) fn config_failures(error: ConfigError) -> Vec<DoctorCheck> {
    let failed =
        |finding: String, help: String| DoctorCheck::failed(Area::Configuration, finding, help);
    let mut checks = match error {
        ConfigError::Wrong(problems) => problems
            .into_iter()
            .map(|problem| failed(problem.to_string(), problem.help.unwrap_or_default()))
            .collect(),
        other @ ConfigError::Unreadable { .. } | other => {
            let fault = CommandError::from(other);
            let says = [fault.messages, fault.causes].concat().join(": ");
            vec![failed(says, fault.help.join("; "))]
        }
    };
    let says = "keys, providers, servers and tools: the configuration has to be right first";
    checks.push(DoctorCheck::skipped(Area::Configuration, says));
    checks
}

pub(super) fn terminal(surroundings: &Surroundings) -> Vec<DoctorCheck> {
    let variable = |name: &str| read_variable(&surroundings.environment, name);
    let out = std::io::stdout().is_terminal();
    let mut words = vec![if out { "a terminal" } else { "no terminal" }.to_owned()];
    if let Some(term) = variable("TERM") {
        words.push(format!("TERM={term}"));
    }
    if variable("NO_COLOR").is_some() {
        words.push("NO_COLOR is set: no colours".to_owned());
    }
    let says = format!("standard output is {}", words.join(", "));
    let mut checks = vec![DoctorCheck::passed(Area::Terminal, says)];
    if out && variable("TERM").as_deref() == Some("dumb") {
        let says = "the terminal is dumb: no spinner, no colours";
        let help = "set TERM to what it is, such as xterm-256color, if it is more than that";
        checks.push(DoctorCheck::warning(Area::Terminal, says, help));
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable);
    if let Some(locale) = locale.filter(|_| out && !cfg!(windows)) {
        let is_utf8 = locale.to_lowercase().replace('-', "").contains("utf8");
        if !is_utf8 {
            let says = format!("the locale `{locale}` is not one of UTF-8: signs may look wrong");
            let help = "set LANG to one of UTF-8, such as C.UTF-8";
            checks.push(DoctorCheck::warning(Area::Terminal, says, help));
        }
    }
    checks
}

fn read_variable(environment: &Environment, name: &str) -> Option<String> {
    let value = environment.get(name)?.ok()?;
    Some(value).filter(|value| !value.is_empty())
}

//! The environment of a child process: the basic variables that programs need, and no keys.

use std::ffi::{OsStr, OsString};

/// The variables for a program: the few that every program needs, and the configured ones.
///
/// No others are passed on, above all not the API keys of providers.
pub(crate) fn variables(
    ours: impl Iterator<Item = (OsString, OsString)>,
    configured: &[(String, String)],
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<_> = ours.filter(|(name, _)| passes(name)).collect();
    for (name, value) in configured {
        variables.retain(|(other, _)| other != name.as_str());
        variables.push((name.into(), value.into()));
    }
    variables
}

fn passes(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    PASSED.contains(&&*name) || name.starts_with("LC_")
}

/// Locations and the locale; no terminal variables, as the program has no terminal.
const PASSED: &[&str] = &[
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER",
];

//! What a server's process is given of our environment: what programs need, and no keys.

use std::ffi::{OsStr, OsString};

/// The variables for a server: the few that every program needs, and the configured ones.
///
/// Everything else stays here, the keys of providers above all.
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

/// Where programs, files and words are found; nothing that a terminal says, since there is none.
const PASSED: &[&str] = &[
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER",
];

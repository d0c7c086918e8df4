//! Starting other programs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

/// Returns a cargo command in this folder, with no standard input.
///
/// With `--workspace` and a `--test` or an `--example`, the dependencies have the features that `cargo xtask test` built
/// them with; without, or with `--package`, some are built anew.
pub(crate) fn cargo<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Command {
    // Cargo says which cargo runs us.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    command(cargo, folder, args)
}

/// Returns a command in this folder, with no standard input, and in the environment that we were started from.
pub(crate) fn command<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    folder: &Path,
    args: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).args(args).stdin(Stdio::null());
    // Cargo says which package we are. A build script that looks at that, such as the one of `ring`, would run again, and
    // all that needs its crate would be built again, whenever cargo is started from a shell and from here in turn.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end; its failure is an error that shows it.
pub(crate) fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs a command to its end and returns what it printed; its failure is an error that shows both.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed: {}\n{said}", shown(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed no text", shown(command)))
}

/// Makes this folder, or empties it.
pub(crate) fn empty_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Writes a program of one line.
pub(crate) fn write_script(path: &Path, line: &str) -> anyhow::Result<()> {
    let written = || {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, format!("#!/bin/sh\n{line}\n"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

/// Returns a duration as people say it: `7.3 s`, `2 min 05 s`.
pub(crate) fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Stdio;
    use std::time::Duration;

    use super::{cargo, command, output, spoken, succeed};

    #[test]
    fn a_command_that_fails_is_an_error_that_names_it() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = cargo(here, ["no-such-verb"]);
        let error = succeed(command.stderr(Stdio::null())).unwrap_err();
        assert!(
            error.to_string().contains("no-such-verb` failed"),
            "{error}"
        );
    }

    #[test]
    fn a_command_that_succeeds_gives_its_output() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(
            output(&mut cargo(here, ["--version"]))
                .unwrap()
                .starts_with("cargo ")
        );
    }

    #[test]
    fn a_command_does_not_see_which_package_started_it() {
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let seen = output(&mut command("env", here, [""; 0])).unwrap();
        assert!(
            !seen.contains("CARGO_MANIFEST_") && !seen.contains("CARGO_PKG_"),
            "{seen}"
        );
    }

    #[test]
    fn durations_are_spoken_in_seconds_and_minutes() {
        assert_eq!(spoken(Duration::from_millis(7_340)), "7.3 s");
        assert_eq!(spoken(Duration::from_secs(125)), "2 min 05 s");
    }
}
